locals {
  readers = merge([
    for name, members in var.secrets : {
      for reader, member in members : "${name}/${reader}" => { secret = name, member = member }
    }
  ]...)
}

resource "google_secret_manager_secret_iam_member" "readers" {
  for_each = local.readers

  project   = var.project_id
  secret_id = google_secret_manager_secret.this[each.value.secret].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = each.value.member
}
