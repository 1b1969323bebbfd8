mock_provider "google" {}
mock_provider "google-beta" {}

variables {
  project_id = "acme-kb-dev"
}

run "apis_outlive_the_state" {
  command = plan
  assert {
    condition     = alltrue([for service in google_project_service.this : !service.disable_on_destroy])
    error_message = "destroying the state must not switch an API off"
  }
  assert {
    condition     = contains(keys(google_project_service_identity.this), "pubsub.googleapis.com")
    error_message = "the Pub/Sub agent must exist before it is granted a role"
  }
}

run "reads_of_secrets_are_logged" {
  command = plan
  assert {
    condition = contains(
      [for log in google_project_iam_audit_config.this["secretmanager.googleapis.com"].audit_log_config : log.log_type],
      "DATA_READ",
    )
    error_message = "who read a secret must be in the audit log"
  }
}

run "an_api_is_named_in_full" {
  command = plan
  variables {
    services = ["run"]
  }
  expect_failures = [var.services]
}
