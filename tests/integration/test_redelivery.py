"""The cases RED-01 and ORD-01 through the whole of ingest: deliveries that come again, or in the wrong order."""

import math
from itertools import count

import pytest

from common.domain.errors import Busy
from common.domain.objects import ObjectChange, ObjectRef
from common.domain.search import Search
from tests.integration.cloud_machine import CloudMachine, CountingEmbedder
from tests.integration.one_machine import BASE, content

ACK_DEADLINE = 600
JOB_SECONDS = 700
BATCHES = 35
PER_BATCH = 32
LONG = b"\n\n".join(
    f"Trecho {n} do manual: {' '.join(f'palavra{n}x{i}' for i in range(150))}.".encode()
    for n in range(BATCHES * PER_BATCH)
)


def run_until(machine, worker, second):
    """The worker goes on, every batch of its taking its share of the job's time, until that second of the clock."""
    while machine.clock.now() < second and worker.resume():
        if worker.at == "upsert":
            machine.clock.advance(JOB_SECONDS / BATCHES)


def points_of(machine):
    record = machine.catalog.base(BASE)
    return dict(machine.index.generations(BASE, record.live))


@pytest.fixture
def long_job():
    """RED-01's job of 700 seconds in one delivery, with its change."""
    machine = CloudMachine(
        embedder=CountingEmbedder(), settings={"KB_SLICE_SECONDS": "3600", "KB_MAX_FILE_MB": "10"}, windows=False
    )
    machine.store.write(ObjectRef(BASE, "manual.md"), LONG)
    return machine, machine.mail.pop()


def test_a_delivery_beyond_its_deadline_comes_again_and_the_running_job_is_left_alone(long_job):
    """RED-01: deliveries at 0, 600 and 610 s of a job of 700 s."""
    machine, change = long_job
    started = machine.clock.now()
    first = machine.start(change)
    for second in (ACK_DEADLINE, ACK_DEADLINE + 10):
        run_until(machine, first, started + second)
        machine.clock.advance(max(0.0, started + second - machine.clock.now()))
        assert not first.ended
        before, embedded = machine.job(change), machine.embedder.passages.total()
        again = machine.start(change)
        again.finish()
        assert isinstance(again.error, Busy)
        machine.workers.remove(again)
        assert machine.job(change) == before
        assert machine.embedder.passages.total() == embedded
    machine.mail.append(change)
    run_until(machine, first, math.inf)
    machine.part(first)
    machine.drain()
    done = machine.job(change)
    assert (done.state, done.passages, done.attempts) == ("indexed", BATCHES * PER_BATCH, 0)
    assert set(machine.embedder.passages.values()) == {1}
    assert points_of(machine) == {("manual.md", change.generation): BATCHES * PER_BATCH}
    assert [job.state for job in machine.catalog.jobs(BASE)] == ["indexed"]


def test_a_job_whose_worker_died_is_taken_over_once_its_lease_lapsed(long_job):
    """RED-01, crash variant: killed at 300 s, delivered again at 605 s."""
    machine, change = long_job
    started = machine.clock.now()
    first = machine.start(change)
    run_until(machine, first, started + 300)
    stored = points_of(machine)[("manual.md", change.generation)]
    assert 0 < stored < BATCHES * PER_BATCH
    machine.kill(first)
    assert machine.mail == [change]
    early = machine.start(change)
    early.finish()
    assert isinstance(early.error, Busy)
    machine.workers.remove(early)
    machine.clock.advance(started + 605 - machine.clock.now())
    second = machine.start(machine.mail.pop())
    assert machine.let(second, 1)
    assert machine.job(change).attempts == 1
    machine.let(second)
    done = machine.job(change)
    assert (done.state, done.passages) == ("indexed", BATCHES * PER_BATCH)
    assert points_of(machine) == {("manual.md", change.generation): BATCHES * PER_BATCH}
    assert set(machine.embedder.passages.values()) == {1}
    assert machine.mail == []


def test_a_job_that_never_gets_anywhere_is_tried_as_often_as_allowed_and_no_more(long_job):
    machine, change = long_job
    for attempt in (1, 2, 3):
        worker = machine.start(change)
        while worker.at != "parse":
            assert worker.resume()
        assert machine.job(change).attempts == attempt
        machine.kill(worker)
        machine.clock.advance(61)
    machine.drain()
    done = machine.job(change)
    assert (done.state, done.code, done.attempts) == ("failed", "ATTEMPTS_EXHAUSTED", 3)
    assert machine.embedder.passages == {}


OLD, NEW = ("Preço antigo: 10 reais VELHO-1".encode(), "Preço novo: 25 reais NOVO-2".encode())
PRICE = ObjectRef(BASE, "preco.md")
E100, E200 = ObjectChange("finalize", PRICE, 100), ObjectChange("finalize", PRICE, 200)


def priced(*, only_new):
    """ORD-01's bucket: generation 200 is live, and 100 was before it unless the scenario begins with 200."""
    machine = CloudMachine(direct=True)
    machine.store._next = 100
    if not only_new:
        machine.store.write(PRICE, OLD)
    machine.store._next = 200
    if only_new:
        machine.store.write(PRICE, NEW)
    machine.mail.clear()
    return machine


def only_the_new_price_is_left(machine, older="superseded"):
    """The scenario's `expect`."""
    found = machine.reader.answers.answer(BASE, Search("preço reais", top_k=50, mode="lexical", threshold=None))
    texts = [passage.text for passage in found.passages]
    assert len(texts) == 1
    assert "NOVO-2" in texts[0]
    assert points_of(machine) == {("preco.md", 200): 1}
    assert [(row.source, row.generation) for row in machine.catalog.documents(BASE)] == [("preco.md", 200)]
    assert (machine.job(E100).state, machine.job(E100).code) == (older, None)
    assert machine.job(E200).state == "indexed"
    assert machine.mail == []
    assert machine.workers == []


@pytest.mark.parametrize("order", [(E100, E200), (E200, E100)], ids=["in order", "reversed"])
def test_two_versions_in_either_order_leave_the_newer(order):
    """ORD-01, variants 1 and 2."""
    machine = priced(only_new=True)
    machine.mail += order
    machine.drain()
    only_the_new_price_is_left(machine)


@pytest.mark.parametrize("order", [(E100, E200), (E200, E100)], ids=["100 begins", "200 begins"])
@pytest.mark.parametrize("stride", [1, 2, 5])
def test_two_versions_at_once_in_two_workers_leave_the_newer(order, stride):
    """ORD-01, variant 3: they take turns at every boundary."""
    machine = priced(only_new=True)
    for change in order:
        machine.start(change)
    while machine.workers:
        for worker in list(machine.workers):
            machine.let(worker, stride)
    machine.drain()
    only_the_new_price_is_left(machine)


def test_the_older_version_held_at_any_boundary_while_the_newer_one_passes_it():
    """ORD-01, variant 4: e100 starts first, e200 finishes first, e100 finishes last."""
    held_at = []
    for boundary in count(1):
        machine = priced(only_new=False)
        older = machine.start(E100)
        if not machine.let(older, boundary):
            break
        held_at.append(older.at)
        was = machine.job(E100)
        machine.store.write(PRICE, NEW)
        machine.mail[:] = [E200]
        machine.clock.advance(61)
        machine.drain_around_sleepers()
        machine.let(older)
        machine.drain()
        only_the_new_price_is_left(machine, older="indexed" if was and was.terminal else "superseded")
    assert {"begin", "read", "embed", "before upsert", "upsert", "documents", "publish", "sweep"} <= set(held_at)


def test_a_repair_leaves_alone_what_a_slow_worker_has_written_so_far():
    """Its lease ran out but nobody took the object over: it still owns it, and will publish what it wrote."""
    machine = CloudMachine(windows=False)
    change = machine.put("um", content("um", 1, 40))
    worker = machine.start(machine.mail.pop())
    while worker.at != "upsert":
        assert worker.resume()
    machine.clock.advance(61)
    machine.runtime.reconcile.run(BASE, repair=True, yes=False)
    machine.let(worker)
    machine.drain()
    assert machine.job(change).state == "indexed"
    machine.check()


def test_a_repair_ends_a_job_whose_event_was_lost_and_whose_version_is_past():
    """Otherwise every scheduled repair would bring the current version in anew and find the same job stuck."""
    machine = CloudMachine()
    machine.runtime.manage.upload(BASE, "um.md", content("um", 1, 2), "")
    machine.mail.clear()
    machine.runtime.manage.upload(BASE, "um.md", content("um", 2, 2), "")
    machine.names.add("um")
    machine.drain()
    machine.clock.advance(601)
    assert machine.runtime.reconcile.run(BASE, repair=True, yes=False)["stuck"] == 1
    machine.drain()
    machine.clock.advance(601)
    machine.check()
