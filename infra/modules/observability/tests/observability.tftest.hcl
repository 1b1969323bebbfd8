mock_provider "google" {}

variables {
  project_id     = "acme-kb-dev"
  project_number = "123456789012"
  services       = { query = "kb-query", ingest = "kb-ingest", manage = "kb-manage", reindex = "kb-reindex" }
  subscriptions = {
    ingest  = { push = "kb-events-ingest", dead = "kb-events-dead" }
    reindex = { push = "kb-reindex-reindex", dead = "kb-reindex-dead" }
  }
  emails = ["kb@acme.example"]
}

run "what_matters_is_watched" {
  command = plan
  assert {
    condition     = toset(output.alerts) == toset(["backlog", "dead-letters", "degraded", "errors-5xx", "failed-jobs", "faults", "latency-p95", "misconfigured", "schedules"])
    error_message = "an alert is missing"
  }
  assert {
    condition     = alltrue([for s in ["kb-events-dead", "kb-reindex-dead"] : strcontains(google_monitoring_alert_policy.this["dead-letters"].conditions[0].condition_threshold[0].filter, s)])
    error_message = "every dead-letter subscription is watched"
  }
  assert {
    condition     = google_monitoring_alert_policy.this["dead-letters"].conditions[0].condition_threshold[0].threshold_value == 0
    error_message = "the first dead letter is one too many"
  }
  assert {
    condition     = !strcontains(google_monitoring_alert_policy.this["errors-5xx"].conditions[0].condition_threshold[0].filter, "kb-ingest")
    error_message = "ingest answers 503 on purpose"
  }
}

run "somebody_has_to_be_told" {
  command = plan
  variables {
    emails = []
  }
  expect_failures = [var.alerts_enabled]
}

run "a_budget_warns_before_it_is_spent" {
  command = plan
  variables {
    budget = { billing_account = "000000-000000-000000", monthly = 200 }
  }
  assert {
    condition     = google_billing_budget.this[0].budget_filter[0].projects == toset(["projects/123456789012"]) && length(google_billing_budget.this[0].threshold_rules) == 4
    error_message = "the budget is of this project alone, with warnings on the way"
  }
}
