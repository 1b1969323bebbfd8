variable "project_id" {
  description = "Project that is watched."
  type        = string
}

variable "project_number" {
  description = "Its number, by which a budget knows it."
  type        = string
}

variable "services" {
  description = "Function -> name of its Cloud Run service."
  type        = map(string)
}

variable "subscriptions" {
  description = "Channel -> names of its push subscription and of the one that keeps its dead letters."
  type        = map(object({ push = string, dead = string }))
}

variable "alerts_enabled" {
  description = "Whether anybody is to be told."
  type        = bool
  default     = true

  validation {
    condition     = !var.alerts_enabled || length(var.emails) > 0
    error_message = "Alerts need somebody to tell: name at least one address in `emails`."
  }
}

variable "emails" {
  description = "Who is told."
  type        = set(string)
  default     = []
}

variable "thresholds" {
  description = "When an alert is raised."
  type = object({
    oldest_unacked_seconds = optional(number, 1800)
    failed_jobs_per_hour   = optional(number, 10)
    error_share            = optional(number, 0.01)
    p95_ms                 = optional(number, 1500)
  })
  default = {}
}

variable "slo" {
  description = "Objectives over 28 days: share of questions that are answered, and that are answered within fast_ms."
  type = object({
    availability = optional(number, 0.995)
    fast_share   = optional(number, 0.95)
    fast_ms      = optional(number, 1000)
  })
  default = {}

  validation {
    condition     = var.slo.availability > 0 && var.slo.availability < 1 && var.slo.fast_share > 0 && var.slo.fast_share < 1
    error_message = "An objective is a share between 0 and 1."
  }
}

variable "budget" {
  description = "What a month may cost before somebody is told; null for no budget."
  type = object({
    billing_account = string
    monthly         = number
    currency        = optional(string, "EUR")
  })
  default = null
}

variable "labels" {
  description = "Labels of the alerts."
  type        = map(string)
  default     = {}
}

variable "viewers" {
  description = "Who may look at metrics and logs: a name of your own -> IAM member."
  type        = map(string)
  default     = {}
}
