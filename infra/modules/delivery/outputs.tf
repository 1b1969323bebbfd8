output "deployer_member" {
  description = "IAM member in whose name this environment is deployed; known before the account is made."
  value       = "serviceAccount:${google_service_account.deployer.account_id}@${var.project_id}.iam.gserviceaccount.com"
}

output "builder_members" {
  description = "IAM member that pushes images, where they are built."
  value       = { for account in google_service_account.builder : "builder" => "serviceAccount:${account.account_id}@${var.project_id}.iam.gserviceaccount.com" }
}

output "deploy_trigger" {
  description = "Name of the trigger that deploys."
  value       = google_cloudbuild_trigger.deploy.name
}
