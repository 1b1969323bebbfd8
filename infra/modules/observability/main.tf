locals {
  services      = sort(values(var.services))
  answering     = sort([for key, name in var.services : name if contains(["query", "manage"], key)])
  query         = lookup(var.services, "query", "none")
  in_services   = "resource.labels.service_name = one_of(${join(", ", [for name in local.answering : "\"${name}\""])})"
  dead          = "resource.labels.subscription_id = one_of(${join(", ", [for s in values(var.subscriptions) : "\"${s.dead}\""])})"
  pushed        = "resource.labels.subscription_id = one_of(${join(", ", [for s in values(var.subscriptions) : "\"${s.push}\""])})"
  of_services   = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=(${join(" OR ", [for name in local.services : "\"${name}\""])})"
  request_count = "resource.type = \"cloud_run_revision\" AND metric.type = \"run.googleapis.com/request_count\""
  latencies     = "resource.type = \"cloud_run_revision\" AND metric.type = \"run.googleapis.com/request_latencies\" AND resource.labels.service_name = \"${local.query}\""

  # What the functions log; common/logs.py names the fields.
  metrics = {
    kb_failed_jobs     = { filter = "${local.of_services} AND jsonPayload.message=\"ingested\" AND jsonPayload.state=\"failed\"", says = "Jobs that ended failed" }
    kb_degraded        = { filter = "${local.of_services} AND jsonPayload.message=\"degraded\"", says = "Answers without vectors" }
    kb_faults          = { filter = "${local.of_services} AND jsonPayload.message=\"unexpected error\"", says = "Faults of ours" }
    kb_misconfigured   = { filter = "${local.of_services} AND jsonPayload.message=\"misconfigured\"", says = "Requests refused by a wrong configuration" }
    kb_schedule_failed = { filter = "resource.type=\"cloud_scheduler_job\" AND severity>=ERROR", says = "Schedules that failed" }
  }

  counted = {
    for name in keys(local.metrics) : name =>
    "metric.type = \"logging.googleapis.com/user/${name}\" AND resource.type = \"${name == "kb_schedule_failed" ? "cloud_scheduler_job" : "cloud_run_revision"}\""
  }

  alerts = {
    dead-letters = {
      title   = "A message was given up", severity = "ERROR"
      filter  = "resource.type = \"pubsub_subscription\" AND metric.type = \"pubsub.googleapis.com/subscription/num_undelivered_messages\" AND ${local.dead}"
      aligner = "ALIGN_MAX", reducer = "REDUCE_SUM", period = "60s", threshold = 0, duration = "0s"
      says    = "A message was pushed too often in vain and waits in a dead-letter subscription. See \"Draining the dead letters\" in infra/README.md."
      missing = "EVALUATION_MISSING_DATA_INACTIVE", denominator = null, group_by = ["resource.labels.subscription_id"]
    }
    backlog = {
      title   = "Documents wait for too long", severity = "WARNING"
      filter  = "resource.type = \"pubsub_subscription\" AND metric.type = \"pubsub.googleapis.com/subscription/oldest_unacked_message_age\" AND ${local.pushed}"
      aligner = "ALIGN_MAX", reducer = "REDUCE_MAX", period = "60s", threshold = var.thresholds.oldest_unacked_seconds, duration = "300s"
      says    = "The oldest message is not acknowledged: ingest is saturated, or fails in passing again and again. Look at its log and its instances."
      missing = "EVALUATION_MISSING_DATA_INACTIVE", denominator = null, group_by = ["resource.labels.subscription_id"]
    }
    failed-jobs = {
      title   = "Documents could not be indexed", severity = "WARNING"
      filter  = local.counted["kb_failed_jobs"]
      aligner = "ALIGN_SUM", reducer = "REDUCE_SUM", period = "3600s", threshold = var.thresholds.failed_jobs_per_hour, duration = "0s"
      says    = "`GET /v1/bases/{base}/jobs?state=failed` names each with its code, reason and next step."
      missing = "EVALUATION_MISSING_DATA_INACTIVE", denominator = null, group_by = []
    }
    faults = {
      title   = "A fault of ours", severity = "ERROR"
      filter  = local.counted["kb_faults"]
      aligner = "ALIGN_SUM", reducer = "REDUCE_SUM", period = "300s", threshold = 0, duration = "0s"
      says    = "The log line names the error's type, file and line, and the request."
      missing = "EVALUATION_MISSING_DATA_INACTIVE", denominator = null, group_by = []
    }
    misconfigured = {
      title   = "A function is misconfigured", severity = "ERROR"
      filter  = local.counted["kb_misconfigured"]
      aligner = "ALIGN_SUM", reducer = "REDUCE_SUM", period = "300s", threshold = 0, duration = "0s"
      says    = "The log line says what to change: a role, a key, an address, a model folder."
      missing = "EVALUATION_MISSING_DATA_INACTIVE", denominator = null, group_by = []
    }
    # Ingest and reindex answer 503 on purpose, for a message to come again: they are watched by their backlog.
    errors-5xx = {
      title   = "Requests fail", severity = "CRITICAL"
      filter  = "${local.request_count} AND ${local.in_services} AND metric.labels.response_code_class = \"5xx\""
      aligner = "ALIGN_RATE", reducer = "REDUCE_SUM", period = "300s", threshold = var.thresholds.error_share, duration = "300s"
      says    = "The share of 5xx among the answers of query and manage."
      missing = "EVALUATION_MISSING_DATA_INACTIVE", denominator = "${local.request_count} AND ${local.in_services}", group_by = ["resource.labels.service_name"]
    }
    latency-p95 = {
      title   = "Questions take too long", severity = "WARNING"
      filter  = local.latencies
      aligner = "ALIGN_PERCENTILE_95", reducer = "REDUCE_MAX", period = "300s", threshold = var.thresholds.p95_ms, duration = "600s"
      says    = "95 of 100 questions are answered faster than this. `timings_ms` of an answer tells where the time goes."
      missing = "EVALUATION_MISSING_DATA_INACTIVE", denominator = null, group_by = []
    }
    degraded = {
      title   = "Answers come without vectors", severity = "WARNING"
      filter  = local.counted["kb_degraded"]
      aligner = "ALIGN_SUM", reducer = "REDUCE_SUM", period = "300s", threshold = 0, duration = "0s"
      says    = "The model of an instance is not the one of a base, or could not be asked: answers are lexical and marked `degraded`."
      missing = "EVALUATION_MISSING_DATA_INACTIVE", denominator = null, group_by = []
    }
    schedules = {
      title   = "A schedule failed", severity = "WARNING"
      filter  = local.counted["kb_schedule_failed"]
      aligner = "ALIGN_SUM", reducer = "REDUCE_SUM", period = "3600s", threshold = 2, duration = "0s"
      says    = "Reconciling or retiring did not run: drift is not mended, and leases that ran out are not handed on."
      missing = "EVALUATION_MISSING_DATA_INACTIVE", denominator = null, group_by = []
    }
  }

  active = var.alerts_enabled ? local.alerts : {}
}

resource "google_monitoring_notification_channel" "email" {
  for_each = var.emails

  project      = var.project_id
  display_name = each.value
  type         = "email"
  labels       = { email_address = each.value }
}

resource "google_logging_metric" "this" {
  for_each = local.metrics

  project     = var.project_id
  name        = each.key
  description = each.value.says
  filter      = each.value.filter

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"
  }
}

resource "google_monitoring_alert_policy" "this" {
  for_each = local.active

  project               = var.project_id
  display_name          = "Fichario: ${each.value.title}"
  combiner              = "OR"
  severity              = each.value.severity
  notification_channels = [for channel in google_monitoring_notification_channel.email : channel.id]
  user_labels           = var.labels

  conditions {
    display_name = each.value.title

    condition_threshold {
      filter                  = each.value.filter
      comparison              = "COMPARISON_GT"
      threshold_value         = each.value.threshold
      duration                = each.value.duration
      evaluation_missing_data = each.value.duration == "0s" ? null : each.value.missing
      denominator_filter      = each.value.denominator

      aggregations {
        alignment_period     = each.value.period
        per_series_aligner   = each.value.aligner
        cross_series_reducer = each.value.reducer
        group_by_fields      = each.value.group_by
      }

      dynamic "denominator_aggregations" {
        for_each = each.value.denominator == null ? [] : [each.value]
        content {
          alignment_period     = denominator_aggregations.value.period
          per_series_aligner   = denominator_aggregations.value.aligner
          cross_series_reducer = denominator_aggregations.value.reducer
          group_by_fields      = denominator_aggregations.value.group_by
        }
      }
    }
  }

  documentation {
    content   = each.value.says
    mime_type = "text/markdown"
  }

  alert_strategy {
    auto_close = "86400s"
  }

  # A metric of logs is known to Monitoring only once it is made.
  depends_on = [google_logging_metric.this]
}

resource "google_monitoring_custom_service" "this" {
  project      = var.project_id
  service_id   = "fichario-query"
  display_name = "Fichario: questions"
}

resource "google_monitoring_slo" "availability" {
  project             = var.project_id
  service             = google_monitoring_custom_service.this.service_id
  slo_id              = "availability"
  display_name        = "Questions that are answered"
  goal                = var.slo.availability
  rolling_period_days = 28

  request_based_sli {
    good_total_ratio {
      total_service_filter = "${local.request_count} AND resource.labels.service_name = \"${local.query}\""
      bad_service_filter   = "${local.request_count} AND resource.labels.service_name = \"${local.query}\" AND metric.labels.response_code_class = \"5xx\""
    }
  }
}

resource "google_monitoring_slo" "latency" {
  project             = var.project_id
  service             = google_monitoring_custom_service.this.service_id
  slo_id              = "latency"
  display_name        = "Questions that are answered in time"
  goal                = var.slo.fast_share
  rolling_period_days = 28

  request_based_sli {
    distribution_cut {
      distribution_filter = local.latencies
      range {
        max = var.slo.fast_ms
      }
    }
  }
}

resource "google_billing_budget" "this" {
  count = var.budget == null ? 0 : 1

  billing_account = var.budget.billing_account
  display_name    = "Fichario in ${var.project_id}"

  budget_filter {
    projects = ["projects/${var.project_number}"]
  }

  amount {
    specified_amount {
      currency_code = var.budget.currency
      units         = tostring(var.budget.monthly)
    }
  }

  dynamic "threshold_rules" {
    for_each = [0.5, 0.9, 1.0]
    content {
      threshold_percent = threshold_rules.value
    }
  }

  threshold_rules {
    threshold_percent = 1.2
    spend_basis       = "FORECASTED_SPEND"
  }

  all_updates_rule {
    monitoring_notification_channels = [for channel in google_monitoring_notification_channel.email : channel.id]
  }
}
