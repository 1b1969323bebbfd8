mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}
mock_provider "google-beta" {}

# A prod that is safe; each run below takes one thing away.
variables {
  environment     = "prod"
  project_id      = "acme-kb-prod"
  region          = "europe-west1"
  embedding_model = "e5-small"
  qdrant          = { url = "https://kb.cloud.qdrant.io:6333" }
  functions       = { query = { min = 1 } }
  settings = {
    kb_auth         = "jwt"
    kb_jwks_url     = "https://id.acme.example/keys"
    kb_jwt_audience = "https://kb.acme.example"
    kb_jwt_issuer   = "https://id.acme.example"
  }
  secret_versions = { qdrant_api_key = "1" }
  bucket          = { name = "acme-kb-prod-documents" }
  backups         = { daily_retention_days = 7, weekly_retention_days = 28 }
  alerts          = { emails = ["kb@acme.example"] }
  delivery = {
    repository          = "projects/acme-kb-prod/locations/europe-west1/connections/github/repositories/fichario"
    state_bucket        = "acme-kb-prod-tfstate"
    source_registry_url = "europe-west1-docker.pkg.dev/acme-kb-staging/fichario"
    approvers           = { leads = "group:kb-leads@acme.example" }
  }
  images = {
    ingest  = "europe-west1-docker.pkg.dev/acme-kb-prod/fichario/ingest@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    query   = "europe-west1-docker.pkg.dev/acme-kb-prod/fichario/query@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    reindex = "europe-west1-docker.pkg.dev/acme-kb-prod/fichario/reindex@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    manage  = "europe-west1-docker.pkg.dev/acme-kb-prod/fichario/manage@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  }
}

run "a_safe_prod_is_planned" {
  command = plan
  assert {
    condition     = keys(module.function) == ["ingest", "manage", "query", "reindex"]
    error_message = "four functions"
  }
  assert {
    condition     = output.urls == { query = "https://kb-query-123456789012.europe-west1.run.app", manage = "https://kb-manage-123456789012.europe-west1.run.app" }
    error_message = "who calls finds query and manage"
  }
}

run "the_first_apply_has_no_images_yet" {
  command = plan
  variables {
    images = {}
  }
  assert {
    condition     = length(module.function) == 0 && output.registry_url == "europe-west1-docker.pkg.dev/acme-kb-prod/fichario"
    error_message = "the registry has to be there before an image can be"
  }
}

run "one_model_and_one_index_for_all" {
  command = plan
  assert {
    condition     = length(toset([for e in values(local.environment) : "${e.KB_EMBEDDING_MODEL} ${e.QDRANT_URL}"])) == 1
    error_message = "functions with two models or two indexes would answer from the wrong space"
  }
}

run "a_slice_longer_than_its_request_is_refused" {
  command = plan
  variables {
    settings = { kb_auth = "jwt", kb_jwks_url = "https://id/keys", kb_jwt_audience = "a", kb_jwt_issuer = "i", kb_slice_seconds = 540 }
  }
  expect_failures = [var.functions]
}

run "a_request_longer_than_its_ack_deadline_is_refused" {
  command = plan
  variables {
    functions = { query = { min = 1 }, reindex = { timeout_seconds = 600 } }
  }
  expect_failures = [var.functions]
}

run "a_shorter_ack_deadline_is_refused_too" {
  command = plan
  variables {
    ack_deadline_seconds = 500
  }
  expect_failures = [var.functions]
}

run "two_events_in_one_ingest_are_refused" {
  command = plan
  variables {
    functions = { query = { min = 1 }, ingest = { concurrency = 2 } }
  }
  expect_failures = [var.functions]
}

run "a_prod_that_sleeps_is_refused" {
  command = plan
  variables {
    functions = {}
  }
  expect_failures = [var.functions]
}

run "a_prod_that_can_be_deleted_is_refused" {
  command = plan
  variables {
    deletion_protection = false
  }
  expect_failures = [var.deletion_protection]
}

run "a_prod_whose_catalog_can_be_deleted_is_refused" {
  command = plan
  variables {
    firestore = { delete_protection = false }
  }
  expect_failures = [var.firestore]
}

run "a_prod_without_backups_is_refused" {
  command = plan
  variables {
    backups = { daily_retention_days = 7 }
  }
  expect_failures = [var.backups]
}

run "a_prod_that_nobody_watches_is_refused" {
  command = plan
  variables {
    alerts = { enabled = false }
  }
  expect_failures = [var.alerts]
}

run "a_prod_that_keeps_no_versions_is_refused" {
  command = plan
  variables {
    bucket = { name = "b", versioning = false }
  }
  expect_failures = [var.bucket]
}

run "a_prod_that_builds_is_refused" {
  command = plan
  variables {
    delivery = {
      repository   = "projects/acme-kb-prod/locations/europe-west1/connections/github/repositories/fichario"
      state_bucket = "acme-kb-prod-tfstate"
      builds       = true
      approvers    = { leads = "group:kb-leads@acme.example" }
    }
  }
  expect_failures = [var.delivery]
}

run "tokens_for_anybody_are_refused_in_prod" {
  command = plan
  variables {
    settings = { kb_auth = "jwt", kb_jwks_url = "https://id.acme.example/keys" }
  }
  expect_failures = [var.settings]
}

run "no_authentication_is_refused" {
  command = plan
  variables {
    settings = { kb_auth = "none" }
  }
  expect_failures = [var.settings]
}

run "an_image_by_tag_is_refused" {
  command = plan
  variables {
    images = { query = "europe-west1-docker.pkg.dev/acme-kb-prod/fichario/query:latest" }
  }
  expect_failures = [var.images]
}

run "qdrant_without_a_key_is_refused" {
  command = plan
  variables {
    secret_versions = {}
  }
  expect_failures = [var.secret_versions]
}

run "a_counter_that_no_image_holds_is_refused" {
  command = plan
  variables {
    settings = { kb_auth = "jwt", kb_jwks_url = "https://id/keys", kb_jwt_audience = "a", kb_jwt_issuer = "i", kb_token_counter = "tiktoken:o200k_base" }
  }
  expect_failures = [var.settings]
}
