"""What the Qdrant index promises over the wire: sizes of requests, repeated attempts, statuses, races."""

import json

import httpx
import pytest

from common.adapters.qdrant_index import QdrantIndex
from common.domain.errors import DocumentError, Misconfigured, Unavailable
from common.ports import CollectionShape
from tests.contract.indexes import BASE, SHAPE, alias_of, make_point, new_collection
from tests.contract.qdrant_rest import RestQdrant

COLLECTION = new_collection()


class Failing:
    """Answers the first `times` requests under `path` with a failure, counting them and the pauses between."""

    def __init__(self, failure, times=10**9, path="/points"):
        self.failure, self.times, self.path = failure, times, path
        self.seen = 0
        self.pauses = []

    def __call__(self, request):
        if self.path not in request.url.path:
            return None
        self.seen += 1
        if self.seen > self.times:
            return None
        if isinstance(self.failure, Exception):
            raise self.failure
        return self.failure


def open_index(server, fail=None, **options):
    index = QdrantIndex(server.client(), alias_of, sleep=fail.pauses.append if fail else None, **options)
    index.create(BASE, COLLECTION, SHAPE)
    if fail:
        server.fail = fail
    return index


def status(code, **headers):
    return httpx.Response(code, json={"status": {"error": "no"}}, headers=headers)


def written(server):
    return [size for method, path, size in server.requests if method == "PUT" and path.endswith("/points")]


@pytest.mark.parametrize(
    "failure",
    [status(500), status(503), status(429), status(408), httpx.ConnectError("refused"), httpx.ReadTimeout("")],
)
def test_a_passing_failure_is_tried_again(failure):
    """When it fails: see `_passes`; every request may be repeated, so a short outage must not fail a document."""
    fail = Failing(failure, times=2)
    index = open_index(RestQdrant(), fail)
    index.upsert(BASE, COLLECTION, [make_point()])
    assert fail.seen == 3
    assert len(fail.pauses) == 2
    assert index.generations(BASE, COLLECTION) == {("docs/bagagem.md", 1): 1}


@pytest.mark.parametrize("failure", [status(503), httpx.ConnectError("refused")])
def test_a_lasting_failure_is_unavailable_after_a_few_attempts(failure):
    """When it fails: the broker delivers again, so attempts here are few and the error is transient."""
    fail = Failing(failure)
    index = open_index(RestQdrant(), fail)
    with pytest.raises(Unavailable):
        index.generations(BASE, COLLECTION)
    assert (fail.seen, len(fail.pauses)) == (4, 3)
    assert all(0 <= pause <= 5 for pause in fail.pauses)


def test_the_servers_own_pause_is_kept_within_reason():
    """When it fails: a Retry-After of hours must not hold a worker past its lease."""
    for asked, kept in ((2, 2.0), (3600, 5.0)):
        fail = Failing(status(429, **{"Retry-After": str(asked)}), times=1)
        open_index(RestQdrant(), fail).generations(BASE, COLLECTION)
        assert fail.pauses == [kept]


@pytest.mark.parametrize(
    ("code", "error"), [(400, ValueError), (422, ValueError), (401, Misconfigured), (403, Misconfigured)]
)
def test_a_refusal_is_not_tried_again(code, error):
    """When it fails: repeating a wrong request only delays the report of what is wrong."""
    fail = Failing(status(code))
    index = open_index(RestQdrant(), fail)
    with pytest.raises(error):
        index.generations(BASE, COLLECTION)
    assert (fail.seen, fail.pauses) == (1, [])


def test_a_race_of_creators_ends_in_one_collection():
    """When it fails: the second creator must compare shapes, and see to the payload indexes the first may lack."""
    server = RestQdrant()
    open_index(server)
    server.indexed[COLLECTION].clear()
    other = open_index(server)
    assert server.indexed[COLLECTION] == {"base", "object", "document_id", "category", "generation", "_labels", "terms"}
    with pytest.raises(Misconfigured, match="dimension"):
        other.create(BASE, COLLECTION, CollectionShape(5))


def test_a_collection_that_others_made_anew_is_looked_at_again():
    """When it fails: a remembered dimension outlived its collection, and vectors of another space would be written."""
    server = RestQdrant()
    first, second = open_index(server), open_index(server)
    second.drop(BASE, COLLECTION)
    second.create(BASE, COLLECTION, CollectionShape(5))
    with pytest.raises(Misconfigured, match="dimension"):
        first.create(BASE, COLLECTION, SHAPE)


def test_a_collection_with_idf_or_other_vectors_is_not_ours():
    """When it fails: the server's own idf would be applied on top of ours (RULES 13)."""
    server = RestQdrant()
    foreign = new_collection()
    body = {"vectors": {"size": 4, "distance": "Cosine"}, "sparse_vectors": {"lexical": {"modifier": "idf"}}}
    server.create(json.dumps(body).encode(), foreign)
    with pytest.raises(Misconfigured, match="other vectors"):
        open_index(server).create(BASE, foreign, SHAPE)


def test_the_alias_moves_in_one_request():
    """When it fails: between two requests outside readers would find no alias."""
    server = RestQdrant()
    index = open_index(server)
    for _ in range(2):
        server.requests.clear()
        index.set_alias(BASE, COLLECTION)
        assert [path for _, path, _ in server.requests] == ["/collections/aliases"]


def test_points_of_another_base_in_the_collection_are_neither_read_nor_deleted():
    """When it fails: a filter without `base` reached the server, where a collection can hold anything."""
    server = RestQdrant()
    index = open_index(server)
    index.upsert(BASE, COLLECTION, [make_point(lexical={1: 1.0})])
    foreign = make_point("docs/bagagem.md", 1, 7, base="rival", lexical={1: 1.0})
    points = [{"id": foreign.id, "vector": {"": [1, 0, 0, 0]}, "payload": dict(foreign.payload)}]
    server.upsert(json.dumps({"points": points}).encode(), COLLECTION)
    assert index.frequencies(BASE, COLLECTION, [1]) == (1, {1: 1})
    assert index.payloads(BASE, COLLECTION, [foreign.id]) == {}
    assert sum(index.generations(BASE, COLLECTION).values()) == 1
    assert len(list(index.stored(BASE, COLLECTION, "docs/bagagem.md", 1))) == 1
    index.discard(BASE, COLLECTION, "docs/bagagem.md", 1)
    assert [record.id for record in server.engine.scroll(COLLECTION)[0]] == [foreign.id]


def test_requests_are_split_by_count():
    """When it fails: one huge request times out where many small ones pass."""
    server = RestQdrant()
    index = open_index(server)
    index.upsert(BASE, COLLECTION, [make_point(ordinal=n) for n in range(600)])
    assert len(written(server)) == 3
    assert index.generations(BASE, COLLECTION) == {("docs/bagagem.md", 1): 600}


def big_points(count, dimension):
    """Case UPS-01: long vectors and some 4 kB of text each, here with characters of two bytes and many terms."""
    return [
        make_point(
            ordinal=n,
            vector=tuple(round(((n * 31 + j * 17) % 997 + 0.123) / 997.7, 12) for j in range(dimension)),
            lexical={4_294_967_295 - j: 1 / (3 + j) for j in range(40)},
            text="texto muito, muito longo é \n" * 140,
        )
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("count", "dimension", "limit"), [(60, 384, 200_000), pytest.param(1500, 1536, None, marks=pytest.mark.slow)]
)
def test_requests_are_split_by_bytes(count, dimension, limit):
    """When it fails: a request above the server's limit is refused and the document never gets in (case UPS-01)."""
    server = RestQdrant(max_body=limit) if limit else RestQdrant()
    index = QdrantIndex(server.client(), alias_of, sleep=None, **({"max_request_bytes": limit} if limit else {}))
    index.create(BASE, COLLECTION, CollectionShape(dimension))
    index.upsert(BASE, COLLECTION, big_points(count, dimension))
    assert index.generations(BASE, COLLECTION) == {("docs/bagagem.md", 1): count}
    assert max(written(server)) <= server.max_body
    assert len(written(server)) <= 2 * sum(written(server)) / server.max_body + 1 + count / 256


def test_a_point_that_no_request_can_carry_fails_its_document_alone():
    """When it fails: nothing of the call may be stored or sent again and again, and the reason is for the uploader."""
    server = RestQdrant()
    index = open_index(server, max_request_bytes=100_000)
    index.upsert(BASE, COLLECTION, [make_point("other.md")])
    server.requests.clear()
    with pytest.raises(DocumentError) as caught:
        index.upsert(BASE, COLLECTION, [make_point(ordinal=0), make_point(ordinal=1, text="enorme " * 20_000)])
    assert (caught.value.code, "metadata" in caught.value.next_step) == ("TOO_LARGE", True)
    assert written(server) == []
    assert index.generations(BASE, COLLECTION) == {("other.md", 1): 1}
