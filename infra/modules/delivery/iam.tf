locals {
  # What the deployer manages; none of these reads a document, a secret's value or an object's content.
  deployer_roles = toset([
    "roles/artifactregistry.admin",
    "roles/cloudbuild.builds.editor",
    "roles/cloudscheduler.admin",
    "roles/compute.instanceAdmin.v1",
    "roles/compute.networkAdmin",
    "roles/compute.securityAdmin",
    "roles/dns.admin",
    "roles/iam.securityReviewer",
    "roles/iam.serviceAccountAdmin",
    "roles/logging.configWriter",
    "roles/logging.logWriter",
    "roles/monitoring.editor",
    "roles/pubsub.admin",
    "roles/run.admin",
    "roles/serviceusage.serviceUsageAdmin",
  ])

  # The predefined administrators of these three also read the data: a role of our own does not.
  steward_permissions = [
    "datastore.backupSchedules.create",
    "datastore.backupSchedules.delete",
    "datastore.backupSchedules.get",
    "datastore.backupSchedules.list",
    "datastore.backupSchedules.update",
    "datastore.databases.create",
    "datastore.databases.get",
    "datastore.databases.getMetadata",
    "datastore.databases.list",
    "datastore.databases.update",
    "datastore.indexes.create",
    "datastore.indexes.delete",
    "datastore.indexes.get",
    "datastore.indexes.list",
    "datastore.indexes.update",
    "datastore.operations.get",
    "datastore.operations.list",
    "secretmanager.secrets.create",
    "secretmanager.secrets.get",
    "secretmanager.secrets.getIamPolicy",
    "secretmanager.secrets.list",
    "secretmanager.secrets.setIamPolicy",
    "secretmanager.secrets.update",
    "secretmanager.versions.get",
    "secretmanager.versions.list",
    "storage.buckets.create",
    "storage.buckets.get",
    "storage.buckets.getIamPolicy",
    "storage.buckets.list",
    "storage.buckets.setIamPolicy",
    "storage.buckets.update",
  ]

  # The only roles that it may hand out on the whole project; see modules/firestore and modules/qdrant.
  grantable = ["roles/datastore.user", "roles/logging.logWriter", "roles/monitoring.metricWriter"]
}

resource "google_service_account" "deployer" {
  project      = var.project_id
  account_id   = "kb-deployer"
  display_name = "Deploys ${var.environment}"
}

resource "google_service_account" "builder" {
  count = var.builds ? 1 : 0

  project      = var.project_id
  account_id   = "kb-builder"
  display_name = "Builds and pushes images"
}

# Runs code that nobody has approved yet: it may write logs, and nothing else.
resource "google_service_account" "tester" {
  count = var.builds ? 1 : 0

  project      = var.project_id
  account_id   = "kb-tester"
  display_name = "Tests proposed changes"
}

resource "google_project_iam_custom_role" "steward" {
  project     = var.project_id
  role_id     = "kbSteward"
  title       = "Fichario steward"
  description = "Manages buckets, secrets and databases without reading what is in them"
  permissions = local.steward_permissions
}

resource "google_project_iam_member" "deployer" {
  #checkov:skip=CKV_GCP_49: makes the accounts and triggers of this project; its runs need approval, and it grants project roles only as deployer_grants says
  for_each = local.deployer_roles

  project = var.project_id
  role    = each.value
  member  = google_service_account.deployer.member
}

resource "google_project_iam_member" "deployer_steward" {
  project = var.project_id
  role    = google_project_iam_custom_role.steward.id
  member  = google_service_account.deployer.member
}

resource "google_project_iam_member" "deployer_grants" {
  project = var.project_id
  role    = "roles/resourcemanager.projectIamAdmin"
  member  = google_service_account.deployer.member

  condition {
    title      = "only-what-functions-need"
    expression = "api.getAttribute('iam.googleapis.com/modifiedGrantsByRole', []).hasOnly([${join(", ", [for role in local.grantable : "'${role}'"])}])"
  }
}

resource "google_storage_bucket_iam_member" "deployer_state" {
  bucket = var.state_bucket
  role   = "roles/storage.objectUser"
  member = google_service_account.deployer.member
}

resource "google_service_account_iam_member" "deployer_runs_as" {
  for_each = var.runtime_accounts

  service_account_id = each.value
  role               = "roles/iam.serviceAccountUser"
  member             = google_service_account.deployer.member
}

resource "google_project_iam_member" "logs" {
  for_each = var.builds ? { builder = google_service_account.builder[0].member, tester = google_service_account.tester[0].member } : {}

  project = var.project_id
  role    = "roles/logging.logWriter"
  member  = each.value
}

# The release starts the deployment of the environment that builds, and this role exists on a project only.
resource "google_project_iam_member" "builder_starts_deployment" {
  #checkov:skip=CKV_GCP_49: starting a trigger is a right on the project only; what the build then may do is its own account's
  count = var.builds ? 1 : 0

  project = var.project_id
  role    = "roles/cloudbuild.builds.editor"
  member  = google_service_account.builder[0].member
}

resource "google_service_account_iam_member" "builder_uses_deployer" {
  count = var.builds ? 1 : 0

  service_account_id = google_service_account.deployer.name
  role               = "roles/iam.serviceAccountUser"
  member             = google_service_account.builder[0].member
}

resource "google_project_iam_member" "approvers" {
  for_each = var.approvers

  project = var.project_id
  role    = "roles/cloudbuild.builds.approver"
  member  = each.value
}

resource "google_service_account_iam_member" "pipeline" {
  count = var.workload_identity == null ? 0 : 1

  service_account_id = google_service_account.deployer.name
  role               = "roles/iam.workloadIdentityUser"
  member             = "principalSet://iam.googleapis.com/${google_iam_workload_identity_pool.this[0].name}/attribute.repository/${var.workload_identity.repository}"
}
