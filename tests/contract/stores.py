"""The adapters each contract suite of the stores runs on, by name. A new adapter is one more entry."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from common.adapters.firestore.catalog import FirestoreCatalog
from common.adapters.firestore.generations import FirestoreGenerations
from common.adapters.folder.bucket import open_bucket
from common.adapters.folder.objects import FolderObjectStore
from common.adapters.folder.versions import FolderGenerations
from common.adapters.frozen_clock import FrozenClock
from common.adapters.memory_catalog import MemoryCatalog
from common.adapters.memory_generations import MemoryGenerations
from common.adapters.memory_objects import MemoryObjectStore
from common.adapters.memory_queue import MemoryQueue
from common.adapters.sqlite.catalog import SqliteCatalog
from common.adapters.sqlite.connection import Database
from common.adapters.sqlite.generations import SqliteGenerations
from common.adapters.sqlite.queue import SqliteQueue
from common.domain.errors import Unavailable
from common.domain.objects import ObjectChange, ObjectRef
from common.ports import Catalog, Clock, Generations, ObjectStore, PullQueue
from tests.contract.emulators import cut_off, firestore_client, new_project
from tests.contract.object_emulators import cut_off_s3, once_before, opened_gcs, opened_s3

MAX_ATTEMPTS = 3


@dataclass
class CatalogCase:
    """`again` opens the same catalog as another process would; `take_away` puts it out of reach."""

    catalog: Catalog
    again: Callable[[], Catalog]
    take_away: Callable[[], None]


@dataclass
class StoreCase:
    """`replace` and `remove` act behind the adapter's back; `during_read` runs once while the next read is under way;
    `take_away` puts the bucket out of reach.
    """

    store: ObjectStore
    changes: list[ObjectChange]
    replace: Callable[[ObjectRef, bytes], None]
    remove: Callable[[ObjectRef], None]
    during_read: Callable[[Callable[[], None]], None]
    take_away: Callable[[], None]


@dataclass
class InterruptedGenerations:
    """Generations that run `interrupt` once, when next asked what is current: in a read, before the file is read."""

    inner: MemoryGenerations = field(default_factory=MemoryGenerations)
    interrupt: Callable[[], None] | None = None

    def assign(self, ref: ObjectRef, identity: str) -> int:
        return self.inner.assign(ref, identity)

    def known(self, base: str | None = None) -> Mapping[ObjectRef, tuple[str, int]]:
        return self.inner.known(base)

    def absent(self, ref: ObjectRef, generation: int) -> bool:
        return self.inner.absent(ref, generation)

    def current(self, ref: ObjectRef) -> tuple[str, int] | None:
        if (interrupt := self.interrupt) is not None:
            self.interrupt = None
            interrupt()
        return self.inner.current(ref)

    def settle(self, ref: ObjectRef, generation: int, identity: str) -> bool:
        return self.inner.settle(ref, generation, identity)


@contextmanager
def sqlite_catalog(folder: Path) -> Iterator[CatalogCase]:
    path = folder / "catalog.sqlite"
    databases = [Database(path)]

    def again() -> Catalog:
        databases.append(Database(path, must_exist=True))
        return SqliteCatalog(databases[-1])

    yield CatalogCase(SqliteCatalog(databases[0]), again, databases[0].close)
    for database in databases:
        database.close()


@contextmanager
def memory_catalog(folder: Path) -> Iterator[CatalogCase]:
    catalog = MemoryCatalog()

    def take_away() -> None:
        catalog.broken = Unavailable("out of reach")

    yield CatalogCase(catalog, lambda: catalog, take_away)


@contextmanager
def firestore_catalog(folder: Path) -> Iterator[CatalogCase]:
    project = new_project()
    with firestore_client(project) as client, firestore_client(project) as other:
        yield CatalogCase(FirestoreCatalog(client), lambda: FirestoreCatalog(other), lambda: cut_off(client))


@contextmanager
def sqlite_queue(folder: Path, clock: Clock) -> Iterator[PullQueue]:
    database = Database(folder / "catalog.sqlite")
    yield SqliteQueue(database, clock, max_attempts=MAX_ATTEMPTS, jitter=lambda: 0.0)
    database.close()


@contextmanager
def memory_queue(folder: Path, clock: Clock) -> Iterator[PullQueue]:
    yield MemoryQueue(clock, max_attempts=MAX_ATTEMPTS)


@contextmanager
def sqlite_generations(folder: Path) -> Iterator[SqliteGenerations]:
    database = Database(folder / "catalog.sqlite")
    yield SqliteGenerations(database)
    database.close()


@contextmanager
def firestore_generations(folder: Path) -> Iterator[FirestoreGenerations]:
    with firestore_client(new_project()) as client:
        yield FirestoreGenerations(client)


@contextmanager
def memory_generations(folder: Path) -> Iterator[MemoryGenerations]:
    yield MemoryGenerations()


def _memory_objects(*, versioned: bool) -> Callable[[Path], AbstractContextManager[StoreCase]]:
    @contextmanager
    def made(folder: Path) -> Iterator[StoreCase]:
        changes: list[ObjectChange] = []
        store = MemoryObjectStore(changes.append, FrozenClock(), versioned=versioned, first_generation=1_790_000_000)

        def during_read(change: Callable[[], None]) -> None:
            store.during_read = lambda _: change()

        def remove(ref: ObjectRef) -> None:
            stat = store.stat(ref)
            assert stat is not None
            store.delete(ref, stat.generation)

        def take_away() -> None:
            store.broken = Unavailable("out of reach")

        yield StoreCase(store, changes, store.write, remove, during_read, take_away)

    return made


@contextmanager
def folder_objects(folder: Path) -> Iterator[StoreCase]:
    changes: list[ObjectChange] = []
    generations = InterruptedGenerations()
    bucket = open_bucket(folder / "bucket", None)
    store = FolderObjectStore(bucket, generations, changes.append, FrozenClock(time.time()))

    def replace(ref: ObjectRef, data: bytes) -> None:
        path = bucket.root / ref.key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def during_read(change: Callable[[], None]) -> None:
        generations.interrupt = change

    yield StoreCase(
        store,
        changes,
        replace,
        lambda ref: (bucket.root / ref.key).unlink(),
        during_read,
        lambda: (folder / "bucket").rename(folder / "elsewhere") and None,
    )


def _gcs_objects(*, conditional: bool) -> Callable[[Path], AbstractContextManager[StoreCase]]:
    @contextmanager
    def made(folder: Path) -> Iterator[StoreCase]:
        with opened_gcs(conditional=conditional, deadline=0.05) as (store, wire, client):
            bucket = client.bucket(store.bucket)
            yield StoreCase(
                store,
                wire.heard,
                lambda ref, data: bucket.blob(ref.key).upload_from_string(data),
                lambda ref: bucket.delete_blob(ref.key),
                lambda change: wire.before("download", change),
                wire.cut,
            )

    return made


def _s3_objects(*, versioned: bool) -> Callable[[Path], AbstractContextManager[StoreCase]]:
    @contextmanager
    def made(folder: Path) -> Iterator[StoreCase]:
        changes: list[ObjectChange] = []
        with opened_s3(versioned=versioned, notify=changes.append) as (store, client, bucket):

            def replace(ref: ObjectRef, data: bytes) -> None:
                client.put_object(Bucket=bucket, Key=ref.key, Body=data)
                stat = store.stat(ref)
                assert stat is not None
                changes.append(ObjectChange("finalize", ref, stat.generation, stat.size))

            yield StoreCase(
                store,
                changes,
                replace,
                lambda ref: client.delete_object(Bucket=bucket, Key=ref.key),
                lambda change: once_before(client, "GetObject", change),
                lambda: cut_off_s3(client),
            )

    return made


CATALOGS: dict[str, Callable[[Path], AbstractContextManager[CatalogCase]]] = {
    "sqlite": sqlite_catalog,
    "memory": memory_catalog,
    "firestore": firestore_catalog,
}
QUEUES: dict[str, Callable[[Path, Clock], AbstractContextManager[PullQueue]]] = {
    "sqlite": sqlite_queue,
    "memory": memory_queue,
}
GENERATIONS: dict[str, Callable[[Path], AbstractContextManager[Generations]]] = {
    "sqlite": sqlite_generations,
    "memory": memory_generations,
    "firestore": firestore_generations,
}
# Those that serve a folder, whose identities are spelt anew when a file has aged.
FOLDER_GENERATIONS: dict[str, Callable[[Path], AbstractContextManager[FolderGenerations]]] = {
    "sqlite": sqlite_generations,
    "memory": memory_generations,
}
OBJECT_STORES: dict[str, Callable[[Path], AbstractContextManager[StoreCase]]] = {
    "folder": folder_objects,
    "memory": _memory_objects(versioned=False),
    "memory-versioned": _memory_objects(versioned=True),
    "gcs": _gcs_objects(conditional=True),
    "gcs-unconditional": _gcs_objects(conditional=False),
    "s3": _s3_objects(versioned=False),
    "s3-versioned": _s3_objects(versioned=True),
}
# What an emulator cannot show, by adapter and test: expected to fail until the emulator learns it.
NOT_SHOWN: dict[tuple[str, str], str] = {
    (
        "s3-versioned",
        "test_bases_are_those_that_hold_objects",
    ): "moto lists folders that hold nothing but delete markers",
}
