resource "google_cloud_scheduler_job" "http" {
  for_each = var.calls

  project          = var.project_id
  region           = var.region
  name             = "kb-${each.key}"
  description      = each.value.description
  schedule         = each.value.schedule
  time_zone        = var.time_zone
  attempt_deadline = "${each.value.deadline_seconds}s"

  http_target {
    http_method = "POST"
    uri         = each.value.uri
    body        = base64encode(jsonencode(each.value.body))
    headers     = { "Content-Type" = "application/json" }

    oidc_token {
      service_account_email = "${google_service_account.caller.account_id}@${var.project_id}.iam.gserviceaccount.com"
      audience              = each.value.audience
    }
  }

  retry_config {
    retry_count          = 3
    min_backoff_duration = "30s"
    max_backoff_duration = "300s"
  }
}

resource "google_cloud_scheduler_job" "message" {
  for_each = var.messages

  project     = var.project_id
  region      = var.region
  name        = "kb-${each.key}"
  description = each.value.description
  schedule    = each.value.schedule
  time_zone   = var.time_zone

  pubsub_target {
    topic_name = each.value.topic_id
    data       = base64encode(jsonencode(each.value.body))
    attributes = each.value.attributes
  }

  retry_config {
    retry_count          = 3
    min_backoff_duration = "30s"
    max_backoff_duration = "300s"
  }
}
