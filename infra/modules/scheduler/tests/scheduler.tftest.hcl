mock_provider "google" {}

variables {
  project_id = "acme-kb-dev"
  region     = "europe-west1"
  calls = {
    reconcile = {
      description = "Mends drift"
      schedule    = "*/30 * * * *"
      uri         = "https://kb-manage-123456789012.europe-west1.run.app/v1/reconcile"
      audience    = "https://kb-manage-123456789012.europe-west1.run.app"
      body        = { repair = true }
    }
  }
}

run "a_call_says_what_and_who" {
  command = plan
  assert {
    condition     = jsondecode(base64decode(google_cloud_scheduler_job.http["reconcile"].http_target[0].body)).repair == true
    error_message = "the body is JSON in base64"
  }
  assert {
    condition     = google_cloud_scheduler_job.http["reconcile"].http_target[0].oidc_token[0].audience == var.calls.reconcile.audience
    error_message = "the token is for the function, not for one of its paths"
  }
  assert {
    condition     = output.caller_email == "kb-scheduler@acme-kb-dev.iam.gserviceaccount.com"
    error_message = "callers are granted by this address"
  }
}

run "a_deadline_that_scheduler_lacks_is_refused" {
  command = plan
  variables {
    calls = {
      reconcile = {
        description = "Mends drift", schedule = "* * * * *", uri = "https://a", audience = "https://a", body = {}, deadline_seconds = 3600
      }
    }
  }
  expect_failures = [var.calls]
}
