# staging: as prod is, but smaller: what runs here is what prod runs next.
environment = "staging"
project_id  = "acme-kb-staging"
region      = "europe-west1"

embedding_model = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"

qdrant = {
  url = "https://kb-staging.europe-west1-0.gcp.cloud.qdrant.io:6333"
}

settings = {
  kb_auth         = "jwt"
  kb_jwks_url     = "https://id.staging.acme.example/.well-known/jwks.json"
  kb_jwt_audience = "https://kb.staging.acme.example"
  kb_jwt_issuer   = "https://id.staging.acme.example"
}

secret_versions = {
  qdrant_api_key = "1"
}

bucket = {
  name         = "acme-kb-staging-documents"
  cors_origins = ["https://admin.staging.acme.example"]
}

alerts = {
  emails = ["kb-staging@acme.example"]
}

registry_readers = {
  prod = "serviceAccount:kb-deployer@acme-kb-prod.iam.gserviceaccount.com"
}

delivery = {
  repository          = "projects/acme-kb-staging/locations/europe-west1/connections/github/repositories/fichario"
  state_bucket        = "acme-kb-staging-tfstate"
  source_registry_url = "europe-west1-docker.pkg.dev/acme-kb-dev/fichario"
  approvers           = { team = "group:kb-developers@acme.example" }
}

# Which images run is the deployment's to say: it writes images.auto.tfvars.json, which overrides these. No image has
# this digest, so an apply without that file fails and changes no traffic. The first apply of all takes -var images={}.
images = {
  ingest  = "europe-west1-docker.pkg.dev/acme-kb-staging/fichario/ingest@sha256:0000000000000000000000000000000000000000000000000000000000000000"
  query   = "europe-west1-docker.pkg.dev/acme-kb-staging/fichario/query@sha256:0000000000000000000000000000000000000000000000000000000000000000"
  reindex = "europe-west1-docker.pkg.dev/acme-kb-staging/fichario/reindex@sha256:0000000000000000000000000000000000000000000000000000000000000000"
  manage  = "europe-west1-docker.pkg.dev/acme-kb-staging/fichario/manage@sha256:0000000000000000000000000000000000000000000000000000000000000000"
}
