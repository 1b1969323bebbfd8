mock_provider "google" {}

variables {
  project_id = "acme-kb-dev"
  bucket     = { name = "acme-kb-dev-documents", location = "EU" }
  topic_id   = "projects/acme-kb-dev/topics/kb-events"
  members = {
    ingest = { role = "roles/storage.objectUser", member = "serviceAccount:kb-ingest@acme-kb-dev.iam.gserviceaccount.com" }
  }
}

run "a_bucket_is_closed_and_keeps_what_was" {
  command = plan
  assert {
    condition     = google_storage_bucket.this.public_access_prevention == "enforced" && google_storage_bucket.this.uniform_bucket_level_access
    error_message = "no object may be public, by whatever way"
  }
  assert {
    condition     = google_storage_bucket.this.versioning[0].enabled && google_storage_bucket.this.soft_delete_policy[0].retention_duration_seconds == 604800
    error_message = "what was overwritten or deleted by mistake can be brought back"
  }
}

run "every_kind_of_change_is_told" {
  command = plan
  assert {
    condition     = google_storage_notification.changes.event_types == toset(["OBJECT_FINALIZE", "OBJECT_DELETE", "OBJECT_ARCHIVE"])
    error_message = "without one of the three an index keeps what its bucket lost, or misses what it got"
  }
  assert {
    condition     = google_storage_notification.changes.payload_format == "JSON_API_V1"
    error_message = "ingest reads the object resource of a notification"
  }
}

run "a_star_for_uploading_pages_is_refused" {
  command = plan
  variables {
    bucket = { name = "b", location = "EU", cors_origins = ["*"] }
  }
  expect_failures = [var.bucket]
}

run "a_right_over_the_bucket_is_refused" {
  command = plan
  variables {
    members = { ingest = { role = "roles/storage.admin", member = "serviceAccount:a@b.iam.gserviceaccount.com" } }
  }
  expect_failures = [var.members]
}

run "a_public_bucket_is_refused" {
  command = plan
  variables {
    members = { everybody = { role = "roles/storage.objectViewer", member = "allUsers" } }
  }
  expect_failures = [var.members]
}
