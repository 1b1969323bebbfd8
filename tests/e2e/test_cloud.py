"""The product as it is deployed: what people do to the bucket is what is answered, under every delivery."""

import json
from pathlib import Path
from uuid import uuid4

import pytest

from tests.e2e.cloud import escaped, notification, opened, push_body, send
from tests.e2e.conftest import MODELS

FILES = Path(__file__).parents[1] / "corpus" / "files"


@pytest.fixture(scope="module")
def cloud():
    if not (MODELS / "e5-small-enpt" / "manifest.json").exists():
        pytest.skip("model e5-small-enpt is not prepared")
    with opened() as whole:
        yield whole


@pytest.fixture
def base():
    """A tenant of its own for every test."""
    return f"t{uuid4().hex[:8]}"


def test_health_is_told_by_every_function(cloud):
    for function in cloud.functions.values():
        assert send(function.address, "GET", "/healthz").body == {"status": "alive"}
        ready = send(function.address, "GET", "/readyz")
        assert (ready.status, ready.body["model"]) == (200, "e5-small-enpt")


def test_upload_overwrite_and_delete_are_what_answers(cloud, base):
    job = cloud.index(base, "preco.md", "# Preço\n\nO preço antigo é 10 reais VELHO-1.".encode())
    assert (job["state"], job["attempts"]) == ("indexed", 1)
    assert "VELHO-1" in cloud.texts(base, "qual é o preço?")

    job = cloud.index(base, "preco.md", "# Preço\n\nO preço novo é 25 reais NOVO-2.".encode())
    assert job["state"] == "indexed"
    answered = cloud.texts(base, "qual é o preço?")
    assert "NOVO-2" in answered
    assert "VELHO-1" not in answered

    assert cloud.remove(base, "preco.md")["state"] == "deleted"
    assert cloud.search(base, "qual é o preço?")["passages"] == []
    assert cloud.documents(base) == {}
