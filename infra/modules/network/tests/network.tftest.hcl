mock_provider "google" {}

variables {
  project_id = "acme-kb-dev"
  region     = "europe-west1"
}

run "nothing_comes_in" {
  command = plan
  assert {
    condition     = one(google_compute_firewall.deny_ingress.deny).protocol == "all" && length(google_compute_firewall.deny_ingress.log_config) == 1
    error_message = "what no rule asks for is refused and logged"
  }
}

run "calls_leave_from_one_address" {
  override_resource {
    target          = google_compute_address.nat
    override_during = plan
    values          = { id = "projects/acme-kb-dev/regions/europe-west1/addresses/kb-nat" }
  }
  command = plan
  assert {
    condition     = google_compute_router_nat.this.nat_ip_allocate_option == "MANUAL_ONLY" && google_compute_router_nat.this.nat_ips == toset([google_compute_address.nat.id])
    error_message = "the address is ours and known"
  }
  assert {
    condition     = output.egress.egress == "ALL_TRAFFIC"
    error_message = "calls to the world go by the NAT"
  }
}

run "a_range_that_fills_up_is_refused" {
  command = plan
  variables {
    functions_range = "10.40.0.0/28"
  }
  expect_failures = [var.functions_range]
}

run "a_range_that_cloud_run_cannot_reach_is_refused" {
  command = plan
  variables {
    functions_range = "192.168.1.0/24"
  }
  expect_failures = [var.functions_range]
}
