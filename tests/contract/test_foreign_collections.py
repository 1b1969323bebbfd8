"""What every index promises of collections that are not ours (common/ports/foreign.py, ForeignCollections)."""

import secrets
from contextlib import contextmanager, suppress

import pytest
from qdrant_client import QdrantClient, models

from common.adapters.memory_index import MemoryIndex
from common.adapters.qdrant_index import QdrantIndex
from common.domain.errors import Misconfigured, Unavailable
from common.domain.foreign import ForeignPoint
from tests.contract.indexes import OPEN, QDRANT, SHAPE, fast_folder, make_point, opened

UUID = "0f0e0d0c-0b0a-4908-8706-050403020100"
POINTS = [
    ForeignPoint(1, {"text": "um", "document_id": "a"}),
    ForeignPoint(2, {"text": "dois", "document_id": "a", "n": [1, 2]}),
    ForeignPoint(UUID, {"text": "tres"}),
]


class Case:
    """An index with a base of its own, under whose alias name another program wrote."""

    def __init__(self, index):
        self.index = index
        self.foreign = index.foreign
        self.base = f"agency_{secrets.token_hex(4)}"
        self.alias = f"{self.base}_kb"
        self.collection = f"{self.alias}__{secrets.token_hex(6)}"

    def fill(self, count=3):
        if isinstance(self.index, MemoryIndex):
            self.foreign.put(self.base, POINTS[:count])
            return
        client = self.index._client
        with suppress(Exception):
            client.delete_collection(self.alias)
        vectors = {
            "": models.VectorParams(size=3, distance=models.Distance.DOT),
            "title": models.VectorParams(size=2, distance=models.Distance.EUCLID),
        }
        sparse = {"words": models.SparseVectorParams(modifier=models.Modifier.IDF)}
        client.create_collection(self.alias, vectors_config=vectors, sparse_vectors_config=sparse)
        words = models.SparseVector(indices=[7], values=[0.5])
        vector = {"": [3.0, 4.0, 5.0], "title": [1.0, 9.0], "words": words}
        points = [models.PointStruct(id=p.id, vector=vector, payload=dict(p.payload)) for p in POINTS[:count]]
        client.upsert(self.alias, points, wait=True)

    def make(self):
        self.index.create(self.base, self.collection, SHAPE)
        self.index.upsert(self.base, self.collection, [make_point(base=self.base)])

    def read(self):
        return list(self.foreign.points(self.base))

    def close(self):
        for name in (self.alias, f"{self.alias}__before", self.collection):
            if isinstance(self.index, QdrantIndex):
                self.index._client.delete_collection(name)


@contextmanager
def case_of(engine):
    with fast_folder() as folder:
        case = Case(OPEN[engine](folder / "index"))
        yield case
        case.close()
        case.index.close()


@pytest.fixture(params=("memory", *QDRANT))
def case(request):
    with case_of(request.param) as made:
        yield made


def in_order(points):
    return sorted(points, key=lambda point: str(point.id))


def test_it_is_found_by_the_name_of_the_alias_and_read_whole(case):
    """When it fails: start would not report it, or an adoption would lose points."""
    assert case.foreign.of(case.base) is None
    case.fill()
    found = case.foreign.of(case.base)
    assert found.points == 3
    assert case.base in case.foreign.bases()
    assert in_order(case.read()) == in_order(POINTS)
    assert case.foreign.read(case.base, [UUID, 99, 1]) == [POINTS[2], POINTS[0]]


def test_where_there_is_none_nothing_reads_as_empty(case):
    """When it fails: an adoption of what is gone would end as one of an empty collection."""
    with pytest.raises(Unavailable):
        case.read()
    with pytest.raises(Unavailable):
        case.foreign.read(case.base, [1])


def test_one_of_ours_under_the_alias_is_none(case):
    """When it fails: a base of ours would be adopted once more."""
    case.make()
    case.index.set_alias(case.base, case.collection)
    assert case.foreign.of(case.base) is None
    assert case.base not in case.foreign.bases()


def test_an_alias_never_takes_the_place_of_a_collection_by_itself(case):
    """When it fails: a foreign collection was lost without being kept."""
    case.fill()
    case.make()
    with pytest.raises(Misconfigured, match="alias"):
        case.index.set_alias(case.base, case.collection)
    assert in_order(case.read()) == in_order(POINTS)


def test_it_is_kept_replaced_and_restored(case):
    """When it fails: a rollback has nothing to go back to, or readers from outside find the wrong collection."""
    case.fill()
    case.make()
    name = case.foreign.of(case.base).name
    case.foreign.keep(case.base)
    assert case.foreign.of(case.base).name == name
    for _ in range(2):
        case.foreign.replace(case.base, case.collection)
        assert case.index.alias(case.base) == case.collection
        assert case.foreign.of(case.base) is None
    for _ in range(2):
        case.foreign.restore(case.base, name)
        assert in_order(case.read()) == in_order(POINTS)
        assert case.index.alias(case.base) == case.foreign.of(case.base).name != name
    case.foreign.release(case.base)
    assert in_order(case.read()) == in_order(POINTS)
    case.foreign.replace(case.base, case.collection)
    for _ in range(2):
        case.foreign.release(case.base)
    case.foreign.restore(case.base, name)
    assert case.index.alias(case.base) == case.collection


def test_what_came_meanwhile_is_kept_too(case):
    """When it fails: the copy was made once and its points never compared with the collection's again."""
    case.fill(count=2)
    case.make()
    case.foreign.keep(case.base)
    case.fill(count=3)
    case.foreign.replace(case.base, case.collection)
    case.foreign.restore(case.base, case.alias if isinstance(case.index, QdrantIndex) else case.base)
    assert len(case.read()) == 3


@pytest.mark.parametrize("engine", QDRANT)
def test_the_copy_has_every_vector(engine):
    """When it fails: who goes back finds no vectors, or another distance."""
    with case_of(engine) as case:
        case.fill()
        case.make()
        client = case.index._client
        before, _ = client.scroll(case.alias, limit=10, with_vectors=True)
        shape = client.get_collection(case.alias).config.params
        case.foreign.replace(case.base, case.collection)
        case.foreign.restore(case.base, case.alias)
        after, _ = client.scroll(case.alias, limit=10, with_vectors=True)
        kept = client.get_collection(f"{case.alias}__before").config.params
        assert (kept.vectors, kept.sparse_vectors) == (shape.vectors, shape.sparse_vectors)
        assert [(r.id, r.payload, r.vector) for r in after] == [(r.id, r.payload, r.vector) for r in before]


def test_a_copy_that_was_broken_off_is_made_anew():
    """When it fails: half a copy passes for the whole, and the collection is deleted."""
    case = Case(QdrantIndex(QdrantClient(":memory:"), lambda base: f"{base}_kb"))
    case.fill()
    case.make()
    client = case.index._client
    client.create_collection(f"{case.alias}__before", models.VectorParams(size=1, distance=models.Distance.COSINE))
    case.foreign.replace(case.base, case.collection)
    assert client.count(f"{case.alias}__before").count == 3


def test_one_machine_has_none():
    """When it fails: the folder of one machine is read by nobody else, so nothing else can stand there."""
    with opened("edge") as store:
        foreign = store.index.foreign
        assert (foreign.of("agency"), list(foreign.bases())) == (None, [])
        with pytest.raises(Unavailable):
            foreign.points("agency")
        with pytest.raises(Unavailable):
            foreign.read("agency", [1])
        foreign.keep("agency")
        foreign.replace("agency", "x")
        foreign.restore("agency", "x")
        foreign.release("agency")
