mock_provider "google" {
  mock_resource "google_service_account" {
    defaults = {
      id     = "projects/acme-kb-dev/serviceAccounts/some@acme-kb-dev.iam.gserviceaccount.com"
      name   = "projects/acme-kb-dev/serviceAccounts/some@acme-kb-dev.iam.gserviceaccount.com"
      member = "serviceAccount:some@acme-kb-dev.iam.gserviceaccount.com"
    }
  }
}

variables {
  project_id   = "acme-kb-dev"
  region       = "europe-west1"
  environment  = "dev"
  repository   = "projects/acme-kb-dev/locations/europe-west1/connections/github/repositories/fichario"
  registry_url = "europe-west1-docker.pkg.dev/acme-kb-dev/fichario"
  state_bucket = "acme-kb-dev-tfstate"
  models       = ["e5-small"]
  approvers    = { lead = "group:kb-leads@acme.example" }
}

run "built_in_one_place" {
  command = plan
  variables {
    builds            = true
    approval_required = false
  }
  assert {
    condition     = google_cloudbuild_trigger.release[0].filename == "cloudbuild/release.yaml" && google_cloudbuild_trigger.ci[0].filename == "cloudbuild/ci.yaml"
    error_message = "the definitions are those of the repository"
  }
  assert {
    condition     = google_cloudbuild_trigger.deploy.substitutions["_SOURCE_REGISTRY"] == var.registry_url
    error_message = "where images are built they are not fetched"
  }
}

run "elsewhere_nothing_is_built" {
  command = plan
  variables {
    project_id          = "acme-kb-prod"
    environment         = "prod"
    source_registry_url = "europe-west1-docker.pkg.dev/acme-kb-staging/fichario"
  }
  assert {
    condition     = length(google_cloudbuild_trigger.release) == 0 && length(google_service_account.builder) == 0
    error_message = "prod runs what staging ran"
  }
  assert {
    condition     = google_cloudbuild_trigger.deploy.approval_config[0].approval_required
    error_message = "prod is deployed with approval"
  }
  assert {
    condition     = google_cloudbuild_trigger.deploy.git_file_source[0].path == "cloudbuild/deploy.yaml"
    error_message = "one definition for every environment"
  }
}

run "the_deployer_reads_no_data" {
  command = plan
  assert {
    condition     = alltrue([for p in google_project_iam_custom_role.steward.permissions : !contains(["secretmanager.versions.access", "storage.objects.get", "datastore.entities.get"], p)])
    error_message = "who deploys sees neither documents nor secrets"
  }
  assert {
    condition     = strcontains(google_project_iam_member.deployer_grants.condition[0].expression, "hasOnly(['roles/datastore.user', 'roles/logging.logWriter', 'roles/monitoring.metricWriter'])")
    error_message = "who deploys cannot make itself an owner"
  }
}

run "prod_without_approval_is_refused" {
  command = plan
  variables {
    environment       = "prod"
    approval_required = false
  }
  expect_failures = [var.approval_required]
}

run "an_approval_that_nobody_can_give_is_refused" {
  command = plan
  variables {
    approvers = {}
  }
  expect_failures = [var.approvers]
}

run "a_pipeline_outside_is_bound_to_its_repository_and_branch" {
  command = plan
  variables {
    workload_identity = { issuer = "https://token.actions.githubusercontent.com", repository = "acme/fichario" }
  }
  assert {
    condition     = google_iam_workload_identity_pool_provider.this[0].attribute_condition == "assertion.repository == 'acme/fichario' && assertion.ref == 'refs/heads/main'"
    error_message = "neither a fork nor another branch may deploy"
  }
}
