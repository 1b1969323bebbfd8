resource "google_secret_manager_secret" "this" {
  for_each = var.secrets

  project             = var.project_id
  secret_id           = each.key
  labels              = var.labels
  deletion_protection = var.deletion_protection
  # A version that is destroyed by mistake can be brought back for a day.
  version_destroy_ttl = "86400s"

  replication {
    user_managed {
      dynamic "replicas" {
        for_each = var.locations
        content {
          location = replicas.value
        }
      }
    }
  }
}

# A write-only value goes to Secret Manager and into no plan and no state. Most secrets have none here: their versions
# are added by `gcloud secrets versions add`, and Terraform never sees them.
resource "google_secret_manager_secret_version" "written" {
  for_each = var.written

  secret                 = google_secret_manager_secret.this[each.key].id
  secret_data_wo         = var.values[each.key]
  secret_data_wo_version = each.value
  deletion_policy        = "DISABLE"
}
