mock_provider "google" {}

variables {
  project_id = "acme-kb-dev"
  location   = "europe-west1"
}

run "a_tag_means_one_image" {
  command = plan
  assert {
    condition     = google_artifact_registry_repository.this.docker_config[0].immutable_tags
    error_message = "a tag that moves would let two deployments of one release differ"
  }
  assert {
    condition     = !google_artifact_registry_repository.this.cleanup_policy_dry_run && length(google_artifact_registry_repository.this.cleanup_policies) == 2
    error_message = "old images are removed, recent ones kept"
  }
  assert {
    condition     = output.url == "europe-west1-docker.pkg.dev/acme-kb-dev/fichario"
    error_message = "the address of images"
  }
}

run "a_rollback_needs_what_it_goes_back_to" {
  command = plan
  variables {
    keep_releases = 1
  }
  expect_failures = [var.keep_releases]
}
