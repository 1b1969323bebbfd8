output "egress" {
  description = "What a function's `network` takes."
  value = {
    network    = google_compute_network.this.name
    subnetwork = google_compute_subnetwork.functions.name
    egress     = var.egress
    tags       = ["kb-function"]
  }
}

output "network" {
  description = "The network, and the subnet and addresses of the functions."
  value = {
    id              = google_compute_network.this.id
    subnetwork_id   = google_compute_subnetwork.functions.id
    functions_range = google_compute_subnetwork.functions.ip_cidr_range
  }
}

output "nat_address" {
  description = "The address from which calls leave."
  value       = google_compute_address.nat.address
}
