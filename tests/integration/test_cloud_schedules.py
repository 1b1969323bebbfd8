"""The bucket's events in any order, late and twice, over workers that interleave, sleep past their lease, are stopped
or killed at any boundary: the index ends equal to the bucket, and no reader on the way sees half a document.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from common.adapters.firestore.catalog import FirestoreCatalog
from common.adapters.memory_catalog import MemoryCatalog
from common.domain.errors import Refused
from common.domain.objects import ObjectChange, ObjectRef
from common.ports import Catalog
from tests.contract.emulators import firestore_client, new_project
from tests.integration.cloud_machine import CloudMachine
from tests.integration.one_machine import BASE, content
from tests.integration.standing_workers import Worker

SCHEDULES = int(os.environ.get("KB_TEST_CLOUD_SCHEDULES", "1000"))
FIRESTORE_SCHEDULES = int(os.environ.get("KB_TEST_FIRESTORE_SCHEDULES", "10"))
NAMES = st.sampled_from(["um", "dois", "varios"])
PARTS = st.sampled_from([0, 1, 2, 3, 3, 40])
"""The last needs two batches, so that it can be held, stopped or killed between them."""
FORGIVING = 50
HELD_AT = ["embed", "before upsert", "upsert", "before put_documents", "documents", "publish", "before sweep", "sweep"]


@contextmanager
def memory() -> Iterator[Catalog]:
    yield MemoryCatalog()


@contextmanager
def firestore() -> Iterator[Catalog]:
    with firestore_client(new_project()) as client:
        yield FirestoreCatalog(client)


class CloudSchedules(RuleBasedStateMachine):
    """A bucket, a broker and up to three workers; which catalog they share is the class's `catalog`."""

    def catalog(self) -> AbstractContextManager[Catalog]:
        return memory()

    @initialize(
        versioned=st.booleans(),
        direct=st.booleans(),
        attempts=st.sampled_from([3, FORGIVING]),
        last=st.booleans(),
        again=st.booleans(),
    )
    def open(self, versioned: bool, direct: bool, attempts: int, last: bool, again: bool) -> None:
        self.stack = ExitStack()
        catalog = self.stack.enter_context(self.catalog())
        limits = {"KB_MAX_ATTEMPTS": str(attempts), "KB_SLICE_SECONDS": "30"}
        self.machine = CloudMachine(catalog=catalog, versioned=versioned, direct=direct, settings=limits)
        self.end = {"sleepers_last": last, "again": again}
        self.torn = attempts < FORGIVING
        self.version = 0
        self.past: list[ObjectChange] = []

    def teardown(self) -> None:
        machine = self.machine
        try:
            machine.settle(**self.end)
            if self.torn and machine.catalog.base(BASE) is not None:
                machine.runtime.reconcile.run(BASE, repair=True, yes=True)
                machine.drain()
            machine.check()
        finally:
            for worker in list(machine.workers):
                worker.kill()
            self.stack.close()

    @rule(name=NAMES, parts=PARTS, how=st.sampled_from(["store", "store", "manage", "broken", "same"]))
    def write(self, name: str, parts: int, how: str) -> None:
        self.version += 1
        data = content(name, self.version, parts)
        stat = self.machine.store.stat(ObjectRef(BASE, f"{name}.md"))
        if how == "same" and stat is not None:
            data = self.machine.store.read(stat.ref, stat.generation, 0)
        if how == "broken":
            self.machine.put(name, b"\x00\x01binary")
        elif how == "store":
            self.past.append(self.machine.put(name, data))
        else:
            self.machine.names.add(name)
            self.machine.runtime.manage.upload(BASE, f"{name}.md", data, "")

    @rule(name=NAMES, how=st.sampled_from(["store", "store", "manage", "reset"]))
    def delete(self, name: str, how: str) -> None:
        stat = self.machine.store.stat(ObjectRef(BASE, f"{name}.md"))
        manage = self.machine.runtime.manage
        try:
            if how == "manage":
                manage.delete(BASE, f"{name}.md")
            elif how == "reset":
                manage.reset(BASE)
            elif stat is not None:
                self.machine.store.delete(stat.ref, stat.generation)
        except Refused as refused:
            assert refused.status == 404 or (name, refused.code) == ("varios", "PART_OF_OBJECT")

    @precondition(lambda self: self.past)
    @rule(data=st.data())
    def purge_an_old_version(self, data: st.DataObject) -> None:
        """A versioned bucket tells of it long after another version took its place, and names no successor."""
        old = self.past.pop(data.draw(st.integers(0, len(self.past) - 1)))
        current = self.machine.store.stat(old.ref)
        if current is None or current.generation != old.generation:
            self.machine.mail.append(ObjectChange("delete", old.ref, old.generation))

    def deliver_one(self, data: st.DataObject, boundaries: int | None) -> None:
        change = self.machine.mail.pop(data.draw(st.integers(0, len(self.machine.mail) - 1)))
        self.machine.let(self.machine.start(change), boundaries)

    @precondition(lambda self: self.machine.mail)
    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        self.deliver_one(data, None)

    @precondition(lambda self: self.machine.mail and len(self.machine.workers) < 3)
    @rule(data=st.data(), boundaries=st.integers(0, 30))
    def deliver_and_hold(self, data: st.DataObject, boundaries: int) -> None:
        self.deliver_one(data, boundaries)

    @precondition(lambda self: len(self.machine.workers) < 3)
    @rule(name=NAMES, parts=st.sampled_from([1, 3, 40]), at=st.sampled_from(HELD_AT), overtaken=st.booleans())
    def write_and_hold(self, name: str, parts: int, at: str, overtaken: bool) -> None:
        """A new version whose worker stands where most can go wrong, asleep past its lease if `overtaken`."""
        self.version += 1
        change = self.machine.put(name, content(name, self.version, parts))
        self.past.append(change)
        self.machine.mail.remove(change)
        worker = self.machine.start(change)
        while worker.at != at and self.machine.let(worker, 1):
            pass
        if overtaken and not worker.ended:
            self.machine.clock.advance(61.0)
            self.version += 1
            self.past.append(self.machine.put(name, content(name, self.version, 2)))
            self.machine.drain_around_sleepers()

    def one(self, data: st.DataObject) -> Worker:
        return self.machine.workers[data.draw(st.integers(0, len(self.machine.workers) - 1))]

    @precondition(lambda self: self.machine.workers)
    @rule(data=st.data(), boundaries=st.none() | st.integers(1, 10))
    def go_on(self, data: st.DataObject, boundaries: int | None) -> None:
        self.machine.let(self.one(data), boundaries)

    @precondition(lambda self: self.machine.workers)
    @rule(data=st.data(), parts=PARTS, gone=st.booleans())
    def overtake(self, data: st.DataObject, parts: int, gone: bool) -> None:
        """While one sleeps past its lease, its object changes and all that is on the way is delivered."""
        ref = self.one(data).change.ref
        self.machine.clock.advance(61.0)
        stat = self.machine.store.stat(ref)
        if gone and stat is not None:
            self.machine.store.delete(ref, stat.generation)
        else:
            self.version += 1
            name = ref.name.removesuffix(".md")
            self.past.append(self.machine.put(name, content(name, self.version, parts)))
        self.machine.drain_around_sleepers()

    @precondition(lambda self: self.machine.workers)
    @rule(data=st.data(), parts=PARTS)
    def succeed(self, data: st.DataObject, parts: int) -> None:
        """While one sleeps past its lease, another brings in its change, and a newer version is announced."""
        change = self.one(data).change
        self.machine.clock.advance(61.0)
        self.machine.mail.append(change)
        self.machine.drain_around_sleepers()
        self.version += 1
        text = content(change.ref.name.removesuffix(".md"), self.version, parts)
        self.machine.runtime.manage.upload(BASE, change.ref.name, text, "")

    @precondition(lambda self: self.machine.workers)
    @rule(data=st.data(), how=st.sampled_from(["kill", "stop", "deliver again"]))
    def disturb(self, data: st.DataObject, how: str) -> None:
        worker = self.one(data)
        if how == "kill":
            self.machine.kill(worker)
        elif how == "stop":
            worker.told_to_stop = True
        else:
            self.machine.mail.append(worker.change)

    @precondition(lambda self: self.machine.mail)
    @rule(data=st.data())
    def duplicate(self, data: st.DataObject) -> None:
        self.machine.mail.append(self.machine.mail[data.draw(st.integers(0, len(self.machine.mail) - 1))])

    @rule()
    def repair(self) -> None:
        """The scheduled run, whatever is going on."""
        if self.machine.catalog.base(BASE) is not None:
            self.machine.runtime.reconcile.run(BASE, repair=True, yes=True)

    @rule(seconds=st.sampled_from([0.5, 10.0, 31.0, 61.0]))
    def wait(self, seconds: float) -> None:
        self.machine.clock.advance(seconds)

    @invariant()
    def readers_see_whole_documents(self) -> None:
        self.machine.look()


class FirestoreSchedules(CloudSchedules):
    """The same over Firestore's emulator."""

    def catalog(self) -> AbstractContextManager[Catalog]:
        return firestore()


CloudSchedules.TestCase.settings = settings(
    max_examples=SCHEDULES,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
FirestoreSchedules.TestCase.settings = settings(CloudSchedules.TestCase.settings, max_examples=FIRESTORE_SCHEDULES)
TestCloudSchedules = CloudSchedules.TestCase
TestFirestoreSchedules = FirestoreSchedules.TestCase
