locals {
  directory = "cloudbuild"
  # What a build learns of its environment; the definitions are the same everywhere.
  shared = {
    _REGION   = var.region
    _REGISTRY = var.registry_url
  }
}

# Every commit that somebody proposes.
resource "google_cloudbuild_trigger" "ci" {
  count = var.builds ? 1 : 0

  project            = var.project_id
  location           = var.region
  name               = "kb-ci"
  description        = "Lint, tests, Terraform checks and the images of a proposed change"
  filename           = "${local.directory}/ci.yaml"
  service_account    = google_service_account.tester[0].id
  include_build_logs = "INCLUDE_BUILD_LOGS_WITH_STATUS"
  substitutions      = { _REGION = var.region }

  repository_event_config {
    repository = var.repository
    pull_request {
      branch = "^${var.branch}$"
      # Code of a stranger runs only after somebody has looked at it.
      comment_control = "COMMENTS_ENABLED_FOR_EXTERNAL_CONTRIBUTORS_ONLY"
    }
  }
}

# Every commit that was taken: its images are built once, here, and nowhere else.
resource "google_cloudbuild_trigger" "release" {
  count = var.builds ? 1 : 0

  project         = var.project_id
  location        = var.region
  name            = "kb-release"
  description     = "Builds the images, pushes them by digest, and starts the deployment of ${var.environment}"
  filename        = "${local.directory}/release.yaml"
  service_account = google_service_account.builder[0].id
  substitutions   = merge(local.shared, { _MODELS = join(" ", var.models), _DEPLOY_TRIGGER = "kb-deploy-${var.environment}" })

  repository_event_config {
    repository = var.repository
    push {
      branch = "^${var.branch}$"
    }
  }
}

# Started by the release, or by hand with a release that another environment runs.
resource "google_cloudbuild_trigger" "deploy" {
  project         = var.project_id
  location        = var.region
  name            = "kb-deploy-${var.environment}"
  description     = "Plans, shows and applies ${var.environment}, tries the new revisions without traffic, then shifts it"
  service_account = google_service_account.deployer.id
  substitutions = merge(local.shared, {
    _ENVIRONMENT     = var.environment
    _STATE_BUCKET    = var.state_bucket
    _SOURCE_REGISTRY = coalesce(var.source_registry_url, var.registry_url)
    _RELEASE         = ""
  })

  source_to_build {
    repository = var.repository
    ref        = "refs/heads/${var.branch}"
    repo_type  = "UNKNOWN"
  }

  git_file_source {
    path       = "${local.directory}/deploy.yaml"
    repository = var.repository
    revision   = "refs/heads/${var.branch}"
    repo_type  = "UNKNOWN"
  }

  approval_config {
    approval_required = var.approval_required
  }
}

resource "google_iam_workload_identity_pool" "this" {
  count = var.workload_identity == null ? 0 : 1

  project                   = var.project_id
  workload_identity_pool_id = "kb-delivery"
  display_name              = "Fichario delivery"
  description               = "Pipelines outside Google Cloud that may start a deployment, without any key"
}

resource "google_iam_workload_identity_pool_provider" "this" {
  count = var.workload_identity == null ? 0 : 1

  project                            = var.project_id
  workload_identity_pool_id          = google_iam_workload_identity_pool.this[0].workload_identity_pool_id
  workload_identity_pool_provider_id = "pipeline"
  display_name                       = "Pipeline"
  # Both must hold: a fork has another repository, and a branch of ours another ref.
  attribute_condition = "assertion.repository == '${var.workload_identity.repository}' && assertion.ref == 'refs/heads/${var.branch}'"
  attribute_mapping = {
    "google.subject"       = "assertion.sub"
    "attribute.repository" = "assertion.repository"
  }

  oidc {
    issuer_uri = var.workload_identity.issuer
  }
}
