"""What every vector index promises of collections, writing, deleting and reading (common/ports.py, VectorIndex)."""

import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from common.domain.errors import EmbeddingInvalid, Misconfigured, Unavailable
from common.domain.index import Lookup
from common.ports import CollectionShape
from tests.contract.indexes import (
    BASE,
    CLOSABLE,
    DIMENSION,
    ENGINES,
    OPEN,
    OTHER,
    QDRANT,
    SHAPE,
    fast_folder,
    make_point,
    new_collection,
    opened,
)

NEAR = (1.0, 0.0, 0.0, 0.0)
SIDE = (0.6, 0.8, 0.0, 0.0)
FAR = (0.0, 0.0, 1.0, 0.0)


@pytest.fixture(params=ENGINES)
def store(request):
    with opened(request.param) as made:
        yield made


def ids(found):
    return [hit.id for hit in found.hits]


# Collections


def test_creating_again_is_accepted_and_loses_nothing(store):
    """When it fails: `create` must compare with what exists, never make it anew."""
    store.upsert(make_point())
    store.index.create(BASE, store.collection, SHAPE)
    assert store.count() == 1


def test_creating_with_another_dimension_is_refused(store):
    """When it fails: look at how the adapter reads the shape of what exists."""
    with pytest.raises(Misconfigured, match=store.collection):
        store.index.create(BASE, store.collection, CollectionShape(DIMENSION + 1))


def test_collections_are_listed_by_base(store):
    """When it fails: the name (or the stored meta) must say whose a collection is."""
    second, foreign = new_collection(), new_collection(OTHER)
    store.index.create(BASE, second, SHAPE)
    store.index.create(OTHER, foreign, SHAPE)
    try:
        assert store.index.collections(BASE) == sorted([store.collection, second])
        assert store.index.collections(OTHER) == [foreign]
        assert store.index.collections("nobody") == []
    finally:
        store.index.drop(BASE, second)
        store.index.drop(OTHER, foreign)


CALLS = {
    "create": lambda index, name: index.create(OTHER, name, SHAPE),
    "drop": lambda index, name: index.drop(OTHER, name),
    "upsert": lambda index, name: index.upsert(OTHER, name, [make_point(base=OTHER)]),
    "sweep": lambda index, name: index.sweep(OTHER, name, "docs/bagagem.md", 9),
    "discard": lambda index, name: index.discard(OTHER, name, "docs/bagagem.md", 1),
    "stored": lambda index, name: index.stored(OTHER, name, "docs/bagagem.md", 1),
    "lookup": lambda index, name: index.lookup(OTHER, name, Lookup(NEAR, {}, 5)),
    "frequencies": lambda index, name: index.frequencies(OTHER, name, [1]),
    "payloads": lambda index, name: index.payloads(OTHER, name, [make_point().id]),
    "passages": lambda index, name: index.passages(OTHER, name, "x", 1),
    "generations": lambda index, name: index.generations(OTHER, name),
    "optimise": lambda index, name: index.optimise(OTHER, name),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_collection_of_another_base_is_refused_by_every_call(store, call):
    """When it fails: a tenant reached another's collection. Each method checks the owner before anything else."""
    store.upsert(make_point())
    with pytest.raises(ValueError, match="base"):
        CALLS[call](store.index, store.collection)
    assert store.count() == 1


def test_a_point_of_another_base_is_refused(store):
    """When it fails: `check_points` no longer compares the payload's base."""
    with pytest.raises(ValueError, match=OTHER):
        store.upsert(make_point(base=OTHER))
    assert store.count() == 0


def test_dropping_is_repeatable_and_final(store):
    """When it fails: a dropped collection must be gone for every call, and come back empty."""
    store.upsert(make_point())
    store.index.drop(BASE, store.collection)
    store.index.drop(BASE, store.collection)
    assert store.index.collections(BASE) == []
    with pytest.raises(Unavailable):
        store.ask(NEAR)
    store.index.create(BASE, store.collection, SHAPE)
    assert store.count() == 0


@pytest.mark.parametrize("call", ["upsert", "stored", "lookup", "frequencies", "payloads", "passages", "generations"])
def test_a_collection_that_is_not_there_is_unavailable(store, call):
    """When it fails: an absent collection must never read as an empty one."""
    with pytest.raises(Unavailable):
        list(CALLS[call](store.index, new_collection(OTHER)))


def test_deleting_from_a_collection_that_is_not_there_does_nothing(store):
    """When it fails: removal has to stay repeatable after the collection itself was retired."""
    store.index.sweep(BASE, new_collection(), "docs/bagagem.md", 9)
    store.index.discard(BASE, new_collection(), "docs/bagagem.md", 1)


@pytest.mark.parametrize("engine", CLOSABLE)
def test_a_closed_index_is_unavailable(engine):
    """When it fails: a call after `close` reached the engine, or closing twice was not allowed."""
    with fast_folder() as folder:
        index = OPEN[engine](folder / "index")
        index.close()
        index.close()
        for call in CALLS.values():
            with pytest.raises(Unavailable):
                call(index, new_collection(OTHER))


# Writing


def test_a_payload_comes_back_as_json_keeps_it(store):
    """When it fails: nulls, nested values, floats or text changed on the way; compare the client's encoding."""
    metadata = {"note": None, "deep": {"list": [1, [2.5, {"x": "ç\u2028\x00"}]]}, "one": 1.0, "yes": True, "big": 2**53}
    point = make_point(text="Água, 🧳 e\r\n\tpreço", metadata=metadata)
    store.upsert(point)
    payload = store.index.payloads(BASE, store.collection, [point.id])[point.id]
    assert payload == point.payload
    assert payload["metadata"]["yes"] is True
    assert isinstance(payload["metadata"]["one"], float)


def test_payloads_leave_out_what_does_not_exist(store):
    """When it fails: an unknown id raised or came back empty."""
    point = make_point()
    store.upsert(point)
    assert list(store.index.payloads(BASE, store.collection, [str(uuid4()), point.id])) == [point.id]
    assert store.index.payloads(BASE, store.collection, []) == {}


def test_writing_again_overwrites(store):
    """When it fails: the same id must be one point, with the newest vectors and payload and no old terms."""
    store.upsert(make_point(vector=NEAR, lexical={1: 1.0, 2: 1.0}))
    store.upsert(make_point(vector=FAR, lexical={2: 2.0}, text="new"))
    (point,) = store.index.stored(BASE, store.collection, "docs/bagagem.md", 1)
    assert (point.payload["text"], point.vector, point.lexical) == ("new", FAR, {2: 2.0})
    assert store.index.frequencies(BASE, store.collection, [1, 2]) == (1, {1: 0, 2: 1})
    assert ids(store.ask(lexical={1: 1.0})) == []


def test_writing_again_without_a_vector_removes_the_old_one(store):
    """When it fails: the engine merged the new point into the old one instead of replacing it."""
    store.upsert(make_point(vector=NEAR, lexical={1: 1.0}))
    store.upsert(make_point(vector=None, lexical={1: 1.0}))
    assert ids(store.ask(NEAR)) == []
    assert [hit.dense for hit in store.ask(NEAR, {1: 1.0}).hits] == [None]


def test_stored_points_come_back_whole_and_in_order(store):
    """When it fails: vectors are copied from here to the next generation, so every number and the order matter."""
    points = [
        make_point("mail.eml", 3, ordinal, source=source, vector=SIDE, lexical={ordinal + 1: 0.5, 4_294_967_295: 2.0})
        for source in ("mail.eml!/a.txt", "mail.eml")
        for ordinal in (10, 2, 1)
    ]
    store.upsert(*points, make_point("mail.eml", 2), make_point("other.md", 3))
    stored = list(store.index.stored(BASE, store.collection, "mail.eml", 3))
    expected = sorted(points, key=lambda point: (point.payload["source"], point.payload["ordinal"]))
    assert [(point.id, point.payload) for point in stored] == [(point.id, point.payload) for point in expected]
    for point, written in zip(stored, expected, strict=True):
        assert point.vector == pytest.approx(written.vector, abs=1e-6)
        assert point.lexical == pytest.approx(written.lexical, rel=1e-6)


def test_many_stored_points_stream(store):
    """When it fails: a page's edge lost or repeated points."""
    store.upsert(*(make_point(ordinal=ordinal) for ordinal in range(1203)))
    ordinals = [p.payload["ordinal"] for p in store.index.stored(BASE, store.collection, "docs/bagagem.md", 1)]
    assert ordinals == list(range(1203))
    assert store.index.generations(BASE, store.collection) == {("docs/bagagem.md", 1): 1203}


def test_a_point_without_vector_is_found_by_its_words(store):
    """When it fails: see how the engine takes a point that lacks the default vector."""
    words = make_point(ordinal=0, vector=None, lexical={7: 1.5})
    dense = make_point(ordinal=1, vector=NEAR)
    store.upsert(words, dense)
    found = store.ask(NEAR, {7: 2.0})
    hits = {hit.id: hit for hit in found.hits}
    assert (hits[words.id].dense, hits[words.id].dense_rank) == (None, None)
    assert (hits[words.id].lexical, hits[words.id].lexical_rank) == (pytest.approx(3.0), 1)
    assert (hits[dense.id].lexical, hits[dense.id].lexical_rank) == (0.0, None)
    assert next(store.index.stored(BASE, store.collection, "docs/bagagem.md", 1)).vector is None


def test_a_point_without_any_vector_is_kept(store):
    """When it fails: a passage of stop words alone would fail its whole document."""
    store.upsert(make_point(vector=None))
    assert store.count() == 1
    assert ids(store.ask(NEAR, {1: 1.0})) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_a_collection_without_dense_vectors(engine):
    """When it fails: dimension 0 stands for words only, from creating to looking up."""
    with opened(engine, CollectionShape(0)) as store:
        store.index.create(BASE, store.collection, CollectionShape(0))
        with pytest.raises(Misconfigured):
            store.index.create(BASE, store.collection, SHAPE)
        store.upsert(make_point(vector=None, lexical={7: 1.0}))
        (hit,) = store.ask(lexical={7: 2.0}).hits
        assert (hit.dense, hit.lexical) == (None, pytest.approx(2.0))
        with pytest.raises(ValueError, match="dimensions"):
            store.upsert(make_point(vector=NEAR))
        with pytest.raises(ValueError, match="dimensions"):
            store.ask(NEAR)


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        ((float("nan"), 0.0, 0.0, 0.0), "NaN"),
        ((0.0, float("inf"), 0.0, 0.0), "infinity"),
        ((0.0, 0.0, 0.0, float("-inf")), "infinity"),
        ((0.0,) * 4, "no direction"),
    ],
)
def test_a_vector_that_is_no_direction_stores_nothing(store, vector, reason):
    """When it fails: Edge stores NaN without a word, so `check_points` has to stand before the first write."""
    with pytest.raises(EmbeddingInvalid, match=reason) as caught:
        store.upsert(make_point(ordinal=0), make_point(ordinal=1, vector=vector), make_point(ordinal=2))
    assert caught.value.position == 1
    assert store.count() == 0


WRONG = {
    "short vector": (ValueError, {"vector": (1.0, 0.0)}),
    "negative term": (ValueError, {"lexical": {-1: 1.0}}),
    "term of 33 bits": (ValueError, {"lexical": {2**32: 1.0}}),
    "weight NaN": (ValueError, {"lexical": {1: float("nan")}}),
    "weight 0": (ValueError, {"lexical": {1: 0.0}}),
    "generation beyond a double": (ValueError, {"generation": 2**53 + 2}),
    "the index's own field": (ValueError, {"_labels": [1]}),
    "bytes": (TypeError, {"title": b"x"}),
    "a set": (TypeError, {"metadata": {"x": {1}}}),
    "NaN in the payload": (TypeError, {"metadata": {"x": float("nan")}}),
    "half a character": (TypeError, {"text": "\ud800"}),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_point_that_cannot_be_stored_stores_nothing(store, case):
    """When it fails: engines differ in what they swallow, so `check_points` decides for all of them."""
    error, change = WRONG[case]
    with pytest.raises(error):
        store.upsert(make_point(ordinal=0), make_point(ordinal=1, **change))
    assert store.count() == 0


# Deleting


def test_sweep_deletes_older_generations_of_one_object(store):
    """When it fails: a newer generation or another object lost points (RULES 2, generations only grow)."""
    big = 1_760_000_000_000_000
    kept = [make_point(generation=big), make_point(generation=big + 1), make_point("docs/bagagem.md.txt", 1)]
    store.upsert(make_point(generation=1), make_point(generation=big - 1), *kept)
    for _ in range(2):
        store.index.sweep(BASE, store.collection, "docs/bagagem.md", big)
        left = {(p.payload["object"], p.payload["generation"]): 1 for p in kept}
        assert store.index.generations(BASE, store.collection) == left


def test_discard_deletes_exactly_one_generation(store):
    """When it fails: a zombie's points are removed by their own generation, nothing beside it."""
    store.upsert(*(make_point(generation=generation) for generation in (1, 2, 3)), make_point("other.md", 2))
    for _ in range(2):
        store.index.discard(BASE, store.collection, "docs/bagagem.md", 2)
        left = {("docs/bagagem.md", 1): 1, ("docs/bagagem.md", 3): 1, ("other.md", 2): 1}
        assert store.index.generations(BASE, store.collection) == left


# Reading


def test_frequencies_are_exact_after_any_churn(store):
    """When it fails: idf is wrong from here on (RULES 13). An engine that estimates needs an exact count."""
    store.upsert(*(make_point(f"{n}.md", lexical={1: 1.0, 2 + n % 2: 1.0}) for n in range(40)))
    for n in range(0, 40, 4):
        store.index.sweep(BASE, store.collection, f"{n}.md", 2)
    store.upsert(*(make_point(f"{n}.md", lexical={4: 1.0}) for n in range(1, 40, 8)))
    expected = {1: 25, 2: 10, 3: 15, 4: 5, 5: 0, 4_294_967_295: 0}
    for _ in range(2):
        assert store.index.frequencies(BASE, store.collection, list(expected)) == (30, expected)
        store.index.optimise(BASE, store.collection)
    assert store.index.frequencies(BASE, store.collection, []) == (30, {})


def test_passages_of_a_document_in_order(store):
    """When it fails: pages of a document are cut from these, so order and completeness matter."""
    points = [make_point("mail.eml", 2, n, source="mail.eml!/a.txt") for n in (3, 0, 11, 2)]
    store.upsert(*points, make_point("mail.eml", 2, 1), make_point("mail.eml", 1, 1, source="mail.eml!/a.txt"))
    document = points[0].payload["document_id"]

    def ordinals(generation, wanted=None):
        found = store.index.passages(BASE, store.collection, document, generation, wanted)
        return [payload["ordinal"] for payload in found]

    assert ordinals(2) == [0, 2, 3, 11]
    assert ordinals(2, {11, 0, 5}) == [0, 11]
    assert ordinals(2, set()) == []
    assert ordinals(3) == []
    assert store.index.passages(BASE, store.collection, document, 2, {3})[0] == points[0].payload


def test_generations_count_points(store):
    """When it fails: reconcile finds orphans and half-written objects by these numbers."""
    assert store.index.generations(BASE, store.collection) == {}
    store.upsert(*(make_point(f"{n % 3}.md", n % 2, n) for n in range(18)))
    assert store.index.generations(BASE, store.collection) == {(f"{n}.md", g): 3 for n in range(3) for g in range(2)}


def test_optimise_and_flush_change_no_answer(store):
    """When it fails: compaction lost or doubled points."""
    store.upsert(*(make_point(f"{n}.md", vector=(1.0, n / 10, 0.0, 0.0), lexical={1: 1.0 + n}) for n in range(9)))
    before = store.ask(NEAR, {1: 1.0})
    store.index.flush()
    store.index.optimise(BASE, store.collection)
    assert store.ask(NEAR, {1: 1.0}) == before


@pytest.mark.parametrize("engine", QDRANT)
def test_an_outside_reader_needs_only_the_alias_and_the_default_vector(engine):
    """When it fails: readers that know the alias, the payload's `text` and cosine must keep working (CONTRACT)."""
    with opened(engine) as store:
        client, second = store.index._client, new_collection()
        store.upsert(make_point(vector=NEAR, text="blue"), make_point(ordinal=1, vector=FAR, text="far"))
        store.index.create(BASE, second, SHAPE)
        store.index.upsert(BASE, second, [make_point(vector=SIDE, text="green")])
        assert store.index.alias(BASE) is None
        for collection, text, score in ((store.collection, "blue", 0.6), (second, "green", 1.0)):
            store.index.set_alias(BASE, collection)
            assert store.index.alias(BASE) == collection
            best = client.query_points(f"{BASE}_kb", query=list(SIDE)).points[0]
            assert (best.payload["text"], best.score) == (text, pytest.approx(score, abs=1e-5))
        with pytest.raises(ValueError, match="belong"):
            store.index.set_alias(OTHER, store.collection)
        store.index.drop(BASE, second)
        assert store.index.alias(BASE) is None


def test_eight_threads_lose_nothing(store):
    """When it fails: the engine, or what the adapter remembers, is not safe between threads."""
    start = threading.Barrier(8)

    def work(worker):
        start.wait()
        for generation in range(1, 7):
            name = f"{worker}.md"
            points = [
                make_point(
                    name, generation, n, vector=(1.0, worker / 8, n / 9, 0.0), lexical={worker + 1: 1.0, 99: 1.0}
                )
                for n in range(5)
            ]
            store.upsert(*points)
            found = store.ask(points[0].vector, {worker + 1: 1.0}, limit=40)
            mine = {hit.id for hit in found.hits if hit.object == name and hit.generation == generation}
            assert mine == {point.id for point in points}
            store.index.sweep(BASE, store.collection, name, generation)
            assert store.index.frequencies(BASE, store.collection, [worker + 1])[1] == {worker + 1: 5}

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert store.index.generations(BASE, store.collection) == {(f"{worker}.md", 6): 5 for worker in range(8)}
    assert store.index.frequencies(BASE, store.collection, [99]) == (40, {99: 40})
