locals {
  vm   = var.vm == null ? {} : { this = var.vm }
  host = "qdrant.${var.domain}"
}

resource "google_compute_subnetwork" "this" {
  for_each = local.vm

  project                  = var.project_id
  name                     = "kb-qdrant"
  region                   = var.region
  network                  = var.network.id
  ip_cidr_range            = each.value.range
  private_ip_google_access = true
  stack_type               = "IPV4_ONLY"

  log_config {
    aggregation_interval = "INTERVAL_10_MIN"
    flow_sampling        = 0.1
    metadata             = "EXCLUDE_ALL_METADATA"
  }
}

resource "google_compute_address" "this" {
  for_each = local.vm

  project      = var.project_id
  name         = "kb-qdrant"
  region       = var.region
  subnetwork   = google_compute_subnetwork.this[each.key].id
  address_type = "INTERNAL"
  labels       = var.labels
}

# Data live on a disk of their own, so that the machine can be replaced at any time.
resource "google_compute_disk" "data" {
  #checkov:skip=CKV_GCP_37: Google's own keys: a key of ours would make its loss the loss of the data, for no reader that it keeps out
  for_each = local.vm

  project = var.project_id
  name    = "kb-qdrant-data"
  zone    = each.value.zone
  type    = "pd-ssd"
  size    = each.value.disk_gb
  labels  = var.labels

  lifecycle {
    prevent_destroy = true
  }
}

resource "google_compute_resource_policy" "snapshots" {
  for_each = local.vm

  project     = var.project_id
  name        = "kb-qdrant-snapshots"
  region      = var.region
  description = "A snapshot of the vectors each day"

  snapshot_schedule_policy {
    schedule {
      daily_schedule {
        days_in_cycle = 1
        start_time    = each.value.snapshot_time
      }
    }
    retention_policy {
      max_retention_days    = each.value.snapshot_days
      on_source_disk_delete = "KEEP_AUTO_SNAPSHOTS"
    }
    snapshot_properties {
      storage_locations = [var.region]
      labels            = var.labels
    }
  }
}

resource "google_compute_disk_resource_policy_attachment" "snapshots" {
  for_each = local.vm

  project = var.project_id
  name    = google_compute_resource_policy.snapshots[each.key].name
  disk    = google_compute_disk.data[each.key].name
  zone    = each.value.zone
}

resource "google_compute_instance" "this" {
  #checkov:skip=CKV_GCP_38: Google's own keys: a key of ours would make its loss the loss of the data, for no reader that it keeps out
  for_each = local.vm

  project                   = var.project_id
  name                      = "kb-qdrant"
  zone                      = each.value.zone
  machine_type              = each.value.machine_type
  description               = "Qdrant, reached by the functions alone"
  labels                    = var.labels
  deletion_protection       = var.deletion_protection
  allow_stopping_for_update = true

  boot_disk {
    initialize_params {
      image = each.value.boot_image
      size  = 20
      type  = "pd-balanced"
    }
  }

  attached_disk {
    source      = google_compute_disk.data[each.key].id
    device_name = "qdrant"
  }

  # No access_config: the machine has no address outside.
  network_interface {
    subnetwork = google_compute_subnetwork.this[each.key].id
    network_ip = google_compute_address.this[each.key].address
  }

  service_account {
    email  = google_service_account.this[each.key].email
    scopes = ["https://www.googleapis.com/auth/cloud-platform"]
  }

  shielded_instance_config {
    enable_secure_boot          = true
    enable_vtpm                 = true
    enable_integrity_monitoring = true
  }

  metadata = {
    user-data                 = templatefile("${path.module}/templates/cloud-init.yaml.tftpl", { image = each.value.image, secret_version = "${var.api_key.id}/versions/${var.api_key.version}" })
    block-project-ssh-keys    = "true"
    enable-oslogin            = "true"
    serial-port-enable        = "false"
    google-logging-enabled    = "true"
    google-monitoring-enabled = "true"
  }

  scheduling {
    automatic_restart   = true
    on_host_maintenance = "MIGRATE"
  }
}

resource "google_compute_firewall" "functions" {
  for_each = local.vm

  project                 = var.project_id
  name                    = "kb-qdrant-functions"
  network                 = var.network.id
  direction               = "INGRESS"
  description             = "The functions, and nobody else, reach Qdrant"
  source_ranges           = [var.network.functions_range]
  target_service_accounts = [google_service_account.this[each.key].email]

  allow {
    protocol = "tcp"
    ports    = ["6333", "6334"]
  }

  log_config {
    metadata = "EXCLUDE_ALL_METADATA"
  }
}

resource "google_dns_managed_zone" "this" {
  for_each = local.vm

  project     = var.project_id
  name        = "kb-internal"
  dns_name    = "${var.domain}."
  description = "Names inside the network of the knowledge base"
  visibility  = "private"
  labels      = var.labels

  private_visibility_config {
    networks {
      network_url = var.network.id
    }
  }
}

resource "google_dns_record_set" "this" {
  for_each = local.vm

  project      = var.project_id
  managed_zone = google_dns_managed_zone.this[each.key].name
  name         = "${local.host}."
  type         = "A"
  ttl          = 60
  rrdatas      = [google_compute_address.this[each.key].address]
}
