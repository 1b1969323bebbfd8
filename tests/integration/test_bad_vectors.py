"""The cases VEC-01 and UPS-01 through the whole of ingest: vectors that are no direction, and a point that no request
can carry, fail their own document and nothing else.
"""

import json
import math
from typing import ClassVar

import pytest
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from common.adapters.edge_index import EdgeIndex
from common.adapters.hashing_embedder import HashingEmbedder
from common.adapters.memory_index import MemoryIndex
from common.adapters.qdrant_index import QdrantIndex
from common.domain.errors import EmbeddingInvalid
from common.identity import Identity
from functions.query.handle import router as query_router
from tests.contract.indexes import alias_of
from tests.contract.qdrant_rest import RestQdrant
from tests.integration.cloud_machine import CloudMachine
from tests.integration.one_machine import BASE, content


class Faulty(HashingEmbedder):
    """Answers what VEC-01 says for the passages that name a fault, and for questions what it is told to."""

    faults: ClassVar = {"all NaN": math.nan, "one Infinity": math.inf, "all zeros": 0.0}
    question = None

    def embed_passages(self, texts):
        return [self._broken(text, vector) for text, vector in zip(texts, super().embed_passages(texts), strict=True)]

    def _broken(self, text, vector):
        for fault, value in self.faults.items():
            if fault in text:
                return [value, *vector[1:]] if fault == "one Infinity" else [value] * len(vector)
        return vector

    def embed_query(self, text):
        return [self.question] * self.space.dimension if self.question is not None else super().embed_query(text)


def points_of(machine):
    return dict(machine.index.generations(BASE, machine.catalog.base(BASE).live))


def passages(*marks):
    """A document of a passage for each mark."""
    return b"\n\n".join(f"{mark} {content('x', n, 1).decode()}".encode() for n, mark in enumerate(marks))


@pytest.fixture(params=["memory", "edge"])
def faulty(request, tmp_path):
    index = MemoryIndex() if request.param == "memory" else EdgeIndex(tmp_path / "index")
    machine = CloudMachine(embedder=Faulty(8), index=index)
    machine.put("bom", content("bom", 1, 3))
    machine.drain()
    yield machine
    index.close()


@pytest.mark.parametrize("fault", list(Faulty.faults))
@pytest.mark.parametrize("ahead", [1, 40])
def test_a_vector_that_is_none_is_never_stored_and_the_job_names_the_passage(faulty, fault, ahead):
    """VEC-01: c0 is normal, the fault follows; also behind a whole batch that was already written."""
    before = points_of(faulty)
    change = faulty.put("ruim", passages(*["c"] * ahead, fault, "c"))
    faulty.drain()
    job = faulty.job(change)
    assert (job.state, job.code) == ("failed", "EMBEDDING_INVALID")
    assert job.reason.startswith(f"Passage {ahead + 1} could not be embedded")
    assert points_of(faulty) == before
    assert faulty.seen("bom") == (1, 3)
    assert faulty.mail == []


def test_a_version_with_such_a_vector_leaves_the_older_one_answering(faulty):
    change = faulty.put("bom", passages("c", "all NaN", "c"))
    faulty.drain()
    assert faulty.job(change).code == "EMBEDDING_INVALID"
    assert faulty.seen("bom") == (1, 3)
    record = faulty.catalog.object(change.ref)
    assert record.stale


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_question_without_a_direction_is_degraded_or_an_error_never_no_answer(faulty, value):
    """VEC-01: an empty result would look like "the base does not know"."""
    faulty.embedder.question = value
    owner = Identity(frozenset({BASE}), {"*": "read"})
    router = query_router(faulty.reader_as(lambda _: owner))
    environ = EnvironBuilder(
        f"/v1/bases/{BASE}/search", method="POST", json={"query": "docbom version1", "threshold": None}
    ).get_environ()
    response = router(Request(environ))
    if response.status_code == 200:
        answer = json.loads(response.get_data())
        assert answer["degraded"]
        assert answer["warnings"]
        assert answer["passages"]
    else:
        assert response.status_code == 503


def test_an_embedder_that_says_so_itself_ends_the_same_way(faulty):
    """The port's own way: the real adapters raise."""

    def refuse(texts):
        raise EmbeddingInvalid(1, "no direction")

    faulty.embedder.embed_passages = refuse
    change = faulty.put("ruim", passages("c", "c", "c"))
    faulty.drain()
    assert faulty.job(change).reason.startswith("Passage 2 could not be embedded")


def test_a_document_with_a_point_that_no_request_can_carry_fails_alone_and_once():
    """UPS-01, `variant_huge`, with the limit scaled down."""
    server = RestQdrant(max_body=20_000)
    index = QdrantIndex(server.client(), alias_of, sleep=None, max_request_bytes=20_000)
    machine = CloudMachine(index=index, windows=False)
    machine.put("bom", content("bom", 1, 40))
    huge = b"enorme" * 6_000 + b"\n\n" + content("ruim", 1, 3)
    change = machine.put("ruim", huge)
    machine.drain()
    job = machine.job(change)
    assert (job.state, job.code) == ("failed", "TOO_LARGE")
    assert job.reason
    assert job.next_step
    assert machine.seen("bom") == (1, 40)
    assert points_of(machine) == {("bom.md", change.generation - 1): 40}
    assert max(size for _, _, size in server.requests) <= server.max_body
    assert machine.mail == []
