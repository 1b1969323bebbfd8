variable "project_id" {
  description = "Project of the database."
  type        = string
}

variable "database" {
  description = "The database that holds the catalog: bases, objects, jobs, epochs."
  type = object({
    name                   = string
    location               = string
    delete_protection      = optional(bool, true)
    point_in_time_recovery = optional(bool, true)
  })

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,61}[a-z0-9]$", var.database.name))
    error_message = "A named database: 4 to 63 letters, digits and hyphens. (default) may belong to somebody else in the project."
  }
}

variable "indexes" {
  description = "Composite indexes: collection and fields, all ascending. The default is INDEXES of common/adapters/firestore/layout.py."
  type = list(object({
    collection = string
    fields     = list(string)
  }))
  default = [
    { collection = "kb_objects", fields = ["source", "object"] },
    { collection = "kb_objects", fields = ["documents", "passages", "tokens", "size"] },
  ]
}

variable "unindexed" {
  description = "Fields without an index. The default is UNINDEXED of common/adapters/firestore/layout.py."
  type = list(object({
    collection = string
    field      = string
  }))
  default = [
    { collection = "kb_bases", field = "record" },
    { collection = "kb_collections", field = "record" },
    { collection = "kb_generations", field = "identity" },
    { collection = "kb_generations", field = "generation" },
    { collection = "kb_jobs", field = "job" },
    { collection = "kb_objects", field = "record" },
    { collection = "kb_objects", field = "job" },
    { collection = "kb_objects", field = "document" },
    { collection = "kb_objects", field = "object" },
    { collection = "kb_objects", field = "generation" },
    { collection = "kb_objects", field = "live" },
    { collection = "kb_objects", field = "stale" },
    { collection = "kb_usage", field = "counts" },
    { collection = "kb_questions", field = "questions" },
  ]
}

variable "expiring" {
  description = "Collection -> the timestamp field after which Firestore removes a document of it by itself."
  type        = map(string)
  default     = {}
}

variable "backups" {
  description = "How many days a daily and a weekly backup are kept; 0 makes none."
  type = object({
    daily_retention_days  = optional(number, 7)
    weekly_retention_days = optional(number, 0)
  })
  default = {}

  validation {
    condition     = var.backups.daily_retention_days >= 0 && var.backups.daily_retention_days <= 98 && var.backups.weekly_retention_days >= 0 && var.backups.weekly_retention_days <= 98
    error_message = "Backups are kept up to 98 days (14 weeks)."
  }
}

variable "users" {
  description = "Who may read and write documents: a name of your own -> IAM member."
  type        = map(string)
  default     = {}
}
