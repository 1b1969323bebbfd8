# The same file in modules/platform and in every environment (tests/infra holds them equal): what one may say, each may.

variable "project_id" {
  description = "Project of the environment; one project, one environment."
  type        = string
}

variable "region" {
  description = "Region of everything that has one."
  type        = string
}

variable "environment" {
  description = "dev, staging or prod."
  type        = string

  validation {
    condition     = contains(["dev", "staging", "prod"], var.environment)
    error_message = "environment is dev, staging or prod."
  }
}

variable "labels" {
  description = "Labels of everything that has some, beside app and environment."
  type        = map(string)
  default     = {}
}

variable "embedding_model" {
  description = "Embedding model of new bases (KB_EMBEDDING_MODEL): one variable for all four functions."
  type        = string
}

variable "qdrant" {
  description = "Qdrant (QDRANT_URL): a cluster by its https address, or a machine of our own. See modules/qdrant."
  type = object({
    url = optional(string)
    vm = optional(object({
      zone          = string
      image         = string
      machine_type  = optional(string, "e2-standard-2")
      boot_image    = optional(string, "projects/cos-cloud/global/images/family/cos-stable")
      disk_gb       = optional(number, 50)
      range         = optional(string, "10.40.1.0/28")
      snapshot_time = optional(string, "03:00")
      snapshot_days = optional(number, 14)
    }))
  })

  validation {
    condition     = (var.qdrant.url == null) != (var.qdrant.vm == null)
    error_message = "Exactly one of qdrant.url and qdrant.vm is given."
  }
  validation {
    condition     = var.environment != "prod" || var.qdrant.vm == null || try(var.qdrant.vm.snapshot_days >= 7, false)
    error_message = "prod keeps snapshots of Qdrant for at least 7 days."
  }
}

variable "images" {
  description = "Function -> its image by digest. A function without one is not made: so begins the first apply."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for function in keys(var.images) : contains(["ingest", "query", "reindex", "manage"], function)])
    error_message = "There are four functions: ingest, query, reindex and manage."
  }
  validation {
    condition     = alltrue([for image in values(var.images) : can(regex("^[^@]+@sha256:[0-9a-f]{64}$", image))])
    error_message = "An image is named by its digest (...@sha256:...): a tag may mean something else tomorrow."
  }
}

variable "serving_revisions" {
  description = "Function -> revision that keeps all traffic while a newer one is tried; the deployment sets it."
  type        = map(string)
  default     = {}
}

variable "functions" {
  description = "Size of each function. Ingest and reindex work on one thing at a time, and are long at it."
  type = object({
    ingest = optional(object({
      cpu             = optional(string, "2")
      memory          = optional(string, "4Gi")
      cpu_idle        = optional(bool, true)
      concurrency     = optional(number, 1)
      min             = optional(number, 0)
      max             = optional(number, 10)
      timeout_seconds = optional(number, 540)
    }), {})
    query = optional(object({
      cpu             = optional(string, "1")
      memory          = optional(string, "1Gi")
      cpu_idle        = optional(bool, true)
      concurrency     = optional(number, 8)
      min             = optional(number, 0)
      max             = optional(number, 10)
      timeout_seconds = optional(number, 60)
    }), {})
    reindex = optional(object({
      cpu             = optional(string, "2")
      memory          = optional(string, "2Gi")
      cpu_idle        = optional(bool, true)
      concurrency     = optional(number, 1)
      min             = optional(number, 0)
      max             = optional(number, 4)
      timeout_seconds = optional(number, 540)
    }), {})
    manage = optional(object({
      cpu             = optional(string, "1")
      memory          = optional(string, "2Gi")
      cpu_idle        = optional(bool, true)
      concurrency     = optional(number, 8)
      min             = optional(number, 0)
      max             = optional(number, 4)
      timeout_seconds = optional(number, 1800)
    }), {})
  })
  default = {}

  validation {
    condition     = alltrue([for f in [var.functions.ingest, var.functions.reindex] : var.settings.kb_slice_seconds < f.timeout_seconds && f.timeout_seconds < var.ack_deadline_seconds])
    error_message = "A slice must end before its request is given up, and that before Pub/Sub delivers it again: kb_slice_seconds < timeout_seconds < ack_deadline_seconds, for ingest and reindex."
  }
  validation {
    condition     = var.functions.ingest.concurrency == 1 && var.functions.reindex.concurrency == 1
    error_message = "One instance of ingest or reindex works on one thing: its memory and its lease are for one."
  }
  validation {
    condition     = var.environment != "prod" || var.functions.query.min >= 1
    error_message = "prod keeps at least one instance of query warm: functions.query.min is 1 or more."
  }
}

variable "ack_deadline_seconds" {
  description = "How long a push may take before Pub/Sub delivers the message again; 600 is the most."
  type        = number
  default     = 600

  validation {
    condition     = var.ack_deadline_seconds >= 10 && var.ack_deadline_seconds <= 600
    error_message = "ack_deadline_seconds is from 10 to 600."
  }
}

variable "settings" {
  description = "Settings of the functions, each under its own name in small letters (README, Settings). What is left out keeps the code's default. Addresses, topics and the model are set from what is deployed, secrets by `secret_versions`."
  type = object({
    kb_collection_template  = optional(string)
    kb_similarity_threshold = optional(string)
    kb_top_k                = optional(number)
    kb_cache_ttl            = optional(number)
    kb_deadline_seconds     = optional(number)
    kb_epoch_ttl            = optional(number)
    kb_epoch_shards         = optional(number)
    kb_cache_max_mb         = optional(number)
    kb_normalize            = optional(string)
    kb_fusion               = optional(string)
    kb_chunk_tokens         = optional(string)
    kb_chunk_overlap        = optional(number)
    kb_max_file_mb          = optional(number)
    kb_max_base_mb          = optional(number)
    kb_max_documents        = optional(number)
    kb_ocr                  = optional(string)
    kb_slice_seconds        = optional(number, 480)
    kb_max_attempts         = optional(number)
    kb_auth                 = string
    kb_jwks_url             = optional(string)
    kb_jwt_audience         = optional(string)
    kb_jwt_issuer           = optional(string)
    kb_iam_audience         = optional(string)
    kb_iam_bases = optional(map(object({
      bases = list(string)
      scope = optional(string, "read")
    })), {})
    kb_rerank              = optional(string)
    kb_rerank_url          = optional(string)
    kb_rerank_model        = optional(string)
    kb_price_embedding     = optional(number)
    kb_price_rerank_input  = optional(number)
    kb_price_rerank_output = optional(number)
    kb_context_characters  = optional(number)
    kb_context_label       = optional(string)
    kb_truncation_mark     = optional(string)
    kb_token_counter       = optional(string)
    kb_redact              = optional(string)
    kb_keep_questions      = optional(string)
    kb_embed_provider      = optional(string)
    kb_embed_url           = optional(string)
    kb_writeback_url       = optional(string)
    kb_writeback_enabled   = optional(bool)
    kb_writeback_token_url = optional(string)
    kb_writeback_email     = optional(string)
    enable_knowledge_base  = optional(bool)
    kb_reindex_tolerance   = optional(number)
    kb_reindex_grace_hours = optional(number)
    kb_log_level           = optional(string)
  })

  validation {
    condition     = contains(["jwt", "iam"], var.settings.kb_auth)
    error_message = "kb_auth is jwt or iam: without authentication a function answers only loopback names."
  }
  validation {
    condition     = var.settings.kb_auth != "jwt" || (var.settings.kb_jwks_url != null) != contains(keys(var.secret_versions), "kb_jwt_secret")
    error_message = "kb_auth = jwt takes exactly one of kb_jwks_url and the secret kb_jwt_secret."
  }
  validation {
    condition     = var.settings.kb_auth != "jwt" || var.environment != "prod" || (var.settings.kb_jwt_audience != null && var.settings.kb_jwt_issuer != null)
    error_message = "In prod a token is for us and from one issuer: kb_jwt_audience and kb_jwt_issuer."
  }
  validation {
    condition     = var.settings.kb_auth != "iam" || (var.settings.kb_iam_audience != null && length(var.settings.kb_iam_bases) > 0)
    error_message = "kb_auth = iam needs kb_iam_audience and kb_iam_bases."
  }
  validation {
    condition     = !startswith(coalesce(var.settings.kb_token_counter, "estimate"), "tiktoken:")
    error_message = "No image holds tiktoken: kb_token_counter is estimate, or a tokenizer.json of a model folder (/models/...)."
  }
  validation {
    condition     = !coalesce(var.settings.kb_writeback_enabled, false) || contains(keys(var.secret_versions), "kb_writeback_password")
    error_message = "kb_writeback_enabled needs the secret kb_writeback_password."
  }
}

variable "secret_versions" {
  description = "Setting that is secret -> version of its secret (its name with hyphens) that the functions use. Raise it to rotate."
  type        = map(string)

  validation {
    condition     = contains(keys(var.secret_versions), "qdrant_api_key")
    error_message = "Qdrant is never open: qdrant_api_key has a version."
  }
  validation {
    condition = alltrue([
      for setting in keys(var.secret_versions) :
      contains(["qdrant_api_key", "kb_jwt_secret", "kb_rerank_api_key", "kb_embed_api_key", "kb_writeback_password", "redis_url"], setting)
    ])
    error_message = "A secret setting is one of qdrant_api_key, kb_jwt_secret, kb_rerank_api_key, kb_embed_api_key, kb_writeback_password and redis_url."
  }
  validation {
    condition     = alltrue([for version in values(var.secret_versions) : can(regex("^[1-9][0-9]*$", version))])
    error_message = "A version is a number, never `latest`: all instances of a revision then hold the same."
  }
}

variable "secret_writes" {
  description = "Secret settings whose value Terraform itself writes, as write-only -> a number that is raised to write it again. Most are written by `gcloud secrets versions add` instead."
  type        = map(string)
  default     = {}
}

variable "secret_values" {
  description = "Values of `secret_writes`, from TF_VAR_secret_values; kept in memory only, in no plan and no state."
  type        = map(string)
  default     = {}
  ephemeral   = true
  sensitive   = true
}

variable "bucket" {
  description = "The bucket of documents. See modules/storage."
  type = object({
    name             = string
    location         = optional(string)
    versioning       = optional(bool, true)
    soft_delete_days = optional(number, 7)
    noncurrent_days  = optional(number, 30)
    cors_origins     = optional(list(string), [])
  })

  validation {
    condition     = var.environment != "prod" || (var.bucket.versioning && var.bucket.soft_delete_days >= 7)
    error_message = "prod keeps what was overwritten or deleted: bucket.versioning, and soft_delete_days of 7 or more."
  }
}

variable "firestore" {
  description = "The catalog's database. See modules/firestore."
  type = object({
    name                   = optional(string, "fichario")
    location               = optional(string)
    delete_protection      = optional(bool, true)
    point_in_time_recovery = optional(bool, true)
  })
  default = {}

  validation {
    condition     = var.environment != "prod" || (var.firestore.delete_protection && var.firestore.point_in_time_recovery)
    error_message = "prod protects its catalog: firestore.delete_protection and point_in_time_recovery."
  }
}

variable "backups" {
  description = "How many days daily and weekly backups of the catalog are kept; 0 makes none."
  type = object({
    daily_retention_days  = optional(number, 7)
    weekly_retention_days = optional(number, 0)
  })
  default = {}

  validation {
    condition     = var.environment != "prod" || (var.backups.daily_retention_days >= 7 && var.backups.weekly_retention_days >= 28)
    error_message = "prod keeps daily backups for at least 7 days and weekly ones for at least 28."
  }
}

variable "deletion_protection" {
  description = "Whether Terraform refuses to delete services, secrets and Qdrant's machine."
  type        = bool
  default     = true

  validation {
    condition     = var.environment != "prod" || var.deletion_protection
    error_message = "prod is protected against deletion."
  }
}

variable "ingress" {
  description = "From where query and manage are reached: anywhere (and then checked), or by a load balancer only."
  type        = string
  default     = "INGRESS_TRAFFIC_ALL"

  validation {
    condition     = contains(["INGRESS_TRAFFIC_ALL", "INGRESS_TRAFFIC_INTERNAL_ONLY", "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER"], var.ingress)
    error_message = "ingress is one of Cloud Run's three."
  }
}

variable "callers" {
  description = "Who may call query and manage under kb_auth = iam: a name of your own -> IAM member. Under jwt the functions check tokens, and the services are open to whoever brings one."
  type        = map(string)
  default     = {}
}

variable "viewers" {
  description = "Who may look at metrics and logs: a name of your own -> IAM member."
  type        = map(string)
  default     = {}
}

variable "registry_readers" {
  description = "Who else may pull images, such as the deployer of the next environment: a name of your own -> IAM member."
  type        = map(string)
  default     = {}
}

variable "functions_range" {
  description = "Addresses of the functions in the network."
  type        = string
  default     = "10.40.0.0/24"
}

variable "time_zone" {
  description = "Time zone of the schedules."
  type        = string
  default     = "Etc/UTC"
}

variable "schedules" {
  description = "When drift is mended and leases that ran out are handed on, and when replaced collections are freed."
  type = object({
    reconcile = optional(string, "*/30 * * * *")
    retire    = optional(string, "15 4 * * *")
  })
  default = {}
}

variable "alerts" {
  description = "Who is told of what. See modules/observability."
  type = object({
    enabled = optional(bool, true)
    emails  = optional(set(string), [])
    thresholds = optional(object({
      oldest_unacked_seconds = optional(number, 1800)
      failed_jobs_per_hour   = optional(number, 10)
      error_share            = optional(number, 0.01)
      p95_ms                 = optional(number, 1500)
    }), {})
    slo = optional(object({
      availability = optional(number, 0.995)
      fast_share   = optional(number, 0.95)
      fast_ms      = optional(number, 1000)
    }), {})
  })

  validation {
    condition     = var.environment != "prod" || (var.alerts.enabled && length(var.alerts.emails) > 0)
    error_message = "In prod somebody is told when something is wrong: alerts.enabled, and at least one of alerts.emails."
  }
}

variable "budget" {
  description = "What a month may cost before somebody is told; null for no budget."
  type = object({
    billing_account = string
    monthly         = number
    currency        = optional(string, "EUR")
  })
  default = null
}

variable "delivery" {
  description = "How this environment is built and deployed. See modules/delivery."
  type = object({
    repository          = string
    state_bucket        = string
    branch              = optional(string, "main")
    builds              = optional(bool, false)
    source_registry_url = optional(string)
    approval_required   = optional(bool, true)
    approvers           = optional(map(string), {})
    more_models         = optional(list(string), [])
    workload_identity   = optional(object({ issuer = string, repository = string }))
  })

  validation {
    condition     = var.delivery.builds != (var.delivery.source_registry_url != null)
    error_message = "An environment builds its images, or takes them from another's registry (source_registry_url)."
  }
  validation {
    condition     = var.environment == "dev" || !var.delivery.builds
    error_message = "Images are built once, in dev, and promoted by digest."
  }
}
