"""Our own policies catch what they are for, and let through what keeps them. When one fails, checkov would pass an open
function or a topic that loses messages.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv-infra/bin"
BROKEN = {
    "CKV2_KB_1": {"google_cloud_run_v2_service_iam_member.open", "google_cloud_run_v2_service_iam_member.half_open"},
    "CKV2_KB_2": {"google_cloud_run_v2_service_iam_binding.open"},
    "CKV2_KB_3": {"google_cloud_run_v2_service.unchecked"},
    "CKV2_KB_4": {"google_pubsub_subscription.losing"},
    "CKV2_KB_5": {"google_pubsub_topic.lonely"},
}


@pytest.fixture(scope="module")
def found():
    """Policy -> resources that break it."""
    if not (TOOLS / "checkov").exists():
        pytest.skip("checkov is not installed: make infra-lint")
    folder = ROOT / "tests/infra/policies"
    policies = ["--external-checks-dir", str(ROOT / "infra/policies"), "--check", ",".join(BROKEN)]
    command = [str(TOOLS / "checkov"), "-d", str(folder), "--framework", "terraform", "--skip-download", *policies]
    done = subprocess.run([*command, "-o", "json"], capture_output=True, text=True, check=False, timeout=300)
    failed = json.loads(done.stdout)["results"]["failed_checks"]
    return {policy: {one["resource"] for one in failed if one["check_id"] == policy} for policy in BROKEN}


@pytest.mark.parametrize("policy", BROKEN)
def test_a_policy_catches_what_breaks_it_and_nothing_else(found, policy):
    assert found[policy] == BROKEN[policy]


def test_every_policy_is_tried():
    written = {re.search(r"id: (\S+)", path.read_text("utf-8"))[1] for path in (ROOT / "infra/policies").glob("*.yaml")}
    assert written == set(BROKEN)


def test_every_exception_says_why():
    for path in (ROOT / "infra").rglob("*.tf"):
        for line in path.read_text("utf-8").splitlines():
            if "checkov:skip" in line:
                assert re.search(r"checkov:skip=CKV2?_(GCP|KB)_\d+: \S.{30,}", line), f"{path}: {line}"
