variable "project_id" {
  description = "Project of the bucket."
  type        = string
}

variable "bucket" {
  description = "The bucket of documents: `<base>/<path>` in it is one document of a base."
  type = object({
    name             = string
    location         = string
    versioning       = optional(bool, true)
    soft_delete_days = optional(number, 7)
    noncurrent_days  = optional(number, 30)
    cors_origins     = optional(list(string), [])
  })

  validation {
    condition     = var.bucket.soft_delete_days == 0 || (var.bucket.soft_delete_days >= 7 && var.bucket.soft_delete_days <= 90)
    error_message = "soft_delete_days is 0 or from 7 to 90."
  }
  validation {
    condition     = !contains(var.bucket.cors_origins, "*")
    error_message = "cors_origins names the pages that upload; a star would let every page use a leaked address."
  }
}

variable "topic_id" {
  description = "Topic that learns of every change, as projects/<project>/topics/<name>."
  type        = string

  validation {
    condition     = can(regex("^projects/[^/]+/topics/[^/]+$", var.topic_id))
    error_message = "topic_id is projects/<project>/topics/<name>."
  }
}

variable "members" {
  description = "Who may use the objects: a name of your own -> role and IAM member."
  type = map(object({
    role   = string
    member = string
  }))
  default = {}

  validation {
    condition = alltrue([
      for grant in values(var.members) :
      contains(["roles/storage.objectUser", "roles/storage.objectViewer"], grant.role)
    ])
    error_message = "Functions get roles/storage.objectUser or roles/storage.objectViewer, never a right over the bucket itself."
  }
  validation {
    condition     = alltrue([for grant in values(var.members) : !startswith(grant.member, "all")])
    error_message = "A bucket of documents is never public."
  }
}

variable "labels" {
  description = "Labels of the bucket."
  type        = map(string)
  default     = {}
}
