variable "project_id" {
  description = "Project of the jobs."
  type        = string
}

variable "region" {
  description = "Region of the jobs."
  type        = string
}

variable "time_zone" {
  description = "Time zone of the schedules."
  type        = string
  default     = "Etc/UTC"
}

variable "calls" {
  description = "Functions that are called on a schedule, with an identity token for `audience` alone."
  type = map(object({
    description      = string
    schedule         = string
    uri              = string
    audience         = string
    body             = any
    deadline_seconds = optional(number, 600)
  }))
  default = {}

  validation {
    condition     = alltrue([for call in values(var.calls) : startswith(call.uri, "https://") && startswith(call.audience, "https://")])
    error_message = "A function is called, and its token made out, for an https address."
  }
  validation {
    condition     = alltrue([for call in values(var.calls) : call.deadline_seconds >= 15 && call.deadline_seconds <= 1800])
    error_message = "deadline_seconds is from 15 to 1800, as Cloud Scheduler has it."
  }
}

variable "messages" {
  description = "Messages that are published on a schedule."
  type = map(object({
    description = string
    schedule    = string
    topic_id    = string
    body        = any
    attributes  = optional(map(string), {})
  }))
  default = {}
}
