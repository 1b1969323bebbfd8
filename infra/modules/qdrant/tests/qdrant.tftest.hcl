mock_provider "google" {}

variables {
  project_id = "acme-kb-dev"
  region     = "europe-west1"
  network    = { id = "projects/acme-kb-dev/global/networks/kb", functions_range = "10.40.0.0/24" }
  api_key    = { id = "projects/acme-kb-dev/secrets/qdrant-api-key", version = "1" }
}

run "a_machine_of_our_own_is_closed" {
  command = plan
  variables {
    vm = {
      zone  = "europe-west1-b"
      image = "docker.io/qdrant/qdrant@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    }
  }
  assert {
    condition     = length(google_compute_instance.this["this"].network_interface[0].access_config) == 0
    error_message = "Qdrant has no address outside"
  }
  assert {
    condition     = google_compute_firewall.functions["this"].source_ranges == toset(["10.40.0.0/24"])
    error_message = "only the functions reach it"
  }
  assert {
    condition     = strcontains(google_compute_instance.this["this"].metadata["user-data"], "secrets/qdrant-api-key/versions/1:access")
    error_message = "the machine fetches the key itself, by reference"
  }
  assert {
    condition     = google_compute_resource_policy.snapshots["this"].snapshot_schedule_policy[0].retention_policy[0].on_source_disk_delete == "KEEP_AUTO_SNAPSHOTS"
    error_message = "snapshots outlive their disk"
  }
  assert {
    condition     = output.url == "http://qdrant.kb.internal:6333"
    error_message = "functions know it by name"
  }
}

run "a_cluster_by_address_makes_nothing" {
  command = plan
  variables {
    url = "https://kb.europe-west1-0.gcp.cloud.qdrant.io:6333"
  }
  assert {
    condition     = length(google_compute_instance.this) == 0 && length(google_dns_managed_zone.this) == 0
    error_message = "somebody else runs it"
  }
  assert {
    condition     = output.url == var.url && length(output.members) == 0
    error_message = "its address is what the functions get"
  }
}

run "one_of_both" {
  command         = plan
  expect_failures = [var.vm]
}

run "a_key_in_the_clear_is_refused" {
  command = plan
  variables {
    url = "http://qdrant.example.com:6333"
  }
  expect_failures = [var.url]
}
