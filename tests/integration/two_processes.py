"""What two query processes share (a bucket with its ingest, a catalog, an index, a Redis server or none) and what each
document was, version by version, so that any answer can be judged.
"""

import atexit
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from common.adapters.firestore.catalog import FirestoreCatalog
from common.adapters.memory_index import MemoryIndex
from common.adapters.sqlite.catalog import SqliteCatalog
from common.adapters.sqlite.connection import Database
from common.domain.fusion import Mode
from common.domain.objects import ObjectChange, ObjectRef
from common.ports import Catalog
from tests.contract.caches import new_prefix
from tests.contract.emulators import firestore_address, firestore_client, new_project
from tests.contract.redis_server import redis_url
from tests.integration.cloud_machine import CloudMachine
from tests.integration.one_machine import BASE, content
from tests.integration.query_process import Found, Place, QueryProcess

NAMES = ["um", "dois"]
MODES: list[Mode] = ["lexical", "hybrid"]
REACHED = {"indexed", "deleted", "empty"}
State = tuple[int, int] | None


@functools.cache
def processes() -> tuple[QueryProcess, QueryProcess]:
    """The two of this test run."""
    pair = QueryProcess(), QueryProcess()
    for each in pair:
        atexit.register(each.close)
    return pair


@contextmanager
def sqlite() -> Iterator[tuple[Catalog, Place]]:
    memory = Path("/dev/shm")  # noqa: S108 - a folder of one's own is made in it
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        path = Path(folder) / "catalog.sqlite"
        database = Database(path)
        yield SqliteCatalog(database), Place(path)
        database.close()


@contextmanager
def firestore() -> Iterator[tuple[Catalog, Place]]:
    project = new_project()
    with firestore_client(project) as client:
        yield FirestoreCatalog(client), Place(project, firestore_address())


class Shared:
    """A bucket, its ingest and the two processes, with what each document was, version by version."""

    def __init__(self, catalog: Catalog, place: Place, *, redis: bool) -> None:
        self.machine = CloudMachine(catalog=catalog, index=MemoryIndex())
        self.readers = processes()
        server = {"redis": redis_url(), "prefix": new_prefix()} if redis else {}
        for reader in self.readers:
            reader.open(Place(place.catalog, place.emulator, **server), self.machine.index)
        self.past: dict[str, list[tuple[str, State]]] = {name: [("", None)] for name in NAMES}
        self.asked: dict[QueryProcess, tuple[str, int]] = {}
        self.version = 0

    def write(self, name: str, parts: int) -> ObjectChange:
        self.version += 1
        change = self.machine.put(name, content(name, self.version, parts))
        self.machine.names.clear()
        self.past[name].append((change.job_id, (self.version, parts) if parts else None))
        return change

    def delete(self, name: str) -> None:
        stat = self.machine.store.stat(ObjectRef(BASE, f"{name}.md"))
        if stat is not None and self.machine.store.delete(stat.ref, stat.generation):
            self.past[name].append((ObjectChange("delete", stat.ref, stat.generation).job_id, None))

    def reached(self, name: str) -> int:
        """The newest of the document's versions whose job is done."""
        past = self.past[name]
        return max((i for i, (job, _) in enumerate(past) if i == 0 or self._state(job) in REACHED), default=0)

    def _state(self, job_id: str) -> str:
        job = self.machine.catalog.job(BASE, job_id)
        return job.state if job else ""

    def ask(self, reader: QueryProcess, name: str, mode: Mode) -> None:
        self.asked[reader] = name, self.reached(name)
        reader.ask(name, mode)

    def let(self, reader: QueryProcess, boundaries: int | None) -> None:
        """Let it pass that many boundaries, or come to its answer, which is judged."""
        passed = 0
        while reader.at and (boundaries is None or passed < boundaries):
            reader.step()
            passed += 1
        if not reader.at and reader in self.asked:
            self.judge(reader)

    def judge(self, reader: QueryProcess) -> Found:
        name, reached = self.asked.pop(reader)
        found = reader.answer()
        allowed = {state for _, state in self.past[name][reached:]}
        assert found.refused or found.state in allowed, f"{name}: {found} is older than {allowed}"
        return found

    def settled(self, worker_first: bool) -> None:
        """Everything that is under way ends; then both processes know what there is, and go on knowing it."""
        if worker_first:
            self.machine.settle(sleepers_last=False, again=False)
        for reader in list(self.asked):
            self.let(reader, None)
        self.machine.settle(sleepers_last=False, again=False)
        for _ in range(2):
            for reader in self.readers:
                for name in NAMES:
                    for mode in MODES:
                        self.ask(reader, name, mode)
                        assert self.judge(reader).state == self.past[name][-1][1]
