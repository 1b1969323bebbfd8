output "url" {
  description = "Where images are: <region>-docker.pkg.dev/<project>/<repository>."
  value       = "${var.location}-docker.pkg.dev/${var.project_id}/${var.name}"
}
