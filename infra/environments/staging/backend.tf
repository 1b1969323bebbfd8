terraform {
  backend "gcs" {
    bucket = "acme-kb-staging-tfstate"
    prefix = "fichario"
  }
}
