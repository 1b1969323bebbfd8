resource "google_project_service" "this" {
  for_each = var.services

  project = var.project_id
  service = each.value
  # Another owner of the project may need the API after this state is gone.
  disable_on_destroy = false
}

data "google_project" "this" {
  project_id = var.project_id
}
