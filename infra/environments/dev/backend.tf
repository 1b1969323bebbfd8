terraform {
  backend "gcs" {
    bucket = "acme-kb-dev-tfstate"
    prefix = "fichario"
  }
}
