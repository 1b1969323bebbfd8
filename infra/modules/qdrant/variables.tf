variable "project_id" {
  description = "Project of the machine."
  type        = string
}

variable "region" {
  description = "Region of the subnet and of the snapshots."
  type        = string
}

variable "network" {
  description = "Network, and the addresses of the functions in it."
  type = object({
    id              = string
    functions_range = string
  })
}

variable "url" {
  description = "Address of a cluster that is run by somebody else, such as Qdrant Cloud; null for a machine of our own."
  type        = string
  default     = null

  validation {
    condition     = var.url == null || can(regex("^https://", var.url))
    error_message = "A cluster outside is reached by https: the key goes with every request."
  }
}

variable "vm" {
  description = "A machine of our own, in our network only; null for a cluster by its address."
  type = object({
    zone          = string
    image         = string
    machine_type  = optional(string, "e2-standard-2")
    boot_image    = optional(string, "projects/cos-cloud/global/images/family/cos-stable")
    disk_gb       = optional(number, 50)
    range         = optional(string, "10.40.1.0/28")
    snapshot_time = optional(string, "03:00")
    snapshot_days = optional(number, 14)
  })
  default = null

  validation {
    condition     = (var.vm == null) != (var.url == null)
    error_message = "Exactly one of `url` and `vm` is given."
  }
  validation {
    condition     = var.vm == null || can(regex("^[^@]+@sha256:[0-9a-f]{64}$", try(var.vm.image, "")))
    error_message = "Qdrant's image is named by its digest."
  }
}

variable "api_key" {
  description = "The key's secret (projects/.../secrets/...) and version."
  type        = object({ id = string, version = string })
}

variable "domain" {
  description = "Private domain of the network."
  type        = string
  default     = "kb.internal"
}

variable "deletion_protection" {
  description = "Whether Terraform refuses to delete the machine."
  type        = bool
  default     = true
}

variable "labels" {
  description = "Labels of everything that has some."
  type        = map(string)
  default     = {}
}
