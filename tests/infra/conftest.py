"""Plans of the three environments, as Terraform makes them from this checkout."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECK = Path(os.environ.get("TERRAFORM_CHECK", ROOT.parent / "shared/tools/terraform-check/terraform-check"))
ENVIRONMENTS = ("dev", "staging", "prod")


@pytest.fixture(scope="session")
def plans(tmp_path_factory):
    """Environment -> its plan as JSON. KB_TEST_PLANS names a folder where `terraform-check --keep-plans` left them."""
    kept = os.environ.get("KB_TEST_PLANS")
    folder = Path(kept) if kept else _planned(tmp_path_factory.mktemp("infra"))
    return {name: json.loads((folder / f"{name}.json").read_text("utf-8")) for name in ENVIRONMENTS}


def _planned(place):
    infra = environments_alone(place)
    done = checked(infra, place / "plans")
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "plans"


def environments_alone(place):
    """A copy whose modules stand where the tool does not test each by itself: that is `make infra`'s work."""
    infra = place / "infra"
    shutil.copytree(ROOT / "infra/modules", infra / "parts", ignore=shutil.ignore_patterns("tests", ".terraform"))
    shutil.copytree(ROOT / "infra/environments", infra / "environments", ignore=shutil.ignore_patterns(".terraform"))
    for file in infra.glob("environments/*/main.tf"):
        file.write_text(file.read_text("utf-8").replace("../../modules/", "../../parts/"), "utf-8")
    return infra


def checked(infra, plans):
    """What the tool says of the folder, and the plans of those environments that can be planned."""
    if not CHECK.exists():
        pytest.skip(f"{CHECK} is not there to plan without a cloud")
    command = [str(CHECK), str(infra), "--keep-plans", str(plans)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
