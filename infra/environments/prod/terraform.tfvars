# prod: never asleep, protected, watched, backed up. modules/platform/variables.tf refuses less.
environment = "prod"
project_id  = "acme-kb-prod"
region      = "europe-west1"

embedding_model = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"

qdrant = {
  url = "https://kb-prod.europe-west1-0.gcp.cloud.qdrant.io:6333"
}

functions = {
  ingest = { max = 20 }
  query  = { cpu = "2", memory = "2Gi", concurrency = 16, min = 2, max = 40, cpu_idle = false }
  manage = { min = 1, max = 10 }
}

settings = {
  kb_auth         = "jwt"
  kb_jwks_url     = "https://id.acme.example/.well-known/jwks.json"
  kb_jwt_audience = "https://kb.acme.example"
  kb_jwt_issuer   = "https://id.acme.example"
  kb_cache_max_mb = 256
}

secret_versions = {
  qdrant_api_key = "1"
}

bucket = {
  name             = "acme-kb-prod-documents"
  soft_delete_days = 30
  noncurrent_days  = 90
  cors_origins     = ["https://admin.acme.example"]
}

backups = {
  daily_retention_days  = 14
  weekly_retention_days = 84
}

alerts = {
  emails = ["kb-oncall@acme.example"]
  slo    = { availability = 0.999, fast_ms = 500 }
}

budget = {
  billing_account = "000000-000000-000000"
  monthly         = 600
}

delivery = {
  repository          = "projects/acme-kb-prod/locations/europe-west1/connections/github/repositories/fichario"
  state_bucket        = "acme-kb-prod-tfstate"
  source_registry_url = "europe-west1-docker.pkg.dev/acme-kb-staging/fichario"
  approvers           = { leads = "group:kb-leads@acme.example" }
}

# Which images run is the deployment's to say: it writes images.auto.tfvars.json, which overrides these. No image has
# this digest, so an apply without that file fails and changes no traffic. The first apply of all takes -var images={}.
images = {
  ingest  = "europe-west1-docker.pkg.dev/acme-kb-prod/fichario/ingest@sha256:0000000000000000000000000000000000000000000000000000000000000000"
  query   = "europe-west1-docker.pkg.dev/acme-kb-prod/fichario/query@sha256:0000000000000000000000000000000000000000000000000000000000000000"
  reindex = "europe-west1-docker.pkg.dev/acme-kb-prod/fichario/reindex@sha256:0000000000000000000000000000000000000000000000000000000000000000"
  manage  = "europe-west1-docker.pkg.dev/acme-kb-prod/fichario/manage@sha256:0000000000000000000000000000000000000000000000000000000000000000"
}
