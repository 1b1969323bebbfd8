variable "project" {
  description = "The project's id and number."
  type        = object({ id = string, number = string })
}

variable "region" {
  description = "Region of the service."
  type        = string
}

variable "name" {
  description = "Name of the service."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.name))
    error_message = "A name of 6 to 30 letters, digits and hyphens."
  }
}

variable "service_account" {
  description = "Account in whose name the function works: what stands before the @. One function, one account."
  type        = string

  validation {
    condition     = !strcontains(var.service_account, "@") && var.service_account != "default"
    error_message = "An account of the function's own, never a default one."
  }
}

variable "description" {
  description = "What the function does."
  type        = string
  default     = ""
}

variable "image" {
  description = "The image, by digest."
  type        = string

  validation {
    condition     = can(regex("^[^@]+@sha256:[0-9a-f]{64}$", var.image))
    error_message = "An image is named by its digest (...@sha256:...): a tag may mean something else tomorrow."
  }
}

variable "environment" {
  description = "Environment variables that are no secret."
  type        = map(string)
  default     = {}
}

variable "secrets" {
  description = "Environment variable -> Secret Manager secret (projects/.../secrets/...) and version."
  type = map(object({
    id      = string
    version = string
  }))
  default = {}

  validation {
    condition     = alltrue([for secret in values(var.secrets) : can(regex("^projects/[^/]+/secrets/[^/]+$", secret.id))])
    error_message = "A secret is referred to as projects/<project>/secrets/<name>, never given by value."
  }
  validation {
    condition     = alltrue([for secret in values(var.secrets) : can(regex("^[1-9][0-9]*$", secret.version))])
    error_message = "A secret's version is a number: with `latest` instances of one revision could hold different keys, and no rollback would bring the old one back."
  }
}

variable "limits" {
  description = "CPU and memory of an instance; cpu_idle takes the CPU away between requests."
  type = object({
    cpu      = optional(string, "1")
    memory   = optional(string, "1Gi")
    cpu_idle = optional(bool, true)
  })
  default = {}
}

variable "concurrency" {
  description = "Requests that one instance takes at once."
  type        = number

  validation {
    condition     = var.concurrency >= 1 && var.concurrency <= 1000
    error_message = "concurrency is from 1 to 1000."
  }
}

variable "scaling" {
  description = "Fewest and most instances."
  type        = object({ min = number, max = number })

  validation {
    condition     = var.scaling.min >= 0 && var.scaling.max >= 1 && var.scaling.min <= var.scaling.max
    error_message = "scaling.min is at least 0 and at most scaling.max."
  }
}

variable "timeout_seconds" {
  description = "After how many seconds a request is given up."
  type        = number

  validation {
    condition     = var.timeout_seconds >= 1 && var.timeout_seconds <= 3600
    error_message = "timeout_seconds is from 1 to 3600."
  }
}

variable "ingress" {
  description = "From where the service is reached. Pushes of Pub/Sub and calls of Cloud Scheduler count as internal."
  type        = string
  default     = "INGRESS_TRAFFIC_INTERNAL_ONLY"
}

variable "invokers" {
  description = "Who may call the service: a name of your own -> IAM member."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for member in values(var.invokers) : !startswith(member, "all")])
    error_message = "A public service is asked for by `public`, never by a member."
  }
}

variable "public" {
  description = "Whether anybody may call it: only where the function itself checks a token of every request (KB_AUTH=jwt)."
  type        = bool
  default     = false

  validation {
    condition     = !var.public || lookup(var.environment, "KB_AUTH", "none") == "jwt"
    error_message = "Only a function with KB_AUTH=jwt may be public."
  }
}

variable "checks_itself" {
  description = "Whether Cloud Run leaves checking the caller to the function, which it must where the function reads a Google identity token itself: Cloud Run takes the signature off each token that it checks."
  type        = bool
  default     = false

  validation {
    condition     = !var.checks_itself || (var.ingress == "INGRESS_TRAFFIC_INTERNAL_ONLY" && lookup(var.environment, "KB_AUTH", "none") == "iam" && length(var.invokers) == 0 && !var.public)
    error_message = "Only a function with KB_AUTH=iam that is reached from inside alone checks its callers itself."
  }
}

variable "custom_audiences" {
  description = "Names by which callers may ask for an identity token, beside the service's own addresses."
  type        = list(string)
  default     = []
}

variable "network" {
  description = "Direct VPC egress; null for none."
  type = object({
    network    = string
    subnetwork = string
    egress     = optional(string, "PRIVATE_RANGES_ONLY")
    tags       = optional(list(string), [])
  })
  default = null
}

variable "serving_revision" {
  description = "Revision that keeps all traffic while a newer one is tried; null: the newest has it."
  type        = string
  default     = null
}

variable "deletion_protection" {
  description = "Whether Terraform refuses to delete the service."
  type        = bool
  default     = true
}

variable "labels" {
  description = "Labels of the service and its revisions."
  type        = map(string)
  default     = {}
}
