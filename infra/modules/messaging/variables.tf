variable "project_id" {
  description = "Project of the topics."
  type        = string
}

variable "regions" {
  description = "Regions where messages may be stored."
  type        = set(string)
}

variable "pubsub_agent" {
  description = "IAM member of the project's Pub/Sub service agent."
  type        = string
}

variable "channels" {
  description = <<-EOT
    Receiver -> its topic and how it is pushed to. The number of attempts is high on purpose: an answer 429 of a receiver
    that is saturated counts as one, and a document's own attempts are counted by the job.
  EOT
  type = map(object({
    topic                 = string
    push_endpoint         = string
    audience              = string
    ack_deadline_seconds  = optional(number, 600)
    max_delivery_attempts = optional(number, 100)
    minimum_backoff       = optional(string, "10s")
    maximum_backoff       = optional(string, "600s")
    retention_days        = optional(number, 7)
    dead_retention_days   = optional(number, 14)
  }))

  validation {
    condition     = alltrue([for c in values(var.channels) : startswith(c.push_endpoint, "https://")])
    error_message = "push_endpoint is an https address."
  }
  validation {
    condition     = alltrue([for c in values(var.channels) : c.ack_deadline_seconds >= 10 && c.ack_deadline_seconds <= 600])
    error_message = "ack_deadline_seconds is from 10 to 600, the most that Pub/Sub gives a push."
  }
  validation {
    condition     = alltrue([for c in values(var.channels) : c.max_delivery_attempts >= 5 && c.max_delivery_attempts <= 100])
    error_message = "max_delivery_attempts is from 5 to 100."
  }
  validation {
    condition     = alltrue([for c in values(var.channels) : c.retention_days >= 1 && c.retention_days <= 31 && c.dead_retention_days >= 7 && c.dead_retention_days <= 31])
    error_message = "Messages are kept from 1 to 31 days, dead letters from 7: somebody has to be back from a holiday."
  }
}

variable "publishers" {
  description = "Who may publish: a name of your own -> channel and IAM member."
  type = map(object({
    channel = string
    member  = string
  }))
  default = {}
}

variable "labels" {
  description = "Labels of topics and subscriptions."
  type        = map(string)
  default     = {}
}
