"""What alerts count is logged. When one fails, infra/modules/observability watches for lines that nobody writes."""

import logging

import pytest
from werkzeug.test import Client

from common.domain.errors import DocumentError, Unavailable
from functions.local.app import application
from tests.integration.one_machine import BASE
from tests.integration.test_ingest_router import Lines, batch, machine, send
from tests.integration.test_search import OTHERS, CountingEmbedder, OneMachine, put

__all__ = ["machine"]


@pytest.fixture
def logged():
    logger, lines = logging.getLogger("fichario"), Lines()
    level = logger.level
    logger.addHandler(lines)
    logger.setLevel("INFO")
    yield lambda message: [line for line in lines.records if line.getMessage() == message]
    logger.removeHandler(lines)
    logger.setLevel(level)


def test_a_finished_change_says_how_its_job_ended(machine, logged):
    machine.parser.failures = {"um.md": DocumentError("CORRUPT", "It is broken.", "Save it anew.")}
    send(machine, batch("um", "dois"))
    assert [(line.state, line.code) for line in logged("ingested")] == [("failed", "CORRUPT"), ("indexed", None)]


@pytest.mark.parametrize(
    ("path", "asked"), [(f"/v1/bases/{BASE}/search", {}), ("/v1/search", {"bases": [{"base": BASE}]})]
)
def test_an_answer_without_vectors_leaves_a_line(tmp_path, logged, path, asked):
    opened = OneMachine(tmp_path, embedder=CountingEmbedder())
    put(opened, **OTHERS)
    client = Client(application(opened.runtime))
    asked = {"query": "troca do produto", **asked}
    assert not client.post(path, json=asked).json["degraded"]
    assert logged("degraded") == []
    opened.embedder.broken = Unavailable("the model is away")
    assert client.post(path, json={**asked, "query": "frete do pedido"}).json["degraded"]
    assert len(logged("degraded")) == 1
    opened.runtime.close()
