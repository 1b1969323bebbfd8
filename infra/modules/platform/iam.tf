# One account per function. They stand here and not beside their service, which starts only when each door that it needs
# is open to its account.
resource "google_service_account" "function" {
  for_each = local.names

  project      = local.project.id
  account_id   = each.value
  display_name = "Function ${each.key}"
}

locals {
  # As text, so that a plan shows who is granted what.
  member = {
    for function, account in google_service_account.function :
    function => "serviceAccount:${account.account_id}@${var.project_id}.iam.gserviceaccount.com"
  }
}

# Everything is granted where it stands: on the bucket, the topic, the secret, the service. What is granted on the whole
# project has no smaller place: Firestore (by a condition on the database), and writing logs and metrics from a machine.
# A function's logs need no role: Cloud Run writes them.

# IAM's signBlob signs an upload address on behalf of an account, and asks for this even of the account itself.
resource "google_service_account_iam_member" "signs_uploads" {
  service_account_id = google_service_account.function["manage"].name
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = local.member["manage"]
}
