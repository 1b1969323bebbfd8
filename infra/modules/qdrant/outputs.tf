output "url" {
  description = "QDRANT_URL. Inside the network it is plain HTTP: Google encrypts between its machines, and no other route leads there."
  value       = var.url != null ? var.url : "http://${local.host}:6333"
}

output "members" {
  description = "Who reads the key beside the functions: the machine's account, when there is a machine."
  value       = { for key in keys(local.vm) : "qdrant" => "serviceAccount:${local.account}@${var.project_id}.iam.gserviceaccount.com" }
  depends_on  = [google_service_account.this]
}
