"""A collection of an unknown model under the name of a base, filled by plain qdrant-client, and the cloud's shape
around it in one process: a reader of ours and one from outside look before and after every request that changes
anything, and the process may die there.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from qdrant_client import QdrantClient, models

from common.adapters.frozen_clock import FrozenClock
from common.adapters.hashing_embedder import HashingEmbedder
from common.adapters.memory_catalog import MemoryCatalog
from common.adapters.memory_objects import MemoryObjectStore
from common.adapters.plain_parser import PlainParser
from common.adapters.qdrant_index import QdrantIndex
from common.adapters.signed_puts import SignedPuts
from common.asking import Asking, asking
from common.domain.errors import Refused, Transient
from common.domain.objects import ObjectChange, ObjectRef
from common.domain.reindex import Order
from common.domain.search import Search
from common.loading import Models
from common.runtime import Bucket, Runtime, Work, working
from common.settings import read_settings
from functions.ingest.handle import handle as take_event
from functions.reindex.handle import handle as take_order
from tests.integration.cloud_machine import BUCKET, SETTINGS, event_of
from tests.integration.one_machine import BASE, Killed

ALIAS = f"{BASE}_kb"
E5 = 384
CHANGES = frozenset(
    {"upsert", "delete", "delete_collection", "create_collection", "update_collection_aliases", "transact"}
    | {"update_base", "put_collection", "drop_collection", "drop_documents", "put_documents"}
)
WORDS = {"a1": "jabuticaba", "12": "pitanga", "manual/um.md": "graviola", "longo": "cupuacu", "so.md": "acerola"}
"""A word that each adopted document alone holds."""


def payloads() -> list[tuple[int | str, dict[str, Any]]]:
    """Points as another program wrote them: of several documents, with and without ids, without text, and long."""
    long = " ".join(f"cupuacu{n % 7} verde{n}" for n in range(400)) + " cupuacu"
    return [
        (1, {"text": "A jabuticaba amadurece no tronco.", "document_id": "a1", "chunk_index": 0}),
        (2, {"text": "E a colheita vem em setembro.", "document_id": "a1", "chunk_index": 1}),
        (3, {"text": "A pitanga tem oito gomos.", "document_id": 12, "lang": "pt"}),
        (4, {"text": "A pitanga tem oito gomos.", "document_id": 12, "lang": "pt"}),
        (5, {"text": "", "document_id": "a1", "chunk_index": 2}),
        (6, {"document_id": "vazio"}),
        (7, {"text": "A graviola pesa dois quilos.", "document_id": "b2", "source": "manual/um.md"}),
        (8, {"text": long, "document_id": "longo"}),
        ("0f0e0d0c-0b0a-4908-8706-050403020100", {"text": "A acerola azeda cedo.", "source": "so.md"}),
        (9, {"text": "Um umbu sem dono.", "document_id": None}),
    ]


def fill(client: QdrantClient, name: str = ALIAS) -> None:
    """What there is before: plain vectors of an unknown model."""
    chance = random.Random(7)  # noqa: S311 - vectors that say nothing
    client.create_collection(name, models.VectorParams(size=E5, distance=models.Distance.COSINE))
    points = [
        models.PointStruct(id=key, vector=[chance.gauss(0, 1) for _ in range(E5)], payload=payload)
        for key, payload in payloads()
    ]
    client.upsert(name, points)


class Watched:
    """A client or a catalog whose changes are boundaries."""

    def __init__(self, port: Any, boundary: Callable[[str], None]) -> None:
        self._port, self._boundary = port, boundary

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if name not in CHANGES:
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            about = f" {args[0]}" if args and isinstance(args[0], str) else ""
            self._boundary(f"before {name}{about}")
            answer = method(*args, **kwargs)
            self._boundary(f"after {name}{about}")
            return answer

        return call


@dataclass
class AdoptingMachine:
    """`answered` is set once a start has answered: from then on no question may fail."""

    client: QdrantClient = field(default_factory=lambda: QdrantClient(":memory:"))
    catalog: MemoryCatalog = field(default_factory=MemoryCatalog)
    clock: FrozenClock = field(default_factory=lambda: FrozenClock(1_000_000.0))
    embedder: HashingEmbedder = field(default_factory=HashingEmbedder)
    mail: list[ObjectChange] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=lambda: dict(WORDS))
    settings: dict[str, str] = field(default_factory=dict)
    answered: bool = False
    switching: bool = False
    kill_after: int | None = None
    boundaries: list[str] = field(default_factory=list)
    on_boundary: Callable[[str], None] = lambda _: None
    looks: int = 0
    gone: list[str] = field(default_factory=list)
    """Boundaries at which a reader from outside found nothing under the name."""
    reader: Asking = field(init=False)
    runtime: Runtime = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryObjectStore(self.mail.append, self.clock, first_generation=1_790_000_000)
        self.reader = self._asking(self.client, self.catalog)
        side = self._asking(Watched(self.client, self.boundary), Watched(self.catalog, self.boundary))
        bucket = Bucket(self.store, BUCKET, self.mail.append, list, SignedPuts(self.clock).sign)
        work = working(side, bucket, Work(PlainParser()), self.orders.append)
        self.runtime = Runtime(**{each.name: getattr(side, each.name) for each in fields(side)}, **work)

    def _asking(self, client: Any, catalog: Any) -> Asking:
        settings = read_settings(SETTINGS | self.settings)
        index = QdrantIndex(client, lambda base: f"{base}_kb")
        return asking(settings, self.clock, catalog, index, Models(settings.models, "", self.embedder), lambda: None)

    @property
    def record(self) -> Any:
        return self.catalog.base(BASE)

    @property
    def reindexing(self) -> Any:
        return self.runtime.reindexing

    def boundary(self, name: str) -> None:
        self.boundaries.append(name)
        self.look(name)
        self.on_boundary(name)
        # Behind a change is where the next one begins.
        if self.kill_after is not None and name.startswith("before"):
            self.kill_after -= 1
            if self.kill_after < 0:
                self.kill_after = None
                raise Killed

    def look(self, name: str = "") -> None:
        """Ours finds every document in green, and the one from outside something under the name."""
        if ALIAS not in {*self.names(), *self.aliases()}:
            assert self.switching, name
            self.gone.append(name)
        if not self.answered:
            return
        self.looks += 1
        for source, word in self.words.items():
            answer = self.ask(word)
            assert source in {passage.source for passage in answer.passages}, (name, source)
            assert answer.collection == self.record.reindex.green
            assert answer.degraded == bool(self.record.reindex.by_words)

    def ask(self, word: str) -> Any:
        return self.reader.answers.answer(BASE, Search(word, top_k=20, threshold=None))

    def names(self) -> set[str]:
        return {known.name for known in self.client.get_collections().collections}

    def aliases(self) -> dict[str, str]:
        return {known.alias_name: known.collection_name for known in self.client.get_aliases().aliases}

    def start(self, **options: Any) -> Any:
        begun = self.reindexing.start(BASE, **options)
        self.answered = True
        return begun

    def command(self, name: str) -> Any:
        """A command that is said again when the process died over it."""
        self.switching = name == "switch"
        try:
            return getattr(self.reindexing, name)(BASE)
        except Killed:
            self.clock.advance(61)
            return getattr(self.reindexing, name)(BASE)
        finally:
            self.switching = False

    def put(self, name: str, text: str) -> None:
        self.store.write(ObjectRef(BASE, name), text.encode())

    def settle(self) -> None:
        """Deliver until nothing is left; what a dead process had comes again, once its leases are over."""
        for _ in range(2000):
            if self.orders:
                self._take(self.orders, lambda order: take_order(order.as_json(), self.runtime))
            elif self.mail:
                self._take(self.mail, lambda change: take_event(event_of(change, direct=False), self.runtime))
            else:
                return
        raise AssertionError(f"never done: {self.orders} {self.mail}")

    def _take(self, waiting: list[Any], handle: Callable[[Any], None]) -> None:
        taken = waiting.pop(0)
        try:
            handle(taken)
        except (Killed, Transient):
            waiting.append(taken)
            self.clock.advance(61)

    def stored(self) -> dict[str, Any]:
        """Green as a reader from outside sees it."""
        records, _ = self.client.scroll(ALIAS, limit=1000, with_payload=True, with_vectors=True)
        return {str(record.id): record for record in records}


def foreign_points(client: QdrantClient, name: str) -> dict[Any, Any]:
    records, _ = client.scroll(name, limit=1000, with_payload=True, with_vectors=True)
    # Cosine normalises what is written: a vector that was copied differs by the last bit.
    return {record.id: (record.payload, tuple(round(x, 5) for x in record.vector)) for record in records}


def refused(call: Callable[[], Any]) -> Refused:
    try:
        call()
    except Refused as error:
        return error
    raise AssertionError("it was not refused")
