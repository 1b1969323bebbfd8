locals {
  account = "kb-qdrant"
}

resource "google_service_account" "this" {
  for_each = local.vm

  project      = var.project_id
  account_id   = local.account
  display_name = "Qdrant's machine"
}

# Neither has a role on anything smaller than a project.
resource "google_project_iam_member" "this" {
  for_each = var.vm == null ? toset([]) : toset(["roles/logging.logWriter", "roles/monitoring.metricWriter"])

  project = var.project_id
  role    = each.value
  member  = google_service_account.this["this"].member
}
