"""The cloud's shape in one process under a frozen clock: a bucket that numbers its versions, a broker that delivers
late, again and in any order, and workers that stand still at every boundary until they are told to go on.
"""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from cloudevents.http import CloudEvent

from common.adapters.frozen_clock import FrozenClock
from common.adapters.hashing_embedder import HashingEmbedder
from common.adapters.memory_catalog import MemoryCatalog
from common.adapters.memory_index import MemoryIndex
from common.adapters.memory_objects import MemoryObjectStore
from common.adapters.plain_parser import PlainParser
from common.adapters.signed_puts import SignedPuts
from common.asking import Asking, asking
from common.domain.documents import Parsed
from common.domain.errors import Transient
from common.domain.notifications import write_notification
from common.domain.objects import ObjectChange, ObjectRef
from common.domain.reindex import Order
from common.identity import Authenticate
from common.loading import Models
from common.ports import Catalog, Clock, Delivery, Embedder, Message, VectorIndex
from common.runtime import Bucket, Runtime, Work, working
from common.settings import read_settings
from functions.ingest.handle import handle
from functions.local.workers import push
from tests.integration.one_machine import BASE, Killed, check_settled, marked, whole
from tests.integration.standing_workers import (
    CATALOG_CALLS,
    INDEX_CALLS,
    STORE_CALLS,
    Standing,
    Worker,
    pause,
    stopping,
)

BUCKET = "kb-test"
SETTINGS = {
    "KB_MODE": "cloud",
    "KB_BUCKET": BUCKET,
    "QDRANT_URL": "http://qdrant.test",
    "GOOGLE_CLOUD_PROJECT": "fichario-test",
    "KB_AUTH": "jwt",
    "KB_JWT_SECRET": "a secret that only this test knows",
    "KB_CACHE_TTL": "0",
}
_DIRECT = {"finalize": "finalized", "delete": "deleted", "archive": "archived"}


class SplittingParser:
    """Takes the halves of a long enough file whose name starts with `varios` for two documents, as mail and attachment
    are.
    """

    def parse(self, data: bytes, name: str, content_type: str = "") -> Parsed:
        plain = PlainParser()
        middle = data.find(b"\n\n", len(data) // 2) if name.startswith("varios") else -1
        if middle < 0:
            return plain.parse(data, name, content_type)
        first, second = (plain.parse(half, name, content_type) for half in (data[:middle], data[middle:]))
        attached = tuple(replace(each, source=f"{name}!/anexo") for each in second.documents)
        return Parsed((*first.documents, *attached), first.warnings + second.warnings)


class CountingEmbedder(HashingEmbedder):
    """Says how often each passage was embedded; its vectors say nothing."""

    def __init__(self) -> None:
        super().__init__(8)
        self.passages: Counter[str] = Counter()
        self._lock = threading.Lock()

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        with self._lock:
            self.passages.update(texts)
        return [[1.0, *[0.0] * 7] for _ in texts]


def event_of(change: ObjectChange, *, direct: bool) -> CloudEvent:
    """The change as a pushed notification, or as Eventarc's direct event, which names no successor."""
    attributes, resource = write_notification(change, BUCKET)
    if not direct:
        return push(Delivery("1", "kb-events", Message(resource, attributes), 1))
    kind = f"google.cloud.storage.object.v1.{_DIRECT[change.kind]}"
    source = f"//storage.googleapis.com/projects/_/buckets/{BUCKET}"
    return CloudEvent({"type": kind, "source": source, "subject": f"objects/{change.ref.key}"}, resource)


@dataclass
class CloudMachine:
    """`mail` is what the broker still has to deliver, in no order; `workers` are those that stand somewhere."""

    catalog: Catalog = field(default_factory=MemoryCatalog)
    index: VectorIndex = field(default_factory=MemoryIndex)
    embedder: Embedder = field(default_factory=lambda: HashingEmbedder(8))
    clock: Clock = field(default_factory=lambda: FrozenClock(1_000_000.0))
    versioned: bool = False
    direct: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    mail: list[ObjectChange] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    windows: bool = True
    looked: bool = False
    store: MemoryObjectStore = field(init=False)
    reader: Asking = field(init=False)
    runtime: Runtime = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryObjectStore(
            self.mail.append, self.clock, versioned=self.versioned, first_generation=1_790_000_000
        )
        self.reader = self._asking(self.catalog, self.index)
        calls = (CATALOG_CALLS, INDEX_CALLS, STORE_CALLS) if self.windows else (frozenset(),) * 3
        ports = (self.catalog, self.index, self.store)
        catalog, index, store = (Standing(*each, self._wrote) for each in zip(ports, calls, strict=True))
        side = self._asking(catalog, index)
        bucket = Bucket(store, BUCKET, self.mail.append, list, SignedPuts(self.clock).sign)
        work = working(side, bucket, Work(SplittingParser(), stopping, pause), self.orders.append)
        self.runtime = Runtime(**{each.name: getattr(side, each.name) for each in fields(side)}, **work)

    def _asking(self, catalog: Any, index: Any) -> Asking:
        settings = read_settings(SETTINGS | self.settings)
        return asking(settings, self.clock, catalog, index, Models(settings.models, "", self.embedder), lambda: None)

    def reader_as(self, authenticate: Authenticate) -> Asking:
        """The query side, answering whom `authenticate` lets in."""
        return replace(self.reader, authenticate=authenticate)

    def put(self, name: str, data: bytes) -> ObjectChange:
        """Another program writes to the bucket."""
        self.names.add(name)
        stat = self.store.write(ObjectRef(BASE, f"{name}.md"), data)
        return ObjectChange("finalize", stat.ref, stat.generation, stat.size)

    def start(self, change: ObjectChange) -> Worker:
        """A worker that was handed this message and has not begun."""
        event = event_of(change, direct=self.direct)
        worker = Worker(change, lambda: handle(event, self.runtime))
        self.workers.append(worker)
        return worker

    def let(self, worker: Worker, boundaries: int | None = None) -> bool:
        """Let it pass that many boundaries, or come to its end, with a reader at each. False when it has ended."""
        passed = 0
        while boundaries is None or passed < boundaries:
            going = worker.resume()
            self.look()
            if not going:
                self.part(worker)
                return False
            passed += 1
        return True

    def kill(self, worker: Worker) -> None:
        worker.kill()
        self.part(worker)

    def part(self, worker: Worker) -> None:
        """What the broker makes of a worker's end: only one that returned has its message acknowledged."""
        self.workers.remove(worker)
        if isinstance(worker.error, Killed | Transient):
            self.mail.append(worker.change)
        elif worker.error is not None:
            raise worker.error

    def job(self, change: ObjectChange) -> Any:
        return self.catalog.job(BASE, change.job_id)

    def seen(self, name: str) -> tuple[int, int] | None:
        return whole(self.reader.answers, name)

    def _wrote(self) -> None:
        self.looked = False

    def look(self) -> None:
        """Every document that the catalog says answers is found, whole, and no other one is. Where nothing was written
        since the last look, another one would find the same.
        """
        if self.looked:
            return
        self.looked = True
        for name in self.names:
            known = self.catalog.object(ObjectRef(BASE, f"{name}.md"))
            answering = known.passages if known is not None and known.live is not None else 0
            found = self.seen(name)
            assert (found[1] if found else 0) == answering, f"{name}: {found} of {answering} passages"

    def drain(self) -> None:
        """Deliver until nothing is left, oldest first; what comes back waits its turn."""
        for _ in range(2000):
            if not self.mail:
                return
            before = len(self.mail)
            self.let(self.start(self.mail.pop(0)))
            if len(self.mail) >= before:
                self.clock.advance(7.0)  # type: ignore[attr-defined]  # a frozen clock
        raise AssertionError(f"the broker is never done: {self.mail}")

    def settle(self, *, sleepers_last: bool, again: bool) -> None:
        """Everything that is still to happen happens; with `again` the messages of workers that stand come anew."""
        if again:
            self.mail += [worker.change for worker in self.workers]
        if sleepers_last:
            self.drain_around_sleepers()
        while self.workers:
            self.let(self.workers[0])
        self.drain()

    def drain_around_sleepers(self) -> None:
        """Deliver everything while the workers that stand go on standing."""
        sleepers, self.workers = self.workers, []
        self.drain()
        self.workers = sleepers

    def expected(self, base: str = BASE) -> dict[str, tuple[int, int]]:
        """What has to be found by what the bucket holds."""
        stats = {stat.ref.name.removesuffix(".md"): stat for stat in self.store.list(base)}
        found = {name: marked(self.store.read(stat.ref, stat.generation, 0)) for name, stat in stats.items()}
        return {name: mark for name, mark in found.items() if mark}

    def check(self) -> None:
        """The index equals the bucket: nothing lost, doubled, stale, half or left behind."""
        expected = self.expected()
        assert {name: self.seen(name) for name in self.names} == {n: expected.get(n) for n in self.names}
        check_settled(self.catalog, self.index, expected)
        if self.catalog.base(BASE) is not None:
            drift = self.runtime.reconcile.run(BASE, repair=False, yes=False)
            assert drift["details"] == []
