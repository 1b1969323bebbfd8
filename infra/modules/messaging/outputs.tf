output "topics" {
  description = "Channel -> the topic's id and name (KB_TOPIC_*); known once its publishers are granted."
  value       = { for key, topic in google_pubsub_topic.this : key => { id = "projects/${topic.project}/topics/${topic.name}", name = topic.name } }
  depends_on  = [google_pubsub_topic_iam_member.publishers]
}

output "push_members" {
  description = "Channel -> IAM member in whose name its messages are pushed; known before the account is made."
  value       = { for key in keys(var.channels) : key => "serviceAccount:kb-push-${key}@${var.project_id}.iam.gserviceaccount.com" }
  depends_on  = [google_service_account.push]
}

output "subscriptions" {
  description = "Channel -> names of its push subscription and of the one that keeps its dead letters."
  value = {
    for key, subscription in google_pubsub_subscription.push :
    key => { push = subscription.name, dead = google_pubsub_subscription.dead[key].name }
  }
}

output "push_accounts" {
  description = "Channel -> full name of the account in whose name its messages are pushed."
  value       = { for key in keys(var.channels) : key => "projects/${var.project_id}/serviceAccounts/kb-push-${key}@${var.project_id}.iam.gserviceaccount.com" }
  depends_on  = [google_service_account.push]
}
