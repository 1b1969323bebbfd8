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
from tests.integration.cloud_machine import CloudMachine, Worker
from tests.integration.one_machine import BASE, content

SCHEDULES = int(os.environ.get("KB_TEST_SCHEDULES", "200"))
NAMES = st.sampled_from(["um", "dois", "tres"])
PARTS = st.sampled_from([0, 1, 2, 3, 3, 40])
"""The last needs two batches, so that it can be held, stopped or killed between them."""
FORGIVING = 50


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

    @rule(name=NAMES, parts=PARTS, through_manage=st.booleans())
    def write(self, name: str, parts: int, through_manage: bool) -> None:
        self.version += 1
        data = content(name, self.version, parts)
        if through_manage:
            self.machine.names.add(name)
            self.machine.runtime.manage.upload(BASE, f"{name}.md", data, "")
        else:
            self.past.append(self.machine.put(name, data))

    @rule(name=NAMES)
    def write_what_cannot_be_read(self, name: str) -> None:
        self.machine.put(name, b"\x00\x01binary")

    @rule(name=NAMES)
    def upload_the_same_again(self, name: str) -> None:
        stat = self.machine.store.stat(ObjectRef(BASE, f"{name}.md"))
        if stat is not None:
            data = self.machine.store.read(stat.ref, stat.generation, 0)
            self.machine.runtime.manage.upload(BASE, stat.ref.name, data, "")

    @rule(name=NAMES, through_manage=st.booleans())
    def delete(self, name: str, through_manage: bool) -> None:
        stat = self.machine.store.stat(ObjectRef(BASE, f"{name}.md"))
        if through_manage:
            try:
                self.machine.runtime.manage.delete(BASE, f"{name}.md")
            except Refused as refused:
                assert refused.status == 404
        elif stat is not None:
            self.machine.store.delete(stat.ref, stat.generation)

    @rule()
    def reset(self) -> None:
        try:
            self.machine.runtime.manage.reset(BASE)
        except Refused as refused:
            assert refused.status == 404

    @precondition(lambda self: self.past)
    @rule(data=st.data())
    def an_old_version_is_purged(self, data: st.DataObject) -> None:
        """A versioned bucket tells of it long after another version took its place, and names no successor."""
        old = self.past.pop(data.draw(st.integers(0, len(self.past) - 1)))
        current = self.machine.store.stat(old.ref)
        if current is None or current.generation != old.generation:
            self.machine.mail.append(ObjectChange("delete", old.ref, old.generation))

    @precondition(lambda self: self.machine.mail and len(self.machine.workers) < 3)
    @rule(data=st.data(), boundaries=st.none() | st.integers(0, 14))
    def deliver(self, data: st.DataObject, boundaries: int | None) -> None:
        change = self.machine.mail.pop(data.draw(st.integers(0, len(self.machine.mail) - 1)))
        self.machine.let(self.machine.start(change), boundaries)

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
    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        self.machine.kill(self.one(data))

    @precondition(lambda self: self.machine.workers)
    @rule(data=st.data())
    def tell_to_stop(self, data: st.DataObject) -> None:
        self.one(data).told_to_stop = True

    @precondition(lambda self: self.machine.workers)
    @rule(data=st.data())
    def deliver_again_while_it_runs(self, data: st.DataObject) -> None:
        self.machine.mail.append(self.one(data).change)

    @precondition(lambda self: self.machine.mail)
    @rule(data=st.data())
    def duplicate(self, data: st.DataObject) -> None:
        self.machine.mail.append(self.machine.mail[data.draw(st.integers(0, len(self.machine.mail) - 1))])

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
FirestoreSchedules.TestCase.settings = settings(CloudSchedules.TestCase.settings, max_examples=max(1, SCHEDULES // 20))
TestCloudSchedules = CloudSchedules.TestCase
TestFirestoreSchedules = FirestoreSchedules.TestCase
