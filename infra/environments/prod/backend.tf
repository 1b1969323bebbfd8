terraform {
  backend "gcs" {
    bucket = "acme-kb-prod-tfstate"
    prefix = "fichario"
  }
}
