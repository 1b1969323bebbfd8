"""What is planned for the three environments is connected, closed and as small as it can be. Each rule is also shown a
plan that breaks it. When one fails, an apply would lose events, open a door, or mix two vector spaces.
"""

import copy
import json

import pytest

from common.adapters.firestore.layout import INDEXES, UNINDEXED
from common.settings import SECRETS, read_settings
from tests.infra import planned
from tests.infra.conftest import ENVIRONMENTS

HIDDEN = {name.upper() for name in SECRETS}
RULES = {
    "notifications": planned.notification_problems,
    "pushes": planned.push_problems,
    "public": planned.public_problems,
    "roles": planned.role_problems,
    "images": planned.image_problems,
    "space": planned.space_problems,
    "secrets": lambda plan: planned.secret_problems(plan, HIDDEN),
    "time": planned.time_problems,
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("rule", RULES)
def test_an_environment_keeps_the_rule(plans, name, rule):
    assert RULES[rule](plans[name]) == []


def raw(plan, kind, **wanted):
    """The values of the first planned resource of this type, to be changed."""
    pending = [plan["planned_values"]["root_module"]]
    while pending:
        module = pending.pop()
        for found in module.get("resources", []):
            if found["type"] == kind and wanted.items() <= found["values"].items():
                return found["values"]
        pending += module.get("child_modules", [])
    raise AssertionError(f"no {kind} with {wanted}")


def told(service, name):
    return next(row for row in service["template"][0]["containers"][0]["env"] if row["name"] == name)


def lose_an_event(plan):
    raw(plan, "google_storage_notification")["event_types"].remove("OBJECT_ARCHIVE")


def tell_another_topic(plan):
    raw(plan, "google_storage_notification")["topic"] = "projects/p/topics/other"


def push_elsewhere(plan):
    push = raw(plan, "google_pubsub_subscription", name="kb-events-ingest")
    push["push_config"][0]["push_endpoint"] = "https://kb-reindex-123456789012.europe-west1.run.app/"


def keep_no_dead_letters(plan):
    raw(plan, "google_pubsub_subscription", name="kb-reindex-dead")["topic"] = "projects/p/topics/other"


def have_no_dead_letters(plan):
    raw(plan, "google_pubsub_subscription", name="kb-events-ingest")["dead_letter_policy"] = []


def push_as_nobody(plan):
    raw(plan, "google_pubsub_subscription", name="kb-events-ingest")["push_config"][0]["oidc_token"] = []


def push_for_another(plan):
    push = raw(plan, "google_pubsub_subscription", name="kb-events-ingest")
    push["push_config"][0]["oidc_token"][0]["audience"] = "https://kb-query-1.run.app"


def let_another_call(plan):
    raw(plan, "google_cloud_run_v2_service_iam_member", name="kb-ingest")["member"] = "user:somebody@acme.example"


def open_ingest(plan):
    raw(plan, "google_cloud_run_v2_service_iam_member", name="kb-ingest")["member"] = "allUsers"


def reach_ingest(plan):
    raw(plan, "google_cloud_run_v2_service", name="kb-ingest")["ingress"] = "INGRESS_TRAFFIC_ALL"


def open_query_without_tokens(plan):
    told(raw(plan, "google_cloud_run_v2_service", name="kb-query"), "KB_AUTH")["value"] = "iam"


def open_what_schedules_call(plan):
    raw(plan, "google_cloud_run_v2_service", name="kb-maintain")["ingress"] = "INGRESS_TRAFFIC_ALL"


def check_nobody(plan):
    raw(plan, "google_cloud_run_v2_service", name="kb-manage")["invoker_iam_disabled"] = True
    told(raw(plan, "google_cloud_run_v2_service", name="kb-manage"), "KB_AUTH")["value"] = "none"


def share_an_account(plan):
    query = raw(plan, "google_cloud_run_v2_service", name="kb-query")["template"][0]
    query["service_account"] = raw(plan, "google_cloud_run_v2_service", name="kb-manage")["template"][0][
        "service_account"
    ]


def show_query_the_bucket(plan):
    account = raw(plan, "google_cloud_run_v2_service", name="kb-query")["template"][0]["service_account"]
    raw(plan, "google_storage_bucket_iam_member", role="roles/storage.objectUser")["member"] = (
        f"serviceAccount:{account}"
    )


def widen_a_role(plan):
    raw(plan, "google_project_iam_member", role="roles/datastore.user")["condition"] = []


def use_a_tag(plan):
    raw(plan, "google_cloud_run_v2_service", name="kb-query")["template"][0]["containers"][0]["image"] = "r/query:1"


def mix_models(plan):
    told(raw(plan, "google_cloud_run_v2_service", name="kb-query"), "KB_EMBEDDING_MODEL")["value"] = "another"


def mix_indexes(plan):
    told(raw(plan, "google_cloud_run_v2_service", name="kb-reindex"), "QDRANT_URL")["value"] = "https://another"


def spell_out_a_secret(plan):
    told(raw(plan, "google_cloud_run_v2_service", name="kb-query"), "QDRANT_API_KEY")["value"] = "hush"


def slice_too_long(plan):
    told(raw(plan, "google_cloud_run_v2_service", name="kb-ingest"), "KB_SLICE_SECONDS")["value"] = "540"


def wait_too_long(plan):
    raw(plan, "google_cloud_run_v2_service", name="kb-reindex")["template"][0]["timeout"] = "600s"


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("notifications", lose_an_event),
        ("notifications", tell_another_topic),
        ("notifications", push_elsewhere),
        ("notifications", keep_no_dead_letters),
        ("notifications", have_no_dead_letters),
        ("pushes", push_as_nobody),
        ("pushes", push_for_another),
        ("pushes", let_another_call),
        ("pushes", reach_ingest),
        ("public", open_ingest),
        ("public", open_query_without_tokens),
        ("public", open_what_schedules_call),
        ("public", check_nobody),
        ("roles", share_an_account),
        ("roles", show_query_the_bucket),
        ("roles", widen_a_role),
        ("images", use_a_tag),
        ("space", mix_models),
        ("space", mix_indexes),
        ("secrets", spell_out_a_secret),
        ("time", slice_too_long),
        ("time", wait_too_long),
    ],
)
def test_a_broken_plan_is_noticed(plans, rule, broken):
    plan = copy.deepcopy(plans["prod"])
    broken(plan)
    assert RULES[rule](plan) != []


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_firestore_has_the_indexes_that_the_catalog_asks_for(plans, name):
    plan = plans[name]
    made = {
        (one.values["collection"], tuple(field["field_path"] for field in one.values["fields"]))
        for one in planned.resources(plan, "google_firestore_index")
    }
    without = {
        (one.values["collection"], one.values["field"]) for one in planned.resources(plan, "google_firestore_field")
    }
    assert made == set(INDEXES)
    assert without == set(UNINDEXED)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_schedule_is_the_only_caller_of_a_service_that_checks_it(plans, name):
    """Google's token is for that service, and the function there grants its account every base."""
    plan = plans[name]
    jobs = planned.resources(plan, "google_cloud_scheduler_job")
    target = next(one.values["http_target"][0] for one in jobs if one.values["name"] == "kb-reconcile")
    service = planned.maintain(plan)
    told = planned.environment(service)
    token = target["oidc_token"][0]
    assert target["uri"] == f"{token['audience']}/v1/reconcile"
    assert token["audience"].startswith(f"https://{service.values['name']}-")
    assert (told["KB_AUTH"], told["KB_IAM_AUDIENCE"]) == ("iam", token["audience"])
    assert json.loads(told["KB_IAM_BASES"]) == {token["service_account_email"]: {"bases": ["*"], "scope": "admin"}}
    assert planned.container(service)["image"] == planned.container(planned.services(plan)["manage"])["image"]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_function_takes_the_settings_that_it_is_told(plans, name):
    """Values and their combination: what the code would refuse at its start is seen in the plan."""
    for service in planned.every_service(plans[name]):
        told = {name: value or "hush" for name, value in planned.environment(service).items()}
        assert read_settings(told).kb_mode == "cloud", service.address


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_nothing_is_deployed_without_approval_outside_dev(plans, name):
    triggers = planned.resources(plans[name], "google_cloudbuild_trigger")
    deploy = [one.values for one in triggers if one.values["name"] == f"kb-deploy-{name}"]
    assert [one["approval_config"][0]["approval_required"] for one in deploy] == [name != "dev"]
    assert {one.values["name"] for one in triggers} == (
        {"kb-ci", "kb-release", "kb-deploy-dev"} if name == "dev" else {f"kb-deploy-{name}"}
    )


def test_prod_is_protected(plans):
    plan = plans["prod"]
    (database,) = planned.resources(plan, "google_firestore_database")
    assert database.values["delete_protection_state"] == "DELETE_PROTECTION_ENABLED"
    assert len(planned.resources(plan, "google_firestore_backup_schedule")) == 2
    assert all(service.values["deletion_protection"] for service in planned.services(plan).values())
    assert planned.services(plan)["query"].values["template"][0]["scaling"][0]["min_instance_count"] >= 1
    assert len(planned.resources(plan, "google_monitoring_alert_policy")) == 9
    assert planned.resources(plan, "google_billing_budget")


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_plan_holds_a_value_that_should_be_a_secret(plans, name):
    text = json.dumps(plans[name])
    assert '"secret_data_wo": "' not in text
    assert "BEGIN PRIVATE KEY" not in text
