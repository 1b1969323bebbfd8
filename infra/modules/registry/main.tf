resource "google_artifact_registry_repository" "this" {
  #checkov:skip=CKV_GCP_84: Google's own keys: a key of ours would make its loss the loss of the data, for no reader that it keeps out
  project                = var.project_id
  location               = var.location
  repository_id          = var.name
  format                 = "DOCKER"
  description            = "Images of the functions, one per function and release"
  labels                 = var.labels
  cleanup_policy_dry_run = false

  docker_config {
    # What a tag meant once it means for ever; deployments go by digest all the same.
    immutable_tags = true
  }

  vulnerability_scanning_config {
    enablement_config = "INHERITED"
  }

  # A policy that keeps wins over one that deletes.
  cleanup_policies {
    id     = "keep-releases"
    action = "KEEP"
    most_recent_versions {
      keep_count = var.keep_releases
    }
  }

  cleanup_policies {
    id     = "delete-old"
    action = "DELETE"
    condition {
      tag_state  = "ANY"
      older_than = "${var.keep_days * 86400}s"
    }
  }
}
