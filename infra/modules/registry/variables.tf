variable "project_id" {
  description = "Project of the repository."
  type        = string
}

variable "location" {
  description = "Region of the repository."
  type        = string
}

variable "name" {
  description = "Name of the repository."
  type        = string
  default     = "fichario"
}

variable "keep_releases" {
  description = "How many releases of each image are kept, however old: as far back as a rollback can go."
  type        = number
  default     = 20

  validation {
    condition     = var.keep_releases >= 3
    error_message = "Keep at least the running release and two before it."
  }
}

variable "keep_days" {
  description = "After how many days any other image is removed."
  type        = number
  default     = 30
}

variable "readers" {
  description = "Who may pull: a name of your own -> IAM member."
  type        = map(string)
  default     = {}
}

variable "writers" {
  description = "Who may push: a name of your own -> IAM member."
  type        = map(string)
  default     = {}
}

variable "labels" {
  description = "Labels of the repository."
  type        = map(string)
  default     = {}
}
