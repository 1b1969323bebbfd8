# What each function is told. Names are those of common/settings.py; tests/infra holds both together.
locals {
  # Called by people and programs, who are checked; the others are pushed to, and know their sender by the invoker role.
  called = ["query", "manage"]

  # Each value here is known only after the grant that it needs: a service that starts finds every door open.
  # The same for every function: whoever embeds, and whoever asks, must mean one vector space and one index.
  shared = {
    KB_MODE               = "cloud"
    KB_BUCKET             = module.storage.name
    KB_EMBEDDING_MODEL    = var.embedding_model
    QDRANT_URL            = module.qdrant.url
    GOOGLE_CLOUD_PROJECT  = var.project_id
    KB_FIRESTORE_DATABASE = module.firestore.name
    KB_TOPIC_EVENTS       = module.messaging.topics["ingest"].name
    KB_TOPIC_REINDEX      = module.messaging.topics["reindex"].name
  }

  # Settings as given, without those left to the code's own default; who may ask concerns only who is called.
  given = { for name, value in var.settings : upper(name) => tostring(value) if value != null && !startswith(name, "kb_auth") && !startswith(name, "kb_jw") && !startswith(name, "kb_iam") }
  access = merge(
    { for name in ["kb_auth", "kb_jwks_url", "kb_jwt_audience", "kb_jwt_issuer", "kb_iam_audience"] : upper(name) => var.settings[name] if var.settings[name] != null },
    var.settings.kb_auth == "iam" ? { KB_IAM_BASES = jsonencode(var.settings.kb_iam_bases) } : {},
  )
  environment = {
    for function in keys(local.names) : function => merge(
      local.shared,
      { for name in keys(local.given) : name => local.given[name] },
      contains(local.called, function) ? local.access : {},
    )
  }

  invokers = {
    ingest  = { push = module.messaging.push_members["ingest"] }
    reindex = { push = module.messaging.push_members["reindex"] }
    # The deployment asks a candidate whether it asks for a token.
    query  = var.settings.kb_auth == "jwt" ? {} : merge(var.callers, { deployer = module.delivery.deployer_member })
    manage = var.settings.kb_auth == "jwt" ? {} : merge(var.callers, { deployer = module.delivery.deployer_member })
  }

  # Setting that is secret -> the functions that use it.
  secret_users = {
    qdrant_api_key        = keys(local.names)
    kb_jwt_secret         = local.called
    kb_rerank_api_key     = ["query"]
    kb_embed_api_key      = keys(local.names)
    kb_writeback_password = ["ingest", "manage", "reindex"]
    redis_url             = ["query"]
  }
  secret_id  = { for setting in keys(local.secret_users) : setting => replace(setting, "_", "-") }
  qdrant_key = { id = module.secrets.ids[local.secret_id["qdrant_api_key"]], version = var.secret_versions["qdrant_api_key"] }
  secrets_of = {
    for function in keys(local.names) : function => {
      for setting, version in var.secret_versions :
      upper(setting) => { id = module.secrets.ids[local.secret_id[setting]], version = version }
      if contains(local.secret_users[setting], function)
    }
  }
}

module "secrets" {
  source = "../secrets"

  project_id          = local.project.id
  locations           = [var.region]
  deletion_protection = var.deletion_protection
  labels              = local.labels
  written             = { for setting, number in var.secret_writes : local.secret_id[setting] => number }
  values              = { for setting in keys(var.secret_writes) : local.secret_id[setting] => var.secret_values[setting] }

  secrets = {
    for setting in keys(var.secret_versions) : local.secret_id[setting] => merge(
      { for function in local.secret_users[setting] : function => local.member[function] },
      setting == "qdrant_api_key" ? module.qdrant.members : {},
    )
  }
}
