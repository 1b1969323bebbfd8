output "deployer_member" {
  description = "IAM member in whose name this environment is deployed."
  value       = google_service_account.deployer.member
}

output "builder_members" {
  description = "IAM member that pushes images, where they are built."
  value       = { for account in google_service_account.builder : "builder" => "serviceAccount:kb-builder@${account.project}.iam.gserviceaccount.com" }
}

output "deploy_trigger" {
  description = "Name of the trigger that deploys."
  value       = google_cloudbuild_trigger.deploy.name
}
