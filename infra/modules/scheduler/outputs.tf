output "caller_member" {
  description = "IAM member in whose name functions are called; known before the account is made."
  value       = "serviceAccount:${local.caller}@${var.project_id}.iam.gserviceaccount.com"
  depends_on  = [google_service_account.caller]
}

output "caller_email" {
  description = "Its address, as an identity token carries it."
  value       = "${local.caller}@${var.project_id}.iam.gserviceaccount.com"
  depends_on  = [google_service_account.caller]
}

output "jobs" {
  description = "Names of all jobs."
  value       = sort([for job in merge(google_cloud_scheduler_job.http, google_cloud_scheduler_job.message) : job.name])
}

output "caller_account" {
  description = "Its full name, for a role on it."
  value       = "projects/${var.project_id}/serviceAccounts/${local.caller}@${var.project_id}.iam.gserviceaccount.com"
  depends_on  = [google_service_account.caller]
}
