output "name" {
  description = "Name of the service."
  value       = google_cloud_run_v2_service.this.name
}

output "url" {
  description = "The service's address by the project's number, known before the service is made."
  value       = local.url
}
