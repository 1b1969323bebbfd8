"""What alerts count is logged. When one fails, infra/modules/observability watches for lines that nobody writes."""

import pytest
from werkzeug.test import Client

from common.domain.errors import DocumentError, Unavailable
from functions.local.app import application
from tests.integration.one_machine import BASE
from tests.integration.test_ingest_router import batch, machine, send
from tests.integration.test_search import OTHERS, CountingEmbedder, OneMachine, put

__all__ = ["machine"]


def said(records, message):
    return [line for line in records if line.getMessage() == message]


def test_a_finished_change_says_how_its_job_ended(machine, logged):
    machine.parser.failures = {"um.md": DocumentError("CORRUPT", "It is broken.", "Save it anew.")}
    send(machine, batch("um", "dois"))
    assert [(line.state, line.code) for line in said(logged, "ingested")] == [("failed", "CORRUPT"), ("indexed", None)]


@pytest.mark.parametrize(
    ("path", "asked"), [(f"/v1/bases/{BASE}/search", {}), ("/v1/search", {"bases": [{"base": BASE}]})]
)
def test_an_answer_without_vectors_leaves_a_line(tmp_path, logged, path, asked):
    opened = OneMachine(tmp_path, embedder=CountingEmbedder())
    put(opened, **OTHERS)
    client = Client(application(opened.runtime))
    asked = {"query": "troca do produto", **asked}
    assert not client.post(path, json=asked).json["degraded"]
    assert said(logged, "degraded") == []
    opened.embedder.broken = Unavailable("the model is away")
    assert client.post(path, json={**asked, "query": "frete do pedido"}).json["degraded"]
    assert len(said(logged, "degraded")) == 1
    opened.runtime.close()
