"""The same calls on every vector index give the same answers: the exact reference in memory is compared with each."""

import random
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.domain.index import IndexFilter, Lookup
from tests.contract.indexes import BASE, CLOSABLE, make_point, opened

DIMENSION = 4
NAMES = ("a.md", "b.md", "mail.eml")
TERMS = (1, 2, 3, 70_000, 4_294_967_295)
VALUES = ("pt", "en", 1, 1.0, 2.5, True, False, "1")
places = st.tuples(st.sampled_from(NAMES), st.integers(1, 3), st.integers(0, 5))
values = st.lists(st.sampled_from(VALUES), min_size=1, max_size=3).map(tuple)


@pytest.fixture(scope="module", params=CLOSABLE)
def pair(request):
    """The reference and the index under test, shared by all examples: what earlier ones left behind must not show."""
    with ExitStack() as stack:
        yield stack.enter_context(opened("memory")), stack.enter_context(opened(request.param))


@st.composite
def passages(draw):
    """Points whose scores differ from each other, so that engines have no ties to break in their own ways."""
    chance = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311
    return [
        make_point(
            *place,
            vector=tuple(chance.gauss(0, 1) for _ in range(DIMENSION)) if draw(st.booleans()) else None,
            lexical={term: chance.uniform(0.1, 2.2) for term in draw(st.sets(st.sampled_from(TERMS)))},
            category=draw(st.sampled_from(("", "visa", "price"))),
            metadata=draw(st.dictionaries(st.sampled_from(("x", "y.z")), st.sampled_from((*VALUES, ["pt", 1], None)))),
        )
        for place in draw(st.lists(places, unique=True, max_size=20))
    ]


@st.composite
def lookups(draw):
    chance = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311
    direction = [chance.gauss(0, 1) for _ in range(DIMENSION)]
    length = sum(x * x for x in direction) ** 0.5
    return Lookup(
        dense=tuple(x / length for x in direction) if draw(st.booleans()) else None,
        lexical={term: chance.uniform(0.1, 8.0) for term in draw(st.sets(st.sampled_from((*TERMS, 99))))},
        limit=draw(st.integers(1, 8)),
        filter=IndexFilter(
            categories=draw(st.sampled_from(((), ("visa",), ("visa", "price")))),
            metadata=draw(st.dictionaries(st.sampled_from(("x", "y.z")), values, max_size=2)),
        ),
        dead=draw(st.frozensets(st.tuples(st.sampled_from(NAMES), st.integers(1, 3)), max_size=3)),
    )


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(points=passages(), questions=st.lists(lookups(), min_size=1, max_size=4), sweep=places)
def test_every_index_answers_as_the_reference_does(pair, points, questions, sweep):
    """When it fails: print both answers; a wrong score points at the engine's query, a wrong set at its filter."""
    reference, tested = pair
    for store in pair:
        for name, generation in store.index.generations(BASE, store.collection):
            store.index.discard(BASE, store.collection, name, generation)
        store.upsert(*points)
        store.index.sweep(BASE, store.collection, sweep[0], sweep[1])
    assert read(tested) == read(reference)
    for question in questions:
        expected, actual = (store.index.lookup(BASE, store.collection, question) for store in pair)
        assert [place(hit) for hit in actual.hits] == [place(hit) for hit in expected.hits]
        assert actual.full == expected.full
        for hit, wanted in zip(actual.hits, expected.hits, strict=True):
            assert hit.dense == pytest.approx(wanted.dense, abs=1e-5)
            assert hit.lexical == pytest.approx(wanted.lexical, abs=1e-5)


def place(hit):
    return hit.id, hit.object, hit.generation, hit.document_id, hit.ordinal, hit.dense_rank, hit.lexical_rank


def read(store):
    """Everything that can be read without a question."""
    generations = store.index.generations(BASE, store.collection)
    stored = [point for pair in sorted(generations) for point in store.index.stored(BASE, store.collection, *pair)]
    documents = sorted({(point.payload["document_id"], point.payload["generation"]) for point in stored})
    return (
        generations,
        store.index.frequencies(BASE, store.collection, TERMS),
        [(point.id, point.payload, point.vector is None, sorted(point.lexical)) for point in stored],
        store.index.payloads(BASE, store.collection, [point.id for point in stored]),
        [store.index.passages(BASE, store.collection, *document) for document in documents],
        [store.index.passages(BASE, store.collection, *document, {1, 3}) for document in documents],
    )
