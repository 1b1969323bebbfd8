"""Where a base with real models stands while it moves: one machine with Qdrant Edge, and the cloud's shape over
qdrant-client. Both work their messages by themselves until they are closed.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from common.adapters.memory_catalog import MemoryCatalog
from common.adapters.memory_objects import MemoryObjectStore
from common.adapters.plain_parser import PlainParser
from common.adapters.qdrant_index import QdrantIndex
from common.adapters.signed_puts import SignedPuts
from common.adapters.system_clock import SystemClock
from common.asking import Asking, asking
from common.bootstrap import local_runtime
from common.domain.errors import Transient
from common.domain.objects import ObjectChange
from common.domain.reindex import Order
from common.domain.space import EmbeddingSpace, alias_name
from common.loading import Models
from common.ports import Embedder
from common.runtime import Bucket, Runtime, Work, working
from common.settings import Settings, read_settings
from common.stages.answers import Answers
from functions.ingest.handle import handle
from functions.local.workers import Workers
from tests.contract.qdrant_engine import EngineCollections
from tests.contract.qdrant_rest import RestQdrant
from tests.integration.cloud_machine import BUCKET, SETTINGS, event_of
from tests.integration.crowd import Remembering

FREE = {"KB_MAX_BASE_MB": "0", "KB_MAX_DOCUMENTS": "0", "KB_LOG_LEVEL": "ERROR"}
_AGAIN_SECONDS = 0.2


@dataclass(frozen=True)
class Site:
    """`answers` is what a query process asks; `runtime` what changes the base."""

    runtime: Runtime
    answers: Answers
    models: Mapping[str, Remembering]


class Remembered:
    """The models of a folder, each with what it gave."""

    def __init__(self, settings: Settings) -> None:
        self._models = Models(settings.models, settings.model)
        self._lock = threading.Lock()
        self.by_name: dict[str, Remembering] = {}

    def configured(self) -> Embedder:
        return self._of(self._models.configured())

    def named(self, name: str) -> Embedder:
        return self._of(self._models.named(name))

    def find(self, space: EmbeddingSpace) -> Embedder:
        return self._of(self._models.find(space))

    def put_into(self, side: Asking) -> None:
        for name in ("configured", "named", "find"):
            object.__setattr__(side.spaces, name, getattr(self, name))

    def _of(self, model: Embedder) -> Any:
        with self._lock:
            return self.by_name.setdefault(model.space.model, Remembering(model))


@contextmanager
def edge_site(folder: Path, models: Path, model: str) -> Iterator[Site]:
    """One machine, as `fichario up` runs it."""
    given = {"KB_DATA_DIR": str(folder), "KB_MODEL_DIR": str(models), "KB_EMBEDDING_MODEL": model, **FREE}
    settings, stopping = read_settings(given), threading.Event()
    runtime = local_runtime(settings, parser=PlainParser(), stopping=stopping.is_set)
    remembered = Remembered(settings)
    remembered.put_into(runtime)
    topics = (settings.kb_topic_events, settings.kb_topic_reindex)
    crews = [Workers(runtime, topic, threading.Event(), stopping, count=1, fits=topic == topics[0]) for topic in topics]
    try:
        for crew in crews:
            crew.start()
        yield Site(runtime, runtime.answers, remembered.by_name)
    finally:
        for crew in crews:
            crew.stop()
        runtime.close()


@contextmanager
def qdrant_site(folder: Path, models: Path, model: str) -> Iterator[Site]:
    """The functions over one catalog and qdrant-client, behind which the real engine has a server's REST surface; the
    query function has a runtime of its own.
    """
    given = {**SETTINGS, **FREE, "KB_MODEL_DIR": str(models), "KB_EMBEDDING_MODEL": model, "KB_CACHE_TTL": "600"}
    settings, clock, catalog = read_settings(given), SystemClock(), MemoryCatalog()
    server = RestQdrant(engine=EngineCollections(folder))
    index = QdrantIndex(server.client(), partial(alias_name, settings.kb_collection_template))
    remembered, events, orders = Remembered(settings), queue.SimpleQueue[Any](), queue.SimpleQueue[Any]()

    def side() -> Asking:
        made = asking(settings, clock, catalog, index, Models(settings.models, settings.model), lambda: None)
        remembered.put_into(made)
        return made

    stopping = threading.Event()
    store = MemoryObjectStore(events.put, clock, first_generation=1_790_000_000)
    changing, query = side(), side()
    bucket = Bucket(store, BUCKET, events.put, list, SignedPuts(clock).sign)
    work = working(changing, bucket, Work(PlainParser(), stopping.is_set), orders.put)
    runtime = Runtime(**{each.name: getattr(changing, each.name) for each in fields(changing)}, **work)

    def take(change: ObjectChange) -> None:
        handle(event_of(change, direct=False), runtime)

    def obey(order: Order) -> None:
        runtime.migrating.take(order)

    brokers = [(events, take), (orders, obey)]
    threads = [threading.Thread(target=_deliver, args=(*each, stopping), daemon=True) for each in brokers]
    try:
        for thread in threads:
            thread.start()
        yield Site(runtime, query.answers, remembered.by_name)
    finally:
        stopping.set()
        for waiting, thread in zip((events, orders), threads, strict=True):
            waiting.put(None)
            thread.join()
        for each in (changing, query):
            each.close()
        index.close()
        server.engine.close()


def _deliver(waiting: "queue.SimpleQueue[Any]", take: Callable[[Any], None], stopping: threading.Event) -> None:
    """Hand over one message after the other; what fails in passing comes again."""
    while (message := waiting.get()) is not None and not stopping.is_set():
        try:
            take(message)
        except Transient:
            if stopping.wait(_AGAIN_SECONDS):
                return
            waiting.put(message)
