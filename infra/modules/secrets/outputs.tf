output "ids" {
  description = "Name -> the secret's id, for a reference; never its value. Known once its readers are granted."
  value       = { for name, secret in google_secret_manager_secret.this : name => "projects/${secret.project}/secrets/${secret.secret_id}" }
  depends_on  = [google_secret_manager_secret_iam_member.readers, google_secret_manager_secret_version.written]
}
