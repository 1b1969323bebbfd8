locals {
  charts = [
    { title = "Questions a second", filter = "${local.request_count} AND resource.labels.service_name = \"${local.query}\"", aligner = "ALIGN_RATE", reducer = "REDUCE_SUM", by = ["metric.labels.response_code_class"] },
    { title = "Latency of questions, p95 (ms)", filter = local.latencies, aligner = "ALIGN_PERCENTILE_95", reducer = "REDUCE_MAX", by = [] },
    { title = "Oldest message (s)", filter = "resource.type = \"pubsub_subscription\" AND metric.type = \"pubsub.googleapis.com/subscription/oldest_unacked_message_age\" AND ${local.pushed}", aligner = "ALIGN_MAX", reducer = "REDUCE_MAX", by = ["resource.labels.subscription_id"] },
    { title = "Dead letters", filter = "resource.type = \"pubsub_subscription\" AND metric.type = \"pubsub.googleapis.com/subscription/num_undelivered_messages\" AND ${local.dead}", aligner = "ALIGN_MAX", reducer = "REDUCE_SUM", by = ["resource.labels.subscription_id"] },
    { title = "Failed jobs", filter = local.counted["kb_failed_jobs"], aligner = "ALIGN_SUM", reducer = "REDUCE_SUM", by = [] },
    { title = "Answers without vectors", filter = local.counted["kb_degraded"], aligner = "ALIGN_SUM", reducer = "REDUCE_SUM", by = [] },
    { title = "Instances", filter = "resource.type = \"cloud_run_revision\" AND metric.type = \"run.googleapis.com/container/instance_count\"", aligner = "ALIGN_MAX", reducer = "REDUCE_SUM", by = ["resource.labels.service_name"] },
    { title = "Memory of instances, p99 (share)", filter = "resource.type = \"cloud_run_revision\" AND metric.type = \"run.googleapis.com/container/memory/utilizations\"", aligner = "ALIGN_PERCENTILE_99", reducer = "REDUCE_MAX", by = ["resource.labels.service_name"] },
  ]
}

resource "google_monitoring_dashboard" "this" {
  project = var.project_id
  dashboard_json = jsonencode({
    displayName = "Fichario"
    mosaicLayout = {
      columns = 12
      tiles = [
        for index, chart in local.charts : {
          width  = 6
          height = 4
          xPos   = index % 2 * 6
          yPos   = floor(index / 2) * 4
          widget = {
            title = chart.title
            xyChart = {
              dataSets = [{
                plotType = "LINE"
                timeSeriesQuery = {
                  timeSeriesFilter = {
                    filter = chart.filter
                    aggregation = {
                      alignmentPeriod    = "60s"
                      perSeriesAligner   = chart.aligner
                      crossSeriesReducer = chart.reducer
                      groupByFields      = chart.by
                    }
                  }
                }
              }]
            }
          }
        }
      ]
    }
  })
}
