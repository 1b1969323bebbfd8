locals {
  day = 24 * 60 * 60
}

resource "google_storage_bucket" "this" {
  #checkov:skip=CKV_GCP_62: access is in the audit log of Cloud Storage, which knows identities; a log bucket knows addresses
  project                     = var.project_id
  name                        = var.bucket.name
  location                    = var.bucket.location
  labels                      = var.labels
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = false

  versioning {
    enabled = var.bucket.versioning
  }

  soft_delete_policy {
    retention_duration_seconds = var.bucket.soft_delete_days * local.day
  }

  # Only what an overwrite or a delete left behind: a current document is removed by its owner alone.
  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      days_since_noncurrent_time = var.bucket.noncurrent_days
    }
  }

  lifecycle_rule {
    action {
      type = "AbortIncompleteMultipartUpload"
    }
    condition {
      age = 2
    }
  }

  dynamic "cors" {
    for_each = length(var.bucket.cors_origins) > 0 ? [var.bucket.cors_origins] : []
    content {
      origin = cors.value
      method = ["PUT"]
      # What a signed upload address binds; see the manage function's POST .../uploads.
      response_header = ["Content-Type", "x-goog-content-length-range"]
      max_age_seconds = 3600
    }
  }

  lifecycle {
    prevent_destroy = true
  }
}

resource "google_storage_notification" "changes" {
  bucket         = google_storage_bucket.this.name
  topic          = var.topic_id
  payload_format = "JSON_API_V1"
  event_types    = ["OBJECT_FINALIZE", "OBJECT_DELETE", "OBJECT_ARCHIVE"]

  # Cloud Storage refuses a notification to a topic that its agent may not publish to.
  depends_on = [google_pubsub_topic_iam_member.notifications]
}
