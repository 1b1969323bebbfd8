variable "project_id" {
  description = "Project whose APIs are switched on."
  type        = string
}

variable "services" {
  description = "APIs, by their full names."
  type        = set(string)
  default = [
    "artifactregistry.googleapis.com",
    "billingbudgets.googleapis.com",
    "cloudbuild.googleapis.com",
    "cloudscheduler.googleapis.com",
    "compute.googleapis.com",
    "containeranalysis.googleapis.com",
    "dns.googleapis.com",
    "firestore.googleapis.com",
    "iam.googleapis.com",
    "iamcredentials.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "pubsub.googleapis.com",
    "run.googleapis.com",
    "secretmanager.googleapis.com",
    "storage.googleapis.com",
    "sts.googleapis.com",
  ]

  validation {
    condition     = alltrue([for service in var.services : endswith(service, ".googleapis.com")])
    error_message = "An API is named in full, such as run.googleapis.com."
  }
}

variable "service_agents" {
  description = "APIs whose service agent must exist before a role is granted to it."
  type        = set(string)
  default     = ["cloudscheduler.googleapis.com", "pubsub.googleapis.com"]
}

variable "audited_services" {
  description = "APIs whose reads and writes of data are logged, beside the changes that are always logged."
  type        = set(string)
  default     = ["iam.googleapis.com", "secretmanager.googleapis.com"]
}
