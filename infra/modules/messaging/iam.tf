resource "google_service_account" "push" {
  for_each = var.channels

  project      = var.project_id
  account_id   = "kb-push-${each.key}"
  display_name = "Pushes ${each.value.topic} to ${each.key}"
}

# Pub/Sub's agent signs the identity of a push, hands on what was refused too often, and takes it off the subscription.
resource "google_service_account_iam_member" "signs_pushes" {
  for_each = var.channels

  service_account_id = google_service_account.push[each.key].name
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = var.pubsub_agent
}

resource "google_pubsub_topic_iam_member" "dead" {
  for_each = var.channels

  project = var.project_id
  topic   = google_pubsub_topic.dead[each.key].name
  role    = "roles/pubsub.publisher"
  member  = var.pubsub_agent
}

resource "google_pubsub_subscription_iam_member" "dead" {
  for_each = var.channels

  project      = var.project_id
  subscription = google_pubsub_subscription.push[each.key].name
  role         = "roles/pubsub.subscriber"
  member       = var.pubsub_agent
}

resource "google_pubsub_topic_iam_member" "publishers" {
  for_each = var.publishers

  project = var.project_id
  topic   = google_pubsub_topic.this[each.value.channel].name
  role    = "roles/pubsub.publisher"
  member  = each.value.member
}
