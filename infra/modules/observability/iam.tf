# Who may look at metrics, alerts and logs without changing anything.
resource "google_project_iam_member" "viewers" {
  for_each = merge([
    for key, member in var.viewers : {
      for role in ["roles/monitoring.viewer", "roles/logging.viewer"] : "${key}/${role}" => { role = role, member = member }
    }
  ]...)

  project = var.project_id
  role    = each.value.role
  member  = each.value.member
}
