resource "google_firestore_database" "this" {
  project                           = var.project_id
  name                              = var.database.name
  location_id                       = var.database.location
  type                              = "FIRESTORE_NATIVE"
  concurrency_mode                  = "OPTIMISTIC"
  delete_protection_state           = var.database.delete_protection ? "DELETE_PROTECTION_ENABLED" : "DELETE_PROTECTION_DISABLED"
  point_in_time_recovery_enablement = var.database.point_in_time_recovery ? "POINT_IN_TIME_RECOVERY_ENABLED" : "POINT_IN_TIME_RECOVERY_DISABLED"
  # Taking the database out of the code leaves it where it is: it is the truth about every base.
  deletion_policy = "ABANDON"
}

resource "google_firestore_index" "this" {
  for_each = { for index in var.indexes : "${index.collection}/${join("-", index.fields)}" => index }

  project     = var.project_id
  database    = google_firestore_database.this.name
  collection  = each.value.collection
  query_scope = "COLLECTION"

  dynamic "fields" {
    for_each = each.value.fields
    content {
      field_path = fields.value
      order      = "ASCENDING"
    }
  }
}

# No query reads these fields, and an index of a long text costs money and time with each write.
resource "google_firestore_field" "unindexed" {
  for_each = { for field in var.unindexed : "${field.collection}/${field.field}" => field }

  project    = var.project_id
  database   = google_firestore_database.this.name
  collection = each.value.collection
  field      = each.value.field

  index_config {}
}

resource "google_firestore_field" "expiring" {
  for_each = var.expiring

  project    = var.project_id
  database   = google_firestore_database.this.name
  collection = each.key
  field      = each.value

  # A field that only says when to end needs no index, and one that grows with time makes a hot spot.
  index_config {}
  ttl_config {}
}

resource "google_firestore_backup_schedule" "daily" {
  count = var.backups.daily_retention_days > 0 ? 1 : 0

  project   = var.project_id
  database  = google_firestore_database.this.name
  retention = "${var.backups.daily_retention_days * 86400}s"

  daily_recurrence {}
}

resource "google_firestore_backup_schedule" "weekly" {
  count = var.backups.weekly_retention_days > 0 ? 1 : 0

  project   = var.project_id
  database  = google_firestore_database.this.name
  retention = "${var.backups.weekly_retention_days * 86400}s"

  weekly_recurrence {
    day = "SUNDAY"
  }
}
