module "services" {
  source = "../services"

  project_id = var.project_id
}

locals {
  project = { id = module.services.project_id, number = module.services.project_number }
  labels  = merge(var.labels, { app = "fichario", environment = var.environment })
  # What a function is called everywhere: its service, its account, its image.
  names        = { for function in ["ingest", "query", "reindex", "manage"] : function => "kb-${function}" }
  maintain_url = "https://kb-maintain-${local.project.number}.${var.region}.run.app"
  url          = { for function, name in local.names : function => "https://${name}-${local.project.number}.${var.region}.run.app" }
}

module "network" {
  source = "../network"

  project_id      = local.project.id
  region          = var.region
  functions_range = var.functions_range
  labels          = local.labels
}

module "registry" {
  source = "../registry"

  project_id = local.project.id
  location   = var.region
  labels     = local.labels
  readers    = merge(var.registry_readers, { deployer = module.delivery.deployer_member })
  writers    = merge(module.delivery.builder_members, { deployer = module.delivery.deployer_member })
}

module "firestore" {
  source = "../firestore"

  project_id = local.project.id
  database   = merge(var.firestore, { location = coalesce(var.firestore.location, var.region) })
  backups    = var.backups
  users      = local.member
}

module "storage" {
  source = "../storage"

  project_id = var.project_id
  bucket     = merge(var.bucket, { location = coalesce(var.bucket.location, var.region) })
  topic_id   = module.messaging.topics["ingest"].id
  labels     = local.labels
  # Questions are answered from the index alone, and a reindex reads the stored passages: neither sees the bucket.
  members = { for function in ["ingest", "manage"] : function => { role = "roles/storage.objectUser", member = local.member[function] } }
}

module "messaging" {
  source = "../messaging"

  project_id   = local.project.id
  regions      = [var.region]
  pubsub_agent = module.services.pubsub_agent
  labels       = local.labels

  channels = {
    ingest  = { topic = "kb-events", push_endpoint = "${local.url.ingest}/", audience = local.url.ingest, ack_deadline_seconds = var.ack_deadline_seconds }
    reindex = { topic = "kb-reindex", push_endpoint = "${local.url.reindex}/", audience = local.url.reindex, ack_deadline_seconds = var.ack_deadline_seconds }
  }

  publishers = {
    # Continuations of a long document, what a repair hands on, and what an upload could not write into a new collection.
    ingest-events     = { channel = "ingest", member = local.member.ingest }
    manage-events     = { channel = "ingest", member = local.member.manage }
    ingest-reindex    = { channel = "reindex", member = local.member.ingest }
    manage-reindex    = { channel = "reindex", member = local.member.manage }
    reindex-reindex   = { channel = "reindex", member = local.member.reindex }
    scheduler-reindex = { channel = "reindex", member = module.scheduler.caller_member }
  }
}

module "qdrant" {
  source = "../qdrant"

  project_id          = local.project.id
  region              = var.region
  network             = module.network.network
  url                 = var.qdrant.url
  vm                  = var.qdrant.vm
  api_key             = local.qdrant_key
  deletion_protection = var.deletion_protection
  labels              = local.labels
}

module "function" {
  source   = "../function"
  for_each = { for function, name in local.names : function => name if contains(keys(var.images), function) }

  project          = local.project
  region           = var.region
  name             = each.value
  service_account  = google_service_account.function[each.key].account_id
  description      = "Fichario: ${each.key}"
  image            = var.images[each.key]
  environment      = local.environment[each.key]
  secrets          = local.secrets_of[each.key]
  limits           = { cpu = var.functions[each.key].cpu, memory = var.functions[each.key].memory, cpu_idle = var.functions[each.key].cpu_idle }
  concurrency      = var.functions[each.key].concurrency
  scaling          = { min = var.functions[each.key].min, max = var.functions[each.key].max }
  timeout_seconds  = var.functions[each.key].timeout_seconds
  ingress          = contains(local.called, each.key) ? var.ingress : "INGRESS_TRAFFIC_INTERNAL_ONLY"
  public           = contains(local.called, each.key) && var.settings.kb_auth == "jwt"
  invokers         = local.invokers[each.key]
  custom_audiences = contains(local.called, each.key) ? compact([var.settings.kb_iam_audience]) : []
  network          = module.network.egress

  serving_revision    = lookup(var.serving_revisions, each.key, null)
  deletion_protection = var.deletion_protection
  labels              = merge(local.labels, { function = each.key })
}

# The manage function once more, for schedules alone: the same image and account, reached from inside only. Cloud Scheduler
# has one place for its token, where Cloud Run would take the signature off, and a caller's issuer (kb_auth = jwt) would
# not know it; so here Google's token is checked by the function, and grants one caller everything.
module "maintain" {
  source   = "../function"
  for_each = { for function, image in var.images : function => image if function == "manage" }

  project         = local.project
  region          = var.region
  name            = "kb-maintain"
  service_account = google_service_account.function[each.key].account_id
  description     = "Fichario: manage, called on a schedule"
  image           = each.value
  environment = merge(local.shared, local.given, {
    KB_AUTH         = "iam"
    KB_IAM_AUDIENCE = local.maintain_url
    KB_IAM_BASES    = jsonencode({ (module.scheduler.caller_email) = { bases = ["*"], scope = "admin" } })
  })
  secrets             = { for name, secret in local.secrets_of.manage : name => secret if name != "KB_JWT_SECRET" }
  limits              = { cpu = var.functions.manage.cpu, memory = var.functions.manage.memory }
  concurrency         = 1
  scaling             = { min = 0, max = 1 }
  timeout_seconds     = var.functions.manage.timeout_seconds
  checks_itself       = true
  network             = module.network.egress
  serving_revision    = lookup(var.serving_revisions, "maintain", null)
  deletion_protection = var.deletion_protection
  labels              = merge(local.labels, { function = "maintain" })
}

module "scheduler" {
  source = "../scheduler"

  project_id = local.project.id
  region     = var.region
  time_zone  = var.time_zone

  calls = {
    # Hands on what a lease that ran out left behind, too.
    reconcile = {
      description      = "Compares bucket, catalog and index of every base, and mends what differs"
      schedule         = var.schedules.reconcile
      uri              = "${local.maintain_url}/v1/reconcile"
      audience         = local.maintain_url
      body             = { repair = true }
      deadline_seconds = min(1800, var.functions.manage.timeout_seconds)
    }
  }

  messages = {
    retire = {
      description = "Frees the collections that were replaced and whose time of grace is over"
      schedule    = var.schedules.retire
      topic_id    = module.messaging.topics["reindex"].id
      body        = { command = "retire" }
      attributes  = { command = "retire" }
    }
  }
}

module "observability" {
  source = "../observability"

  project_id     = local.project.id
  project_number = local.project.number
  services       = merge(local.names, { maintain = "kb-maintain" })
  subscriptions  = module.messaging.subscriptions
  alerts_enabled = var.alerts.enabled
  emails         = var.alerts.emails
  thresholds     = var.alerts.thresholds
  slo            = var.alerts.slo
  viewers        = var.viewers
  budget         = var.budget
  labels         = local.labels
}

module "delivery" {
  source = "../delivery"

  project_id          = local.project.id
  region              = var.region
  environment         = var.environment
  repository          = var.delivery.repository
  branch              = var.delivery.branch
  builds              = var.delivery.builds
  models              = distinct(concat([var.embedding_model], var.delivery.more_models))
  registry_url        = "${var.region}-docker.pkg.dev/${var.project_id}/fichario"
  source_registry_url = var.delivery.source_registry_url
  state_bucket        = var.delivery.state_bucket
  approval_required   = var.delivery.approval_required
  approvers           = var.delivery.approvers
  workload_identity   = var.delivery.workload_identity
  runtime_accounts = merge(
    { for function, account in google_service_account.function : function => account.id },
    { for channel, account in module.messaging.push_accounts : "push-${channel}" => account },
    { scheduler = module.scheduler.caller_account },
  )
}
