"""Drift of every kind is found, mended, and then gone; an untouched base has none and costs no embedding."""

from dataclasses import replace
from itertools import count

import pytest

from common.domain.errors import Refused
from common.domain.objects import ObjectChange, ObjectRef
from common.domain.records import Decision
from tests.integration.cloud_machine import CloudMachine
from tests.integration.one_machine import BASE, content
from tests.integration.test_ingest_flow import put


def drift(machine, **more):
    found = machine.runtime.reconcile.run(BASE, **{"repair": False, "yes": False, **more})
    return {kind: count for kind, count in found.items() if kind != "details" and count}


def mended(machine):
    machine.runtime.reconcile.run(BASE, repair=True, yes=False)
    machine.settle()
    return drift(machine)


@pytest.fixture
def filled(machine):
    for name, parts in (("um", 3), ("dois", 2)):
        put(machine, name, content(name, 1, parts))
    machine.settle()
    return machine


def live_collection(machine):
    return machine.runtime.catalog.base(BASE).live


def test_an_untouched_base_has_no_drift_and_costs_no_embedding(filled, monkeypatch):
    monkeypatch.setattr(filled.embedder, "embed_passages", None)
    assert drift(filled) == {}
    assert mended(filled) == {}


def test_a_lost_event_is_missing_until_it_is_mended(filled):
    filled.runtime.store.write(ObjectRef(BASE, "tres.md"), content("tres", 1, 2))
    lost = filled.runtime.queue.take("kb-events", 3600)
    filled.runtime.queue.acknowledge(lost)
    filled.names.add("tres")
    assert drift(filled) == {"missing": 1}
    assert mended(filled) == {}
    filled.check({"um": (1, 3), "dois": (1, 2), "tres": (1, 2)})


def test_a_newer_version_whose_event_was_lost_is_stale(filled):
    filled.runtime.store.write(ObjectRef(BASE, "um.md"), content("um", 2, 1))
    filled.runtime.queue.acknowledge(filled.runtime.queue.take("kb-events", 3600))
    assert drift(filled) == {"stale": 1}
    assert mended(filled) == {}
    filled.check({"um": (2, 1), "dois": (1, 2)})


def test_a_removal_whose_event_was_lost_is_an_orphan(filled):
    generation = filled.runtime.store.stat(ObjectRef(BASE, "um.md")).generation
    filled.runtime.store.delete(ObjectRef(BASE, "um.md"), generation)
    filled.runtime.queue.acknowledge(filled.runtime.queue.take("kb-events", 3600))
    assert drift(filled) == {"orphaned": 1}
    assert mended(filled) == {}
    filled.check({"dois": (1, 2)})


def another(point, number, **changed):
    return replace(point, id=f"00000000-0000-0000-0000-{number:012}", payload={**point.payload, **changed})


def test_passages_of_a_zombie_are_duplicates_and_lost_ones_leave_half_a_document(filled):
    index, collection = filled.runtime.index, live_collection(filled)
    points = list(index.stored(BASE, collection, "um.md", 1))
    foreign = replace(
        points[0], id="00000000-0000-0000-0000-000000000001", payload={**points[0].payload, "generation": 9}
    )
    stranger = replace(
        points[0], id="00000000-0000-0000-0000-000000000002", payload={**points[0].payload, "object": "x.md"}
    )
    index.upsert(BASE, collection, [foreign, stranger])
    index.discard(BASE, collection, "dois.md", 1)
    assert drift(filled) == {"duplicated": 1, "orphaned": 1, "half_indexed": 1}
    assert mended(filled) == {}
    filled.check({"um": (1, 3), "dois": (1, 2)})


def test_a_job_nobody_works_on_is_stuck(filled):
    ref = ObjectRef(BASE, "tres.md")
    stored = filled.runtime.store.write(ref, content("tres", 1, 1))
    filled.runtime.queue.acknowledge(filled.runtime.queue.take("kb-events", 3600))
    filled.runtime.manage._enqueue(ObjectChange("finalize", ref, stored.generation))
    filled.names.add("tres")
    filled.clock.advance(601)
    assert drift(filled) == {"stuck": 1, "missing": 1} or drift(filled) == {"stuck": 1}
    assert mended(filled) == {}
    filled.check({"um": (1, 3), "dois": (1, 2), "tres": (1, 1)})


def begun(case):
    """A cloud whose one message is that of a first version, of a second one, or of a removal."""
    cloud = CloudMachine(windows=False)
    change = cloud.put("um", content("um", 1, 2))
    if case == "first":
        return cloud, change
    cloud.drain()
    if case == "second":
        change = cloud.put("um", content("um", 2, 1))
    else:
        cloud.store.delete(change.ref, change.generation)
        change = cloud.mail[0]
    del cloud.mail[1:]
    return cloud, change


@pytest.mark.parametrize(("case", "published"), [("first", "publish"), ("second", "publish"), ("removal", "removed")])
def test_a_worker_that_died_and_was_never_called_again_leaves_a_stuck_job_that_is_mended(case, published):
    """At every boundary, also behind the publish: nobody sweeps then, or tells."""
    passed = []
    for boundary in count(1):
        cloud, change = begun(case)
        worker = cloud.start(cloud.mail.pop())
        cloud.let(worker, boundary)
        at, job = worker.at, cloud.job(change)
        if at == "finish":
            break
        passed.append(at)
        cloud.kill(worker)
        if job is None:  # the bucket is asked before anything is recorded
            continue
        cloud.mail.clear()
        cloud.clock.advance(601)
        runs = [cloud.runtime.reconcile.run(BASE, repair=repair, yes=False) for repair in (False, True)]
        stuck = [[row for row in run["details"] if row["kind"] == "stuck"] for run in runs]
        assert stuck[0] == stuck[1], at
        assert [(row["object"], row["generation"], row["state"]) for row in stuck[0]] == [
            ("um.md", change.generation, job.state)
        ], at
        cloud.drain()
        assert cloud.job(change).finished, at
        cloud.clock.advance(601)
        cloud.check()
    assert {"begin", published, "sweep", "notified"} <= set(passed)


def test_a_job_under_a_living_lease_or_just_queued_is_not_stuck():
    cloud, change = begun("first")
    worker = cloud.start(cloud.mail.pop())
    cloud.let(worker, 3)
    for _ in range(12):
        cloud.clock.advance(55)
        found = cloud.runtime.reconcile.run(BASE, repair=False, yes=False)
        assert (found["stuck"], found["half_indexed"], found["orphaned"]) == (0, 0, 0)
        lease = cloud.catalog.object(change.ref).lease
        renewed = replace(lease, expires_at=cloud.clock.now() + 60)
        cloud.catalog.transact(
            change.ref, change.job_id, lambda held, lease=renewed: Decision(None, _leased(held, lease))
        )
    cloud.let(worker)
    assert cloud.job(change).state == "indexed"


def _leased(held, lease):
    return replace(held, object=replace(held.object, lease=lease))


def test_what_was_published_keeps_its_outcome_when_its_end_is_mended():
    """When it fails: the job is done again from its beginning, and whoever looks at it sees it queued."""
    cloud, change = begun("first")
    worker = cloud.start(cloud.mail.pop())
    while worker.at != "publish":
        assert cloud.let(worker, 1)
    cloud.kill(worker)
    cloud.mail.clear()
    cloud.clock.advance(601)
    before = cloud.job(change)
    cloud.runtime.reconcile.run(BASE, repair=True, yes=False)
    assert cloud.job(change) == before
    cloud.drain()
    after = cloud.job(change)
    assert (after.state, after.passages, after.new_passages, after.attempts) == ("indexed", 2, 2, before.attempts)


def test_a_job_that_killed_every_worker_ends_failed_even_when_its_last_event_was_lost():
    """When it fails: each scheduled repair lets it kill as many workers again."""
    cloud, change = begun("first")
    for _ in range(3):
        worker = cloud.start(change)
        cloud.let(worker, 2)
        cloud.kill(worker)
        cloud.mail.clear()
        cloud.clock.advance(61)
    cloud.clock.advance(601)
    assert cloud.job(change).attempts == 3
    assert cloud.runtime.reconcile.run(BASE, repair=True, yes=False)["stuck"] == 1
    cloud.drain()
    done = cloud.job(change)
    assert (done.state, done.code, done.finished) == ("failed", "ATTEMPTS_EXHAUSTED", True)


def test_a_fault_of_ours_is_mended_by_trying_again_and_the_files_own_is_left(filled):
    def fail(name):
        if name == "chunk":
            raise ZeroDivisionError

    filled.on_step = fail
    put(filled, "um", content("um", 2, 2))
    filled.settle()
    filled.on_step = None
    put(filled, "dois", b"text with \x00 inside")
    filled.settle()
    assert drift(filled) == {"stale": 1}
    assert mended(filled) == {}
    filled.check({"um": (2, 2)})


def test_losing_most_of_a_large_base_asks_first(machine):
    for number in range(22):
        put(machine, f"n{number}", content(f"n{number}", 1, 1))
    machine.settle()
    for number in range(12):
        ref = ObjectRef(BASE, f"n{number}.md")
        machine.runtime.store.delete(ref, 1)
        machine.runtime.queue.acknowledge(machine.runtime.queue.take("kb-events", 3600))
    with pytest.raises(Refused) as raised:
        machine.runtime.reconcile.run(BASE, repair=True, yes=False)
    assert raised.value.code == "MASS_REMOVAL"
    machine.runtime.reconcile.run(BASE, repair=True, yes=True)
    machine.settle()
    assert drift(machine) == {}
