variable "project_id" {
  description = "Project of the secrets."
  type        = string
}

variable "secrets" {
  description = "Name of a secret -> who may read it: a name of your own -> IAM member."
  type        = map(map(string))

  validation {
    condition     = alltrue([for name in keys(var.secrets) : can(regex("^[a-z][a-z0-9-]*$", name))])
    error_message = "A secret's name has small letters, digits and hyphens."
  }
}

variable "written" {
  description = "Secrets whose value Terraform writes -> a number that is raised to write it again."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for name in keys(var.written) : contains(keys(var.secrets), name)])
    error_message = "Only a secret of `secrets` can be written."
  }
}

variable "values" {
  description = "Values of the written secrets; kept in memory only. Give it by TF_VAR_secret_values, never in a file."
  type        = map(string)
  default     = {}
  ephemeral   = true
  sensitive   = true
}

variable "locations" {
  description = "Regions that hold a copy."
  type        = set(string)
}

variable "deletion_protection" {
  description = "Whether Terraform refuses to delete a secret."
  type        = bool
  default     = true
}

variable "labels" {
  description = "Labels of the secrets."
  type        = map(string)
  default     = {}
}
