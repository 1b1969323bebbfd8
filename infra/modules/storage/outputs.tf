output "name" {
  description = "The bucket's name (KB_BUCKET); known once its members are granted."
  value       = google_storage_bucket.this.name
  depends_on  = [google_storage_bucket_iam_member.this]
}
