# Reading it also makes the agent exist.
data "google_storage_project_service_account" "this" {
  project = var.project_id
}

resource "google_pubsub_topic_iam_member" "notifications" {
  project = var.project_id
  topic   = var.topic_id
  role    = "roles/pubsub.publisher"
  member  = "serviceAccount:${data.google_storage_project_service_account.this.email_address}"
}

resource "google_storage_bucket_iam_member" "this" {
  for_each = var.members

  bucket = google_storage_bucket.this.name
  role   = each.value.role
  member = each.value.member
}
