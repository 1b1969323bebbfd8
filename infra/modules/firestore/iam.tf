# Firestore has no roles on a database: the project's role is narrowed to it by a condition.
resource "google_project_iam_member" "users" {
  for_each = var.users

  project = var.project_id
  role    = "roles/datastore.user"
  member  = each.value

  condition {
    title      = "only-${var.database.name}"
    expression = "resource.name == \"projects/${var.project_id}/databases/${var.database.name}\""
  }
}
