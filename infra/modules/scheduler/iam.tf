locals {
  caller = "kb-scheduler"
}

# One account for all schedules: what it may call or publish to is granted there, by whoever is called.
resource "google_service_account" "caller" {
  project      = var.project_id
  account_id   = local.caller
  display_name = "Calls functions on a schedule"
}
