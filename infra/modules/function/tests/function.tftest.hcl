mock_provider "google" {}

variables {
  project         = { id = "acme-kb-dev", number = "123456789012" }
  region          = "europe-west1"
  name            = "kb-query"
  service_account = "kb-query"
  image           = "europe-west1-docker.pkg.dev/acme-kb-dev/fichario/query@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  concurrency     = 8
  scaling         = { min = 0, max = 4 }
  timeout_seconds = 60
  secrets         = { QDRANT_API_KEY = { id = "projects/acme-kb-dev/secrets/qdrant-api-key", version = "3" } }
}

run "a_secret_is_a_reference" {
  command = plan
  assert {
    condition = one([
      for env in google_cloud_run_v2_service.this.template[0].containers[0].env :
      one(env.value_source[*].secret_key_ref[0].version) if env.name == "QDRANT_API_KEY"
    ]) == "3"
    error_message = "the environment holds a reference to one version"
  }
}

run "a_thread_stays_free_for_the_probe" {
  command = plan
  variables {
    concurrency = 1
  }
  assert {
    condition = one([
      for env in google_cloud_run_v2_service.this.template[0].containers[0].env : env.value if env.name == "THREADS"
    ]) == "4"
    error_message = "one event at a time must not silence the health probe"
  }
}

run "the_newest_revision_has_the_traffic" {
  command = plan
  assert {
    condition     = length(google_cloud_run_v2_service.this.traffic) == 1 && google_cloud_run_v2_service.this.traffic[0].percent == 100
    error_message = "without a named revision everything goes to the newest"
  }
}

run "a_candidate_has_none" {
  command = plan
  variables {
    serving_revision = "kb-query-00007-abc"
  }
  assert {
    condition     = google_cloud_run_v2_service.this.traffic[0].revision == "kb-query-00007-abc" && google_cloud_run_v2_service.this.traffic[0].percent == 100
    error_message = "the named revision keeps all traffic"
  }
  assert {
    condition     = google_cloud_run_v2_service.this.traffic[1].percent == 0 && google_cloud_run_v2_service.this.traffic[1].tag == "candidate"
    error_message = "the newest one answers only under its tag"
  }
}

run "a_tag_is_refused" {
  command = plan
  variables {
    image = "europe-west1-docker.pkg.dev/acme-kb-dev/fichario/query:1.0"
  }
  expect_failures = [var.image]
}

run "the_latest_version_of_a_secret_is_refused" {
  command = plan
  variables {
    secrets = { QDRANT_API_KEY = { id = "projects/acme-kb-dev/secrets/qdrant-api-key", version = "latest" } }
  }
  expect_failures = [var.secrets]
}

run "a_public_function_checks_tokens_itself" {
  command = plan
  variables {
    public = true
  }
  expect_failures = [var.public]
}

run "everybody_is_no_invoker" {
  command = plan
  variables {
    invokers = { runtime = "allAuthenticatedUsers" }
  }
  expect_failures = [var.invokers]
}

run "a_function_that_checks_itself_is_reached_from_inside" {
  command = plan
  variables {
    checks_itself = true
    environment   = { KB_AUTH = "iam" }
    ingress       = "INGRESS_TRAFFIC_ALL"
  }
  expect_failures = [var.checks_itself]
}

run "a_function_that_checks_nothing_is_refused" {
  command = plan
  variables {
    checks_itself = true
  }
  expect_failures = [var.checks_itself]
}
