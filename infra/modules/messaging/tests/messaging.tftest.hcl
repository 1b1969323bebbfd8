mock_provider "google" {}

variables {
  project_id   = "acme-kb-dev"
  regions      = ["europe-west1"]
  pubsub_agent = "serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com"
  channels = {
    ingest = {
      topic         = "kb-events"
      push_endpoint = "https://kb-ingest-123456789012.europe-west1.run.app"
      audience      = "https://kb-ingest-123456789012.europe-west1.run.app"
    }
  }
}

run "a_dead_letter_is_kept" {
  command = plan
  assert {
    condition     = google_pubsub_subscription.push["ingest"].dead_letter_policy[0].dead_letter_topic == google_pubsub_subscription.dead["ingest"].topic
    error_message = "the topic that takes dead letters must have a subscription that keeps them"
  }
  assert {
    condition     = google_pubsub_subscription.dead["ingest"].expiration_policy[0].ttl == "" && google_pubsub_subscription.push["ingest"].expiration_policy[0].ttl == ""
    error_message = "a quiet month must not remove a subscription"
  }
  assert {
    condition     = google_pubsub_topic_iam_member.dead["ingest"].member == var.pubsub_agent && google_pubsub_subscription_iam_member.dead["ingest"].member == var.pubsub_agent
    error_message = "Pub/Sub's own agent forwards dead letters: it publishes them and acknowledges the original"
  }
}

run "a_push_tells_who_pushes" {
  command = plan
  assert {
    condition     = google_service_account.push["ingest"].account_id == "kb-push-ingest"
    error_message = "each push has an account of its own"
  }
  assert {
    condition     = google_pubsub_subscription.push["ingest"].push_config[0].oidc_token[0].audience == var.channels.ingest.audience
    error_message = "the token is for the receiver alone"
  }
}

run "an_address_in_the_clear_is_refused" {
  command = plan
  variables {
    channels = { ingest = { topic = "kb-events", push_endpoint = "http://kb", audience = "http://kb" } }
  }
  expect_failures = [var.channels]
}

run "an_ack_deadline_that_no_push_has_is_refused" {
  command = plan
  variables {
    channels = { ingest = { topic = "kb-events", push_endpoint = "https://kb", audience = "https://kb", ack_deadline_seconds = 900 } }
  }
  expect_failures = [var.channels]
}
