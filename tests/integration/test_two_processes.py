"""Two query processes over one catalog and one index, each with its own caches, with and without a Redis server between
them: once a job reads indexed or deleted, no question put to either finds what was there before, whatever happens in
between, and in whatever order.
"""

import itertools
import os
from contextlib import AbstractContextManager, ExitStack

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from common.domain.fusion import Mode
from common.ports import Catalog
from tests.integration.cloud_machine import Worker
from tests.integration.query_process import Found, Place
from tests.integration.two_processes import MODES, NAMES, Shared, firestore, sqlite

INTERLEAVINGS = int(os.environ.get("KB_TEST_INTERLEAVINGS", "25"))


class TwoProcesses(RuleBasedStateMachine):
    """What they share is the class's `catalog` and `redis`."""

    redis = False

    def catalog(self) -> AbstractContextManager[tuple[Catalog, Place]]:
        return sqlite()

    @initialize(worker_first=st.booleans())
    def open(self, worker_first: bool) -> None:
        self.stack = ExitStack()
        self.shared = Shared(*self.stack.enter_context(self.catalog()), redis=self.redis)
        self.machine = self.shared.machine
        self.worker_first = worker_first

    def teardown(self) -> None:
        try:
            self.shared.settled(self.worker_first)
        finally:
            for worker in list(self.machine.workers):
                worker.kill()
            for reader in self.shared.readers:
                while reader.at:
                    reader.step()
            self.stack.close()

    @rule(name=st.sampled_from(NAMES), parts=st.sampled_from([1, 2, 3, 0]))
    def write(self, name: str, parts: int) -> None:
        self.shared.write(name, parts)

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        self.shared.delete(name)

    @precondition(lambda self: self.machine.mail and len(self.machine.workers) < 2)
    @rule(data=st.data(), boundaries=st.none() | st.integers(1, 20))
    def deliver(self, data: st.DataObject, boundaries: int | None) -> None:
        change = self.machine.mail.pop(data.draw(st.integers(0, len(self.machine.mail) - 1)))
        self.machine.let(self.machine.start(change), boundaries)

    @precondition(lambda self: self.machine.workers)
    @rule(data=st.data(), boundaries=st.none() | st.integers(1, 10))
    def work(self, data: st.DataObject, boundaries: int | None) -> None:
        workers = self.machine.workers
        self.machine.let(workers[data.draw(st.integers(0, len(workers) - 1))], boundaries)

    @rule(
        which=st.integers(0, 1),
        name=st.sampled_from(NAMES),
        mode=st.sampled_from(MODES),
        boundaries=st.none() | st.integers(0, 14),
    )
    def ask(self, which: int, name: str, mode: Mode, boundaries: int | None) -> None:
        reader = self.shared.readers[which]
        self.shared.let(reader, None)
        self.shared.ask(reader, name, mode)
        self.shared.let(reader, boundaries)

    @precondition(lambda self: self.shared.asked)
    @rule(data=st.data(), boundaries=st.none() | st.integers(1, 8))
    def think(self, data: st.DataObject, boundaries: int | None) -> None:
        asked = [reader for reader in self.shared.readers if reader in self.shared.asked]
        self.shared.let(asked[data.draw(st.integers(0, len(asked) - 1))], boundaries)

    @rule(name=st.sampled_from(NAMES), mode=st.sampled_from(MODES))
    def both_after_a_job_is_done(self, name: str, mode: Mode) -> None:
        """The thing itself: a version is published, and whoever asks from then on finds it."""
        change = self.shared.write(name, 2)
        self.machine.mail.remove(change)
        self.machine.let(self.machine.start(change))
        for reader in self.shared.readers:
            self.shared.let(reader, None)
            self.shared.ask(reader, name, mode)
            self.shared.let(reader, None)


class TwoProcessesWithRedis(TwoProcesses):
    """The same with a Redis server between them."""

    redis = True


class FirestoreProcesses(TwoProcessesWithRedis):
    """The same over Firestore's emulator."""

    def catalog(self) -> AbstractContextManager[tuple[Catalog, Place]]:
        return firestore()


for machine in (TwoProcesses, TwoProcessesWithRedis, FirestoreProcesses):
    machine.TestCase.settings = settings(
        max_examples=INTERLEAVINGS if machine is not FirestoreProcesses else 1,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
TestTwoProcesses = TwoProcesses.TestCase
TestTwoProcessesWithRedis = TwoProcessesWithRedis.TestCase
TestFirestoreProcesses = FirestoreProcesses.TestCase


@pytest.fixture(params=[False, True], ids=["apart", "redis"])
def shared(request):
    with sqlite() as (catalog, place):
        made = Shared(catalog, place, redis=request.param)
        made.with_redis = request.param
        yield made
        for reader in made.readers:
            while reader.at:
                reader.step()


def say(shared, reader, name="um", mode="hybrid"):
    shared.ask(reader, name, mode)
    return shared.judge(reader)


def test_an_answer_is_shared_until_the_base_changes(shared):
    """Without it nothing of the rest would be shown: there is something to be stale."""
    one, other = shared.readers
    elsewhere = "hit" if shared.with_redis else "miss"
    shared.write("um", 2)
    shared.machine.drain()
    assert [say(shared, one), say(shared, one)] == [Found((1, 2), "miss"), Found((1, 2), "hit")]
    assert [say(shared, other), say(shared, other)] == [Found((1, 2), elsewhere), Found((1, 2), "hit")]
    shared.write("um", 3)
    shared.machine.drain()
    assert [say(shared, other), say(shared, one)] == [Found((2, 3), "miss"), Found((2, 3), elsewhere)]
    shared.delete("um")
    shared.machine.drain()
    assert [say(shared, one), say(shared, other)] == [Found(None, "miss"), Found(None, elsewhere)]
    shared.write("um", 1)
    shared.machine.drain()
    assert [say(shared, other), say(shared, one)] == [Found((3, 1), "miss"), Found((3, 1), elsewhere)]


def test_an_answer_that_was_under_way_when_the_base_changed_is_found_by_nobody(shared):
    """One process stands at each boundary of a question in turn while a new version is published, then goes on."""
    one, other = shared.readers
    for moment in itertools.count():
        shared.write("um", 2)
        shared.machine.drain()
        shared.ask(one, "um", "hybrid")
        shared.let(one, moment)
        under_way = bool(one.at)
        shared.write("um", 3)
        shared.machine.drain()
        shared.let(one, None)
        for reader in (other, one, other):
            assert say(shared, reader).state == (shared.version, 3)
        if not under_way:
            break
    assert moment > 9


def test_a_worker_never_stands_in_the_way_of_a_reader(shared):
    """At each boundary of ingest both processes answer, from the old version until the new one is published."""
    shared.write("um", 2)
    shared.machine.drain()
    change = shared.write("um", 3)
    shared.machine.mail.remove(change)
    worker: Worker = shared.machine.start(change)
    seen = []
    while True:
        seen.append({say(shared, reader).state for reader in shared.readers})
        if not shared.machine.let(worker, 1):
            break
    assert all(len(states) == 1 for states in seen)
    assert seen == sorted(seen, key=max)
    assert seen[0] == {(1, 2)}
    assert say(shared, shared.readers[0]).state == (2, 3)
