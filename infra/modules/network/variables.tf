variable "project_id" {
  description = "Project of the network."
  type        = string
}

variable "region" {
  description = "Region of the subnet."
  type        = string
}

variable "name" {
  description = "Name of the network, and the beginning of all other names."
  type        = string
  default     = "kb"
}

variable "functions_range" {
  description = "Addresses of the functions: Cloud Run takes up to two for each instance, and keeps them for a while after."
  type        = string
  default     = "10.40.0.0/24"

  validation {
    condition     = can(cidrhost(var.functions_range, 0)) && tonumber(split("/", var.functions_range)[1]) <= 26
    error_message = "A range of /26 or larger."
  }
  validation {
    condition     = !startswith(var.functions_range, "192.168.1.")
    error_message = "Cloud Run cannot reach anything in 192.168.1.0/24."
  }
}

variable "egress" {
  description = "What leaves by the network: private addresses, or everything (by the NAT's address)."
  type        = string
  default     = "ALL_TRAFFIC"

  validation {
    condition     = contains(["ALL_TRAFFIC", "PRIVATE_RANGES_ONLY"], var.egress)
    error_message = "egress is ALL_TRAFFIC or PRIVATE_RANGES_ONLY."
  }
}

variable "labels" {
  description = "Labels of the address."
  type        = map(string)
  default     = {}
}

variable "users" {
  description = "Agents of other projects that may use the subnet: a name of your own -> IAM member."
  type        = map(string)
  default     = {}
}
