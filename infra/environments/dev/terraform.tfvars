# dev: small, sleeps when nobody asks, Qdrant on a machine of its own, deployed with every commit. Images are built here.
environment = "dev"
project_id  = "acme-kb-dev"
region      = "europe-west1"

embedding_model = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"

qdrant = {
  vm = {
    zone = "europe-west1-b"
    # To be replaced by the digest of the release of Qdrant that you want to run.
    image        = "docker.io/qdrant/qdrant@sha256:0000000000000000000000000000000000000000000000000000000000000000"
    machine_type = "e2-medium"
    disk_gb      = 20
  }
}

settings = {
  kb_auth         = "iam"
  kb_iam_audience = "https://kb.dev.acme.example"
  kb_iam_bases = {
    "developers-runtime@acme-kb-dev.iam.gserviceaccount.com" = { bases = ["demo"], scope = "write" }
  }
  kb_log_level = "DEBUG"
}

callers = {
  runtime = "serviceAccount:developers-runtime@acme-kb-dev.iam.gserviceaccount.com"
}

secret_versions = {
  qdrant_api_key = "1"
}

bucket = {
  name = "acme-kb-dev-documents"
}

backups = {
  daily_retention_days = 7
}

deletion_protection = false

alerts = {
  emails = ["kb-dev@acme.example"]
}

registry_readers = {
  staging = "serviceAccount:kb-deployer@acme-kb-staging.iam.gserviceaccount.com"
}

delivery = {
  repository        = "projects/acme-kb-dev/locations/europe-west1/connections/github/repositories/fichario"
  state_bucket      = "acme-kb-dev-tfstate"
  builds            = true
  approval_required = false
}

# Which images run is the deployment's to say: it writes images.auto.tfvars.json, which overrides these. No image has
# this digest, so an apply without that file fails and changes no traffic. The first apply of all takes -var images={}.
images = {
  ingest  = "europe-west1-docker.pkg.dev/acme-kb-dev/fichario/ingest@sha256:0000000000000000000000000000000000000000000000000000000000000000"
  query   = "europe-west1-docker.pkg.dev/acme-kb-dev/fichario/query@sha256:0000000000000000000000000000000000000000000000000000000000000000"
  reindex = "europe-west1-docker.pkg.dev/acme-kb-dev/fichario/reindex@sha256:0000000000000000000000000000000000000000000000000000000000000000"
  manage  = "europe-west1-docker.pkg.dev/acme-kb-dev/fichario/manage@sha256:0000000000000000000000000000000000000000000000000000000000000000"
}
