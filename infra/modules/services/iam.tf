resource "google_project_service_identity" "this" {
  for_each = var.service_agents
  provider = google-beta

  project = google_project_service.this[each.value].project
  service = each.value
}

resource "google_project_iam_audit_config" "this" {
  for_each = var.audited_services

  project = var.project_id
  service = each.value

  dynamic "audit_log_config" {
    for_each = ["ADMIN_READ", "DATA_READ", "DATA_WRITE"]
    content {
      log_type = audit_log_config.value
    }
  }
}
