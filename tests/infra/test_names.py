"""One name from the setting to README's table, Terraform's variable and a function's environment. When one fails, a
setting cannot be set where the product is deployed, or is set under a name that nobody reads.
"""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from common.logs import _FIELDS
from common.settings import SECRETS, Settings
from tests.infra import planned
from tests.infra.conftest import ENVIRONMENTS

ROOT = Path(__file__).parents[2]
PLATFORM = ROOT / "infra/modules/platform"
SETTINGS = {setting.name for setting in fields(Settings)}
ONE_MACHINE = {"kb_data_dir"}
IN_THE_IMAGE = {"kb_model_dir"}
FRAMEWORK = {"THREADS"}
"""What functions-framework reads itself."""


def block(text, opening):
    """The text between this opening and the brace that closes it at the same depth."""
    start = text.index(opening) + len(opening)
    depth, end = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[start : end - 1]


def given():
    """Attributes of the variable `settings`, at its own depth only."""
    variable = block((PLATFORM / "variables.tf").read_text("utf-8"), 'variable "settings" {')
    inside = re.sub(r"map\(object\(\{.*?\}\)\)", "map", block(variable, "type = object({"), flags=re.DOTALL)
    return set(re.findall(r"^\s*([a-z_]+)\s*=", inside, re.MULTILINE))


def derived():
    """What every function is told from what is deployed."""
    shared = block((PLATFORM / "environment.tf").read_text("utf-8"), "shared = {")
    return {name.lower() for name in re.findall(r"^\s*([A-Z_]+)\s*=", shared, re.MULTILINE)}


def secret():
    """What goes by reference."""
    users = block((PLATFORM / "environment.tf").read_text("utf-8"), "secret_users = {")
    return set(re.findall(r"^\s*([a-z_]+)\s*=", users, re.MULTILINE))


def test_every_setting_can_be_set_in_one_place_and_nothing_else_can():
    places = [given(), derived(), secret(), ONE_MACHINE, IN_THE_IMAGE]
    assert set().union(*places) == SETTINGS
    assert sum(map(len, places)) == len(SETTINGS), "a setting stands in two places"


def test_secrets_are_the_settings_that_never_print():
    assert secret() == SECRETS
    allowed = (PLATFORM / "variables.tf").read_text("utf-8")
    listed = re.search(r"contains\(\[([^\]]*)\], setting\)", allowed)
    assert listed is not None
    assert set(re.findall(r'"([a-z_]+)"', listed[1])) == SECRETS


def test_the_image_sets_what_is_the_images():
    text = (ROOT / "cloudbuild/Dockerfile").read_text("utf-8")
    assert {name for name in IN_THE_IMAGE if f"{name.upper()}=" in text} == IN_THE_IMAGE


def test_readme_lists_them_all():
    table = set(re.findall(r"^\| `([A-Z_]+)`", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE))
    assert {name.lower() for name in table} == SETTINGS


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_function_is_told_nothing_but_settings(plans, name):
    for service in planned.every_service(plans[name]):
        told = set(planned.environment(service)) - FRAMEWORK
        assert {one.lower() for one in told} <= SETTINGS, service.address
        assert {one.upper() for one in derived()} <= told, service.address


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_secret_setting_reaches_exactly_the_functions_that_may_read_it(plans, name):
    plan = plans[name]
    readers = {
        (one.values["secret_id"], one.values["member"])
        for one in planned.resources(plan, "google_secret_manager_secret_iam_member")
        if not one.values["member"].startswith("serviceAccount:kb-qdrant@")
    }
    told = {
        (setting.replace("_", "-"), planned.member(service))
        for service in planned.every_service(plan)
        for setting in SECRETS
        if setting.upper() in planned.environment(service)
    }
    assert told == readers


def test_alerts_count_lines_that_the_code_writes():
    filters = (ROOT / "infra/modules/observability/main.tf").read_text("utf-8")
    code = "".join(path.read_text("utf-8") for part in ("common", "functions") for path in (ROOT / part).rglob("*.py"))
    messages = set(re.findall(r'jsonPayload\.message=\\"([^"\\]+)\\"', filters))
    assert messages == {"ingested", "degraded", "unexpected error", "misconfigured"}
    assert {message for message in messages if f'"{message}"' not in code} == set()
    assert set(re.findall(r"jsonPayload\.([a-z_]+)", filters)) - {"message"} <= set(_FIELDS)


@pytest.mark.parametrize("file", ["main.tf", "variables.tf", "versions.tf", "outputs.tf"])
def test_environments_differ_in_their_values_alone(file):
    texts = {name: (ROOT / "infra/environments" / name / file).read_text("utf-8") for name in ENVIRONMENTS}
    if file == "variables.tf":
        texts["platform"] = (PLATFORM / file).read_text("utf-8")
    assert len(set(texts.values())) == 1, f"{file} differs: copy it from {PLATFORM} or from dev"


def test_every_variable_is_handed_to_the_composition():
    declared = set(re.findall(r'^variable "([a-z_]+)"', (PLATFORM / "variables.tf").read_text("utf-8"), re.MULTILINE))
    handed = re.findall(
        r"^  ([a-z_]+)\s*= var\.([a-z_]+)$", (ROOT / "infra/environments/dev/main.tf").read_text(), re.MULTILINE
    )
    assert {name for name, _ in handed} == declared
    assert all(name == value for name, value in handed)


def test_each_environment_has_its_own_project_state_and_bucket():
    seen = set()
    for name in ENVIRONMENTS:
        folder = ROOT / "infra/environments" / name
        values, backend = (folder / "terraform.tfvars").read_text("utf-8"), (folder / "backend.tf").read_text("utf-8")
        (project,) = re.findall(r'^project_id\s*= "([^"]+)"', values, re.MULTILINE)
        (state,) = re.findall(r'^\s*state_bucket\s*= "([^"]+)"', values, re.MULTILINE)
        assert f'bucket = "{state}"' in backend
        seen |= {project, state}
    assert len(seen) == 2 * len(ENVIRONMENTS)
