"""What every vector index promises of a look-up and its filters (common/ports.py, VectorIndex)."""

import pytest

from common.domain.errors import Refused
from tests.contract.indexes import ENGINES, make_point, opened

NEAR = (1.0, 0.0, 0.0, 0.0)
SIDE = (0.6, 0.8, 0.0, 0.0)
FAR = (0.0, 0.0, 1.0, 0.0)


@pytest.fixture(params=ENGINES)
def store(request):
    with opened(request.param) as made:
        yield made


def ids(found):
    return [hit.id for hit in found.hits]


def test_both_lists_with_ranks_and_true_scores(store):
    """When it fails: see the second batch; a candidate of one list lacks its score of the other."""
    both = make_point(ordinal=0, vector=SIDE, lexical={1: 1.0, 2: 0.5})
    near = make_point(ordinal=1, vector=NEAR, lexical={2: 0.25})
    far = make_point(ordinal=2, vector=FAR, lexical={1: 2.0})
    unasked = make_point(ordinal=3, vector=(-1.0, 0.0, 0.0, 0.0), lexical={3: 9.0})
    store.upsert(both, near, far, unasked)
    found = store.ask(NEAR, {1: 3.0, 2: 1.0}, limit=1)
    scores = {hit.id: (hit.dense, hit.lexical, hit.dense_rank, hit.lexical_rank) for hit in found.hits}
    assert scores == {
        near.id: (pytest.approx(1.0, abs=1e-5), pytest.approx(0.25, abs=1e-5), 1, None),
        far.id: (pytest.approx(0.0, abs=1e-5), pytest.approx(6.0, abs=1e-5), None, 1),
    }
    found = store.ask(NEAR, {1: 3.0, 2: 1.0}, limit=3)
    assert [(hit.id, hit.dense_rank, hit.lexical_rank) for hit in found.hits] == [
        (near.id, 1, 3),
        (both.id, 2, 2),
        (far.id, 3, 1),
    ]


def test_a_hit_says_where_its_passage_stands(store):
    """When it fails: answers are filtered by these fields; a stale memory of places shows here too."""
    point = make_point("mail.eml", 7, 5, source="mail.eml!/a.txt", vector=SIDE)
    store.upsert(point)
    for _ in range(2):
        (hit,) = store.ask(SIDE).hits
        assert (hit.id, hit.object, hit.generation, hit.ordinal) == (point.id, "mail.eml", 7, 5)
        assert hit.document_id == point.payload["document_id"]


def test_a_question_of_one_kind(store):
    """When it fails: without a dense question there is no cosine, without terms every BM25 is 0."""
    store.upsert(make_point(vector=SIDE, lexical={1: 1.0}))
    (words,) = store.ask(lexical={1: 2.0}).hits
    assert (words.dense, words.dense_rank, words.lexical) == (None, None, pytest.approx(2.0))
    (dense,) = store.ask(NEAR).hits
    assert (dense.dense, dense.lexical, dense.lexical_rank) == (pytest.approx(0.6, abs=1e-5), 0.0, None)
    assert store.ask().hits == ()


def test_the_lexical_list_holds_only_points_that_share_a_term(store):
    """When it fails: points of score 0 fill the list and count as candidates."""
    store.upsert(*(make_point(ordinal=n, vector=FAR, lexical={n: 1.0}) for n in range(1, 6)))
    assert len(store.ask(lexical={2: 1.0, 99: 1.0}).hits) == 1


@pytest.mark.parametrize(("limit", "full"), [(2, True), (3, False)])
def test_full_says_whether_more_may_exist(store, limit, full):
    """When it fails: a look-up is repeated without the dead only when a list was full (RULES 12)."""
    store.upsert(*(make_point(ordinal=n, vector=SIDE, lexical={1: 1.0 + n}) for n in range(2)))
    assert store.ask(NEAR, limit=limit).full is full
    assert store.ask(lexical={1: 1.0}, limit=limit).full is full


def test_nothing_is_found_for_no_limit(store):
    """When it fails: engines refuse a limit of 0 in different ways."""
    store.upsert(make_point())
    assert (store.ask(NEAR, limit=0).hits, store.ask(NEAR, limit=0).full) == ((), False)


def test_equal_scores_are_ordered_by_id(store):
    """When it fails: the same question would rank twins differently from call to call."""
    points = [make_point(ordinal=n, vector=SIDE, lexical={1: 1.0}) for n in range(12)]
    store.upsert(*reversed(points))
    ordered = sorted(point.id for point in points)
    assert ids(store.ask(SIDE, limit=12)) == ordered
    assert ids(store.ask(lexical={1: 1.0}, limit=12)) == ordered


def test_the_dead_are_left_out_of_both_lists(store):
    """When it fails: a pair must be excluded as a pair, not its object nor its generation alone."""
    dead = [make_point("a.md", 1, vector=NEAR, lexical={1: 9.0}), make_point("a.md", 4, vector=NEAR, lexical={1: 9.0})]
    alive = [make_point("a.md", 2, vector=SIDE, lexical={1: 1.0}), make_point("b.md", 1, vector=FAR, lexical={1: 0.5})]
    store.upsert(*dead, *alive)
    found = store.ask(NEAR, {1: 1.0}, limit=2, dead={("a.md", 1), ("a.md", 4), ("c.md", 2)})
    assert ids(found) == [point.id for point in alive]


@pytest.mark.parametrize("question", [(1.0, 0.0), (float("nan"), 0.0, 0.0, 0.0)])
def test_a_question_that_is_no_vector_of_this_space_is_refused(store, question):
    """When it fails: the query function would search a foreign space (DESIGN, what must always hold, 6)."""
    store.upsert(make_point())
    with pytest.raises(ValueError, match="question"):
        store.ask(question)


# Filters

METADATA = {
    "a": {
        "lang": "pt",
        "year": 2026,
        "price": 1.5,
        "draft": True,
        "tags": ["mala", "mão"],
        "a.b": "dot",
        "a b": "gap",
        'a"\\': "odd",
    },
    "b": {"lang": "en", "year": 2026.0, "price": 2, "draft": 1, "tags": ["mala"], "a": {"b": "deep"}, "2": ["x", 7]},
    "c": {"lang": "PT", "year": "2026", "price": 0.1 + 0.2, "draft": False, "tags": [], "nothing": None},
}

FILTERS = {
    "a text": ({"lang": ("pt",)}, "a"),
    "any of a key's values": ({"lang": ("pt", "en")}, "ab"),
    "all keys": ({"lang": ("pt", "en"), "tags": ("mão",)}, "a"),
    "an integer is a float of its value": ({"year": (2026,)}, "ab"),
    "a float is an integer of its value": ({"price": (2.0,)}, "b"),
    "a number is no text": ({"year": ("2026",)}, "c"),
    "a float exactly": ({"price": (1.5,)}, "a"),
    "a float to the last bit": ({"price": (0.3,)}, ""),
    "the same bits": ({"price": (0.1 + 0.2,)}, "c"),
    "true is not 1": ({"draft": (True,)}, "a"),
    "1 is not true": ({"draft": (1,)}, "b"),
    "false": ({"draft": (False,)}, "c"),
    "any element of a list": ({"tags": ("mala",)}, "ab"),
    "kinds side by side": ({"2": (7, "y")}, "b"),
    "any of different kinds": ({"draft": (False, 1, "no")}, "bc"),
    "a dot is part of the key": ({"a.b": ("dot",)}, "a"),
    "no way into nested values": ({"a.b": ("deep",)}, ""),
    "a space in the key": ({"a b": ("gap",)}, "a"),
    "quotes in the key": ({'a"\\': ("odd",)}, "a"),
    "an unknown key": ({"brand": ("x",)}, ""),
    "no value at all": ({"lang": ()}, ""),
}


@pytest.mark.parametrize("case", FILTERS)
def test_metadata_filters(store, case):
    """When it fails: see `labels_of`: what a passage is indexed under and what a filter asks for must meet."""
    condition, expected = FILTERS[case]
    store.upsert(*(make_point(f"{name}.md", lexical={1: 1.0}, metadata=data) for name, data in METADATA.items()))
    for question in ({"dense": NEAR}, {"lexical": {1: 1.0}}):
        found = store.ask(**question, metadata=condition)
        assert {hit.object for hit in found.hits} == {f"{name}.md" for name in expected}


def test_a_filter_holds_for_both_lists(store):
    """When it fails: the condition is missing from one query of the batch."""
    store.upsert(
        make_point("a.md", vector=NEAR, lexical={1: 1.0}, category="visa"),
        make_point("b.md", vector=SIDE, lexical={1: 9.0}, category="price"),
        make_point("c.md", vector=FAR, lexical={1: 5.0}, category="price"),
    )
    found = store.ask(NEAR, {1: 1.0}, limit=1, categories=("visa", "none"))
    assert [(hit.object, hit.dense_rank, hit.lexical_rank) for hit in found.hits] == [("a.md", 1, 1)]
    assert len(store.ask(NEAR, {1: 1.0}, categories=("visa", "price")).hits) == 3


def test_documents_restrict_the_look_up(store):
    """When it fails: no documents at all means nothing, None means everything."""
    points = [make_point(f"{name}.md") for name in "abc"]
    store.upsert(*points)
    wanted = tuple(point.payload["document_id"] for point in points[:2])
    assert {hit.object for hit in store.ask(NEAR, documents=(*wanted, "unknown")).hits} == {"a.md", "b.md"}
    assert store.ask(NEAR, documents=()).hits == ()
    assert len(store.ask(NEAR, documents=None).hits) == 3
    assert len(store.ask(NEAR, documents=wanted, metadata={"x": (1,)}).hits) == 0


@pytest.mark.parametrize("value", [None, [1], {"b": 1}, float("nan"), float("inf")])
def test_a_filter_that_cannot_be_looked_up_is_the_callers_error(store, value):
    """When it fails: such a filter must be a 400, neither a crash nor an empty answer."""
    store.upsert(make_point())
    with pytest.raises(Refused) as caught:
        store.ask(NEAR, metadata={"x": (1, value)})
    assert (caught.value.status, caught.value.code) == (400, "BAD_FILTER")
