output "project_id" {
  description = "The project's id, known to whoever waits for its APIs."
  value       = var.project_id
  depends_on  = [google_project_service.this]
}

output "project_number" {
  description = "The project's number."
  value       = data.google_project.this.number
}

output "pubsub_agent" {
  description = "IAM member that forwards dead letters and signs pushes in the name of Pub/Sub."
  value       = "serviceAccount:service-${data.google_project.this.number}@gcp-sa-pubsub.iam.gserviceaccount.com"
  depends_on  = [google_project_service_identity.this]
}
