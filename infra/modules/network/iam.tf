# Direct VPC egress in the same project: Cloud Run's agent has what it needs by its own role. With a shared VPC it would
# need roles/compute.networkUser on the subnet, granted here to `users`.
resource "google_compute_subnetwork_iam_member" "users" {
  for_each = var.users

  project    = var.project_id
  region     = var.region
  subnetwork = google_compute_subnetwork.functions.name
  role       = "roles/compute.networkUser"
  member     = each.value
}
