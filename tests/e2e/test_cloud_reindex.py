"""A base of the deployed shape moves to another model: orders through Pub/Sub, the alias at the Qdrant server, and
questions and uploads meanwhile.
"""

import threading
from uuid import uuid4

import pytest
from qdrant_client import models

from tests.e2e.cloud import bearer, eventually, opened
from tests.e2e.conftest import MODELS
from tests.e2e.processes import send

MODEL = "all-MiniLM-L6-v2"
SECTIONS = 12


@pytest.fixture(scope="module")
def cloud():
    if not all((MODELS / name / "manifest.json").exists() for name in ("e5-small-enpt", MODEL)):
        pytest.skip("the models are not prepared")
    with opened(reindex=True) as whole:
        yield whole


@pytest.fixture
def base(cloud):
    name = f"t{uuid4().hex[:8]}"
    for i in range(6):
        text = "\n\n".join(
            f"# Seção {n}\n\nO prazo do contrato {i}-{n} é de {n + 3} dias e o código é MARCA-{i}-{n}."
            for n in range(SECTIONS)
        )
        assert cloud.index(name, f"contrato-{i}.md", text.encode())["state"] == "indexed"
    return name


def alias(cloud, base):
    with cloud.qdrant.lock:
        known = {each.alias_name: each.collection_name for each in cloud.qdrant.engine.get_aliases().aliases}
    return known.get(f"{base}_kb")


def reach(cloud, base, state):
    def look():
        told = cloud.ask("manage", "GET", f"/v1/bases/{base}/reindex/last").body
        assert told["state"] not in {"failed", "cancelled"}, told
        return told if told["state"] == state else None

    return eventually(look, f"{base} {state}")


def command(cloud, base, name, **body):
    answer = cloud.ask("manage", "POST", f"/v1/bases/{base}/reindex/last/{name}", body)
    assert answer.status == 200, answer.text
    return answer.body


class Asking:
    """Somebody who never stops asking."""

    def __init__(self, cloud, base):
        self.cloud, self.base = cloud, base
        self.answers, self.failures = [], []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        body = b'{"query": "qual e o prazo do contrato 3-4?", "threshold": null}'
        while not self.stopping.is_set():
            path, token = f"/v1/bases/{self.base}/search", {"Authorization": bearer(self.base)}
            answer = send(self.cloud.functions["query"].address, "POST", path, body, token)
            if answer.status != 200 or answer.body["degraded"]:
                self.failures.append(answer.text)
            else:
                self.answers.append(answer.body["fingerprint"])

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()


def test_a_base_moves_while_it_is_asked_and_changed(cloud, base):
    blue = alias(cloud, base)
    assert blue in cloud.collections()
    with Asking(cloud, base) as asking:
        started = cloud.ask("manage", "POST", f"/v1/bases/{base}/reindex", {"model": MODEL})
        assert started.status == 202
        assert started.body["plan"]["passages"] == 6 * SECTIONS
        assert cloud.ask("manage", "POST", f"/v1/bases/{base}/reindex", {"model": MODEL}).status == 409
        assert cloud.index(base, "contrato-0.md", "# Novo\n\nO prazo novo é NOVO-0.".encode())["state"] == "indexed"
        assert cloud.remove(base, "contrato-1.md")["state"] == "deleted"
        told = reach(cloud, base, "ready")
        assert (told["done"], told["failed"]) == (told["objects"], 0)
        assert alias(cloud, base) == blue
        before = set(asking.answers)
        command(cloud, base, "switch", force=True)
        switched = len(asking.answers)
        green = alias(cloud, base)
        eventually(lambda: len(asking.answers) > switched + 3, "questions behind the switch")
    assert not asking.failures
    assert len(before) == 1
    assert green != blue
    # One question may have been under way.
    assert {*asking.answers[switched + 1 :]} == {green.rpartition("__")[2]}
    assert "NOVO-0" in cloud.texts(base, "prazo novo")
    assert "MARCA-1-" not in cloud.texts(base, "MARCA código contrato 1-1")
    assert cloud.index(base, "contrato-2.md", "# Depois\n\nO prazo é DEPOIS-2.".encode())["state"] == "indexed"
    command(cloud, base, "rollback")
    assert alias(cloud, base) == blue
    answered = cloud.texts(base, "prazo depois")
    assert "DEPOIS-2" in answered
    assert "MARCA-2-" not in answered
    assert command(cloud, base, "retire")["state"] == "rolled_back"
    eventually(lambda: {n for n in cloud.collections() if n.startswith(f"{base}_kb")} == {blue}, "green is freed")


def test_what_replaces_is_retired_and_drift_of_the_alias_is_mended(cloud, base):
    started = cloud.ask("manage", "POST", f"/v1/bases/{base}/reindex", {"model": MODEL})
    assert started.status == 202
    reach(cloud, base, "ready")
    command(cloud, base, "switch", force=True)
    assert command(cloud, base, "retire")["state"] == "retired"
    green = alias(cloud, base)
    assert {name for name in cloud.collections() if name.startswith(f"{base}_kb")} == {green}
    with cloud.qdrant.lock:
        forget = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=f"{base}_kb"))
        cloud.qdrant.engine.update_collection_aliases([forget])
    found = cloud.ask("manage", "POST", f"/v1/bases/{base}/reconcile", {})
    assert found.body["alias"] == 1
    cloud.ask("manage", "POST", f"/v1/bases/{base}/reconcile", {"repair": True})
    assert alias(cloud, base) == green
    assert cloud.ask("manage", "POST", f"/v1/bases/{base}/reconcile", {}).body["alias"] == 0
    # The configured model is the old one, and nobody is refused: the base was moved on purpose.
    assert cloud.index(base, "mais.md", b"# Mais\n\nUm prazo MAIS-1.")["state"] == "indexed"
    assert "MAIS-1" in cloud.texts(base, "um prazo mais")
