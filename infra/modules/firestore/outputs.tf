output "name" {
  description = "The database's name (KB_FIRESTORE_DATABASE); known once its users are granted."
  value       = google_firestore_database.this.name
  depends_on  = [google_project_iam_member.users]
}
