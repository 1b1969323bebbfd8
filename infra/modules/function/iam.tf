# The permission stands on the Cloud Run service: there is no Cloud Functions resource beside it.
resource "google_cloud_run_v2_service_iam_member" "invokers" {
  for_each = var.invokers

  project  = var.project.id
  location = var.region
  name     = google_cloud_run_v2_service.this.name
  role     = "roles/run.invoker"
  member   = each.value
}

resource "google_cloud_run_v2_service_iam_member" "public" {
  #checkov:skip=CKV2_KB_1: made only with KB_AUTH=jwt, where the function checks a token of every request itself; see the variable `public`
  count = var.public ? 1 : 0

  project  = var.project.id
  location = var.region
  name     = google_cloud_run_v2_service.this.name
  role     = "roles/run.invoker"
  member   = "allUsers"
}
