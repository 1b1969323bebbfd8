mock_provider "google" {}

variables {
  project_id = "acme-kb-dev"
  database   = { name = "fichario", location = "europe-west1" }
  users      = { query = "serviceAccount:kb-query@acme-kb-dev.iam.gserviceaccount.com" }
}

run "the_catalog_is_hard_to_lose" {
  command = plan
  assert {
    condition     = google_firestore_database.this.delete_protection_state == "DELETE_PROTECTION_ENABLED" && google_firestore_database.this.deletion_policy == "ABANDON"
    error_message = "neither a command nor a change of code may delete the catalog"
  }
  assert {
    condition     = google_firestore_backup_schedule.daily[0].retention == "604800s"
    error_message = "a day's backup is kept for a week"
  }
}

run "a_role_ends_at_its_database" {
  command = plan
  assert {
    condition     = google_project_iam_member.users["query"].condition[0].expression == "resource.name == \"projects/acme-kb-dev/databases/fichario\""
    error_message = "other databases of the project are none of ours"
  }
}

run "documents_that_end_by_themselves" {
  command = plan
  variables {
    expiring = { kb_jobs = "ends_at" }
  }
  assert {
    condition     = length(google_firestore_field.expiring["kb_jobs"].ttl_config) == 1 && length(google_firestore_field.expiring["kb_jobs"].index_config[0].indexes) == 0
    error_message = "a field that says when to end has no index"
  }
}

run "the_default_database_is_refused" {
  command = plan
  variables {
    database = { name = "(default)", location = "europe-west1" }
  }
  expect_failures = [var.database]
}
