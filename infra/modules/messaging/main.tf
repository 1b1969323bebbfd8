resource "google_pubsub_topic" "this" {
  #checkov:skip=CKV_GCP_83: Google's own keys: a key of ours would make its loss the loss of the data, for no reader that it keeps out
  for_each = var.channels

  project                    = var.project_id
  name                       = each.value.topic
  labels                     = var.labels
  message_retention_duration = "${each.value.retention_days * 86400}s"

  message_storage_policy {
    allowed_persistence_regions = var.regions
  }
}

resource "google_pubsub_topic" "dead" {
  #checkov:skip=CKV_GCP_83: Google's own keys: a key of ours would make its loss the loss of the data, for no reader that it keeps out
  for_each = var.channels

  project                    = var.project_id
  name                       = "${each.value.topic}-dead"
  labels                     = var.labels
  message_retention_duration = "${each.value.dead_retention_days * 86400}s"

  message_storage_policy {
    allowed_persistence_regions = var.regions
  }
}

# A topic keeps nothing for nobody: without a subscription dead letters are lost. Topics are named in full, as text, so
# that a plan shows what is connected to what.
resource "google_pubsub_subscription" "dead" {
  for_each = var.channels

  project                    = var.project_id
  name                       = "${each.value.topic}-dead"
  topic                      = "projects/${var.project_id}/topics/${google_pubsub_topic.dead[each.key].name}"
  labels                     = var.labels
  ack_deadline_seconds       = 60
  message_retention_duration = "${each.value.dead_retention_days * 86400}s"

  expiration_policy {
    ttl = ""
  }
}

resource "google_pubsub_subscription" "push" {
  for_each = var.channels

  project                    = var.project_id
  name                       = "${each.value.topic}-${each.key}"
  topic                      = "projects/${var.project_id}/topics/${google_pubsub_topic.this[each.key].name}"
  labels                     = var.labels
  ack_deadline_seconds       = each.value.ack_deadline_seconds
  message_retention_duration = "${each.value.retention_days * 86400}s"

  push_config {
    push_endpoint = each.value.push_endpoint

    oidc_token {
      # As text, so that a plan shows who pushes.
      service_account_email = "${google_service_account.push[each.key].account_id}@${var.project_id}.iam.gserviceaccount.com"
      audience              = each.value.audience
    }
  }

  retry_policy {
    minimum_backoff = each.value.minimum_backoff
    maximum_backoff = each.value.maximum_backoff
  }

  dead_letter_policy {
    dead_letter_topic     = "projects/${var.project_id}/topics/${google_pubsub_topic.dead[each.key].name}"
    max_delivery_attempts = each.value.max_delivery_attempts
  }

  # The empty text: a subscription that saw no traffic for a month is still wanted.
  expiration_policy {
    ttl = ""
  }

  # Whoever listens to the dead letters is there before the first one comes.
  depends_on = [google_pubsub_subscription.dead, google_pubsub_topic_iam_member.dead]
}
