output "alerts" {
  description = "Names of the alerts that are on."
  value       = sort(keys(google_monitoring_alert_policy.this))
}
