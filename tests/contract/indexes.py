"""The vector indexes that the contract suite runs on, and the points it writes.

Every collection has a name of its own, so that a shared server can hold many runs.
"""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from qdrant_client import QdrantClient

from common.adapters.edge_index import EdgeIndex
from common.adapters.memory_index import MemoryIndex
from common.adapters.qdrant_index import QdrantIndex, connect
from common.domain.index import Found, IndexFilter, Lookup, Point, point_id
from common.domain.objects import ObjectRef, document_id
from common.ports import CollectionShape, VectorIndex
from tests.contract.qdrant_engine import EngineCollections
from tests.contract.qdrant_rest import RestQdrant

SERVER = os.environ.get("KB_TEST_QDRANT_URL", "")
BASE = "agency"
OTHER = "rival"
DIMENSION = 4
SHAPE = CollectionShape(DIMENSION)

_SERVER = pytest.param(
    "qdrant-server",
    marks=pytest.mark.skipif(not SERVER, reason="KB_TEST_QDRANT_URL names no Qdrant server to test against"),
)
QDRANT = ("qdrant-local", "qdrant-rest", "qdrant-engine", _SERVER)
CLOSABLE = ("edge", *QDRANT)
ENGINES = ("memory", *CLOSABLE)


def alias_of(base: str) -> str:
    return f"{base}_kb"


def new_collection(base: str = BASE) -> str:
    return f"{alias_of(base)}__{secrets.token_hex(6)}"


@dataclass
class Opened:
    """An index with one collection of BASE in it."""

    index: VectorIndex
    collection: str = field(default_factory=new_collection)

    def upsert(self, *points: Point) -> None:
        self.index.upsert(BASE, self.collection, points)

    def ask(self, dense=None, lexical=None, limit=10, *, dead=(), **conditions) -> Found:
        lookup = Lookup(dense, lexical or {}, limit, IndexFilter(**conditions), frozenset(dead))
        return self.index.lookup(BASE, self.collection, lookup)

    def count(self) -> int:
        return sum(self.index.generations(BASE, self.collection).values())


@contextmanager
def fast_folder() -> Iterator[Path]:
    """A folder in memory where the system has one: a hundred collections are made, each with its writes forced out."""
    memory = Path("/dev/shm")  # noqa: S108
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@contextmanager
def opened(engine: str, shape: CollectionShape = SHAPE) -> Iterator[Opened]:
    with fast_folder() as folder:
        made = Opened(OPEN[engine](folder / "index"))
        made.index.create(BASE, made.collection, shape)
        yield made
        if engine == "qdrant-server":
            made.index.drop(BASE, made.collection)
        made.index.close()


OPEN: dict[str, Callable[[Path], VectorIndex]] = {
    "memory": lambda _: MemoryIndex(),
    "edge": EdgeIndex,
    "qdrant-local": lambda _: QdrantIndex(QdrantClient(":memory:"), alias_of),
    "qdrant-rest": lambda _: QdrantIndex(RestQdrant().client(), alias_of),
    "qdrant-engine": lambda folder: QdrantIndex(RestQdrant(engine=EngineCollections(folder)).client(), alias_of),
    "qdrant-server": lambda _: QdrantIndex(connect(SERVER, os.environ.get("KB_TEST_QDRANT_API_KEY")), alias_of),
}


def make_point(
    name: str = "docs/bagagem.md",
    generation: int = 1,
    ordinal: int = 0,
    *,
    vector: tuple[float, ...] | None = (1.0, 0.0, 0.0, 0.0),
    lexical: dict[int, float] | None = None,
    source: str = "",
    base: str = BASE,
    **payload,
) -> Point:
    """A passage as the stages store it; `payload` adds to or replaces what CONTRACT's "Stored point" lists."""
    ref, source, weights = ObjectRef(base, name), source or name, lexical or {}
    return Point(
        id=point_id(ref, generation, source, ordinal),
        vector=vector,
        lexical=weights,
        payload={
            "text": f"passage {ordinal} of {source}",
            "document_id": document_id(ref, source),
            "job_id": "0" * 32,
            "object": name,
            "base": base,
            "source": source,
            "title": "Bagagem",
            "headings": ["Bagagem", "Mão"],
            "page": None,
            "lines": [1, 4],
            "start": 0,
            "end": 20,
            "before": "\n\n",
            "ordinal": ordinal,
            "kind": "paragraph",
            "generation": generation,
            "terms": sorted(weights),
            "category": "",
            "metadata": {},
            **payload,
        },
    )
