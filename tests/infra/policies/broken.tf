# One resource for each way to break a policy of infra/policies, and one that keeps it. Never planned.
resource "google_cloud_run_v2_service_iam_member" "open" {
  name   = "kb-ingest"
  role   = "roles/run.invoker"
  member = "allUsers"
}

resource "google_cloud_run_v2_service_iam_member" "half_open" {
  name   = "kb-ingest"
  role   = "roles/run.invoker"
  member = "allAuthenticatedUsers"
}

resource "google_cloud_run_v2_service_iam_member" "closed" {
  name   = "kb-ingest"
  role   = "roles/run.invoker"
  member = "user:somebody@acme.example"
}

resource "google_cloud_run_v2_service_iam_binding" "open" {
  name    = "kb-ingest"
  role    = "roles/run.invoker"
  members = ["user:somebody@acme.example", "allUsers"]
}

resource "google_cloud_run_v2_service_iam_binding" "closed" {
  name    = "kb-ingest"
  role    = "roles/run.invoker"
  members = ["user:somebody@acme.example"]
}

resource "google_cloud_run_v2_service" "unchecked" {
  name                 = "kb-ingest"
  location             = "europe-west1"
  invoker_iam_disabled = true
}

resource "google_cloud_run_v2_service" "checked" {
  name     = "kb-ingest"
  location = "europe-west1"
}

resource "google_pubsub_topic" "lonely" {
  name = "kb-lonely"
}

resource "google_pubsub_topic" "heard" {
  name = "kb-heard"
}

resource "google_pubsub_subscription" "losing" {
  name  = "kb-heard-push"
  topic = google_pubsub_topic.heard.id
  push_config {
    push_endpoint = "https://kb.example"
  }
}

resource "google_pubsub_subscription" "keeping" {
  name  = "kb-heard-push-again"
  topic = google_pubsub_topic.heard.id
  push_config {
    push_endpoint = "https://kb.example"
  }
  dead_letter_policy {
    dead_letter_topic = google_pubsub_topic.heard.id
  }
}
