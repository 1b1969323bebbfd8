variable "project_id" {
  description = "Project of the environment."
  type        = string
}

variable "region" {
  description = "Region of the triggers."
  type        = string
}

variable "environment" {
  description = "Name of the environment."
  type        = string
}

variable "repository" {
  description = "The connected repository: projects/<project>/locations/<region>/connections/<name>/repositories/<name>."
  type        = string

  validation {
    condition     = can(regex("^projects/[^/]+/locations/[^/]+/connections/[^/]+/repositories/[^/]+$", var.repository))
    error_message = "repository is projects/<project>/locations/<region>/connections/<name>/repositories/<name>."
  }
}

variable "branch" {
  description = "The branch that is released."
  type        = string
  default     = "main"
}

variable "builds" {
  description = "Whether images are built here. True in one environment; the others run what it built."
  type        = bool
  default     = false
}

variable "models" {
  description = "Embedding models that every image holds; two during a migration."
  type        = list(string)

  validation {
    condition     = length(var.models) > 0
    error_message = "An image without a model cannot answer."
  }
}

variable "registry_url" {
  description = "Where images of this environment are: <region>-docker.pkg.dev/<project>/<repository>."
  type        = string
}

variable "source_registry_url" {
  description = "Where a release is taken from; null where it is built. Each environment takes it from the one before."
  type        = string
  default     = null
}

variable "state_bucket" {
  description = "Bucket of this environment's Terraform state."
  type        = string
}

variable "approval_required" {
  description = "Whether somebody else has to approve a deployment."
  type        = bool
  default     = true

  validation {
    condition     = var.approval_required || var.environment == "dev"
    error_message = "Only dev deploys without approval."
  }
}

variable "approvers" {
  description = "Who may approve: a name of your own -> IAM member."
  type        = map(string)
  default     = {}

  validation {
    condition     = !var.approval_required || length(var.approvers) > 0
    error_message = "An approval needs somebody to give it: name at least one approver."
  }
}

variable "workload_identity" {
  description = "A pipeline outside Google Cloud that may deploy: issuer of its tokens and its repository; null for none."
  type = object({
    issuer     = string
    repository = string
  })
  default = null

  validation {
    condition     = var.workload_identity == null || can(regex("^https://", try(var.workload_identity.issuer, "")))
    error_message = "The issuer is an https address."
  }
}

variable "runtime_accounts" {
  description = "Accounts in whose name the deployer makes services run: a name of your own -> account id (projects/.../serviceAccounts/...)."
  type        = map(string)
  default     = {}
}
