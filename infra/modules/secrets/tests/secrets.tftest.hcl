mock_provider "google" {}

variables {
  project_id = "acme-kb-dev"
  locations  = ["europe-west1"]
  secrets = {
    qdrant-api-key = {
      query  = "serviceAccount:kb-query@acme-kb-dev.iam.gserviceaccount.com"
      ingest = "serviceAccount:kb-ingest@acme-kb-dev.iam.gserviceaccount.com"
    }
    writeback-password = { ingest = "serviceAccount:kb-ingest@acme-kb-dev.iam.gserviceaccount.com" }
  }
}

run "each_secret_has_its_own_readers" {
  command = plan
  assert {
    condition     = toset(keys(google_secret_manager_secret_iam_member.readers)) == toset(["qdrant-api-key/query", "qdrant-api-key/ingest", "writeback-password/ingest"])
    error_message = "nobody reads a secret that is not named as its reader"
  }
  assert {
    condition     = length(google_secret_manager_secret_version.written) == 0
    error_message = "without `written` a value comes from outside"
  }
}

run "a_written_value_is_in_no_state" {
  variables {
    written = { qdrant-api-key = "1" }
    values  = { qdrant-api-key = "only-for-this-test" }
  }
  assert {
    condition     = google_secret_manager_secret_version.written["qdrant-api-key"].secret_data == null || google_secret_manager_secret_version.written["qdrant-api-key"].secret_data != "only-for-this-test"
    error_message = "the value must be write-only"
  }
  assert {
    condition     = google_secret_manager_secret_version.written["qdrant-api-key"].secret_data_wo_version == "1"
    error_message = "the number tells when to write again"
  }
}

run "an_unknown_secret_is_refused" {
  command = plan
  variables {
    written = { other = "1" }
  }
  expect_failures = [var.written]
}
