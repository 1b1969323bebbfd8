resource "google_compute_network" "this" {
  project                         = var.project_id
  name                            = var.name
  description                     = "Functions to Qdrant, and out by one known address"
  auto_create_subnetworks         = false
  routing_mode                    = "REGIONAL"
  delete_default_routes_on_create = false
}

resource "google_compute_subnetwork" "functions" {
  project                  = var.project_id
  name                     = "${var.name}-functions"
  region                   = var.region
  network                  = google_compute_network.this.id
  ip_cidr_range            = var.functions_range
  private_ip_google_access = true
  stack_type               = "IPV4_ONLY"

  log_config {
    aggregation_interval = "INTERVAL_10_MIN"
    flow_sampling        = 0.1
    metadata             = "EXCLUDE_ALL_METADATA"
  }
}

# One address that never changes: what a Qdrant Cloud cluster or a customer's firewall lets in.
resource "google_compute_address" "nat" {
  project      = var.project_id
  name         = "${var.name}-nat"
  region       = var.region
  address_type = "EXTERNAL"
  description  = "Calls of the functions leave from here"
  labels       = var.labels

  lifecycle {
    prevent_destroy = true
  }
}

resource "google_compute_router" "this" {
  project = var.project_id
  name    = var.name
  region  = var.region
  network = google_compute_network.this.id
}

resource "google_compute_router_nat" "this" {
  project                             = var.project_id
  name                                = var.name
  region                              = var.region
  router                              = google_compute_router.this.name
  nat_ip_allocate_option              = "MANUAL_ONLY"
  nat_ips                             = [google_compute_address.nat.id]
  source_subnetwork_ip_ranges_to_nat  = "ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES"
  enable_dynamic_port_allocation      = true
  enable_endpoint_independent_mapping = false
  min_ports_per_vm                    = 64
  max_ports_per_vm                    = 4096

  log_config {
    enable = true
    filter = "ERRORS_ONLY"
  }
}

# Nothing comes in that no other rule asks for, and what was tried is logged.
resource "google_compute_firewall" "deny_ingress" {
  project       = var.project_id
  name          = "${var.name}-deny-ingress"
  network       = google_compute_network.this.id
  direction     = "INGRESS"
  priority      = 65000
  source_ranges = ["0.0.0.0/0"]

  deny {
    protocol = "all"
  }

  log_config {
    metadata = "EXCLUDE_ALL_METADATA"
  }
}
