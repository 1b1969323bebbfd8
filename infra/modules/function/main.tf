locals {
  # functions-framework serves from one process with threads. One of them must stay free for the health probe while a
  # long event takes another.
  threads = max(4, var.concurrency + 1)
  # Known before the service is: the address by the project's number, beside the one that Cloud Run makes up.
  url = "https://${var.name}-${var.project.number}.${var.region}.run.app"
}

resource "google_cloud_run_v2_service" "this" {
  #checkov:skip=CKV2_KB_3: off only where the function checks a signed token itself and is reached from inside; see the variable `checks_itself`
  project              = var.project.id
  name                 = var.name
  location             = var.region
  description          = var.description
  labels               = var.labels
  ingress              = var.ingress
  custom_audiences     = var.custom_audiences
  deletion_protection  = var.deletion_protection
  invoker_iam_disabled = var.checks_itself

  template {
    service_account                  = "${var.service_account}@${var.project.id}.iam.gserviceaccount.com"
    timeout                          = "${var.timeout_seconds}s"
    max_instance_request_concurrency = var.concurrency
    execution_environment            = "EXECUTION_ENVIRONMENT_GEN2"
    labels                           = var.labels

    scaling {
      min_instance_count = var.scaling.min
      max_instance_count = var.scaling.max
    }

    containers {
      image = var.image

      ports {
        container_port = 8080
      }

      resources {
        limits            = { cpu = var.limits.cpu, memory = var.limits.memory }
        cpu_idle          = var.limits.cpu_idle
        startup_cpu_boost = true
      }

      dynamic "env" {
        for_each = merge(var.environment, { THREADS = tostring(local.threads) })
        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "env" {
        for_each = var.secrets
        content {
          name = env.key
          value_source {
            secret_key_ref {
              secret  = env.value.id
              version = env.value.version
            }
          }
        }
      }

      # Ready means that the model is loaded and catalog and index answer; a revision that is not gets no traffic.
      startup_probe {
        period_seconds    = 2
        timeout_seconds   = 2
        failure_threshold = 60
        http_get {
          path = "/readyz"
        }
      }

      liveness_probe {
        period_seconds    = 30
        timeout_seconds   = 10
        failure_threshold = 3
        http_get {
          path = "/healthz"
        }
      }
    }

    dynamic "vpc_access" {
      for_each = var.network == null ? [] : [var.network]
      content {
        egress = vpc_access.value.egress
        network_interfaces {
          network    = vpc_access.value.network
          subnetwork = vpc_access.value.subnetwork
          tags       = vpc_access.value.tags
        }
      }
    }
  }

  # All traffic goes to the newest revision, unless one is named that keeps it: then the newest has none, and answers
  # only under the address of its tag.
  dynamic "traffic" {
    for_each = var.serving_revision == null ? [] : [var.serving_revision]
    content {
      type     = "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION"
      revision = traffic.value
      percent  = 100
    }
  }

  traffic {
    type    = "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"
    percent = var.serving_revision == null ? 100 : 0
    tag     = "candidate"
  }
}
