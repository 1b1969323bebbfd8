"""No unsafe prod can be planned, no secret value appears in a plan, and every example of a README is planned as it
stands. When one fails, a slip in prod's terraform.tfvars would be applied, or a page of ours misleads.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.infra.conftest import checked, environments_alone

UNSAFE = {
    "deletable": ("deletion_protection = false", "prod is protected against deletion"),
    "asleep": ("functions = {}", "prod keeps at least one instance of query warm"),
    "unwatched": ("alerts = { enabled = false }", "In prod somebody is told when something is wrong"),
    "unsaved": ("backups = {}", "prod keeps daily backups"),
    "tagged": (
        'images = { query = "r/query:latest" }',
        "An image is named by its digest",
    ),
    "late": ("ack_deadline_seconds = 500", "kb_slice_seconds < timeout_seconds < ack_deadline_seconds"),
}
MODULES = sorted((Path(__file__).parents[2] / "infra/modules").glob("*/README.md"))
VALUE = "only-this-test-knows-it"
WRITTEN = f'secret_writes = {{ qdrant_api_key = "1" }}\nsecret_values = {{ qdrant_api_key = "{VALUE}" }}'


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the tool said of prod with one line changed, by the change; and the plan of the one that may be."""
    place = tmp_path_factory.mktemp("refused")
    infra = environments_alone(place)
    for name in ("dev", "staging"):
        shutil.rmtree(infra / "environments" / name)
    prod = infra / "environments/prod"
    _add_examples(infra)
    for name, line in {**{name: line for name, (line, _) in UNSAFE.items()}, "written": WRITTEN}.items():
        shutil.copytree(prod, infra / "environments" / name)
        # Files of this kind override terraform.tfvars.
        (infra / "environments" / name / "changed.auto.tfvars").write_text(f"{line}\n", "utf-8")
    shutil.rmtree(prod)
    output = checked(infra, place / "plans").stdout
    return output, place / "plans"


def _add_examples(infra):
    """One environment that holds the example of every module's README."""
    folder = infra / "environments/examples"
    folder.mkdir()
    examples = [
        block.replace("../../modules/", "../../parts/")
        for path in MODULES
        for block in re.findall(r"```hcl\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
    ]
    (folder / "main.tf").write_text("\n".join(examples), "utf-8")


@pytest.mark.parametrize("name", UNSAFE)
def test_an_unsafe_prod_is_refused_with_the_reason(told, name):
    output, plans = told
    failed = output.split(f"FAIL environments/{name} plan", 1)
    assert len(failed) == 2, output
    told_reason = " ".join(failed[1].split("\nFAIL ")[0].split("\nok ")[0].replace("|", " ").split())
    assert UNSAFE[name][1] in told_reason
    assert not (plans / f"{name}.json").exists()


def test_a_value_that_terraform_writes_is_in_no_plan(told):
    _, plans = told
    text = (plans / "written.json").read_text("utf-8")
    assert "google_secret_manager_secret_version" in text
    assert VALUE not in text
    assert json.loads(text)["variables"]["secret_values"] == {"value": {}}


def test_every_example_of_a_readme_is_planned(told):
    output, plans = told
    assert "ok   environments/examples plan" in output, output
    called = json.loads((plans / "examples.json").read_text("utf-8"))["configuration"]["root_module"]["module_calls"]
    parts = {call["source"].rsplit("/", 1)[-1] for call in called.values()}
    assert parts == {path.parent.name for path in MODULES} - {"platform"}
