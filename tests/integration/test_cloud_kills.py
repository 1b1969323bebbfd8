"""Workers in the cloud's shape that are killed at each boundary, or that sleep there past their lease and wake up after
another one took over: the end is that of a clean run, and no reader on the way misses or halves a document.
"""

from dataclasses import replace

import pytest

from tests.integration.cloud_machine import CloudMachine
from tests.integration.one_machine import BASE, content

SLICE = 30.0
STEPS = {"begin", "read", "parse", "chunk", "embed", "upsert", "documents", "publish", "sweep", "finish"}
CALLS = {
    f"before {name}" for name in ("transact", "stat", "read", "upsert", "put_documents", "sweep", "drop_documents")
}


def overwrite(machine, name):
    """A document of two batches, of which each is a slice of its own, takes the place of one of two passages."""
    machine.put(name, content(name, 1, 2))
    machine.drain()
    machine.put(name, content(name, 2, 50))


def removal(machine, name):
    stat = machine.put(name, content(name, 1, 4)).ref
    machine.drain()
    machine.store.delete(stat, machine.store.stat(stat).generation)


def fault(machine, name):
    """The file's own: it takes the older version out of the answers."""
    machine.put(name, content(name, 1, 4))
    machine.drain()
    machine.put(name, b"\x00\x01binary")


def opened():
    return CloudMachine(settings={"KB_SLICE_SECONDS": str(SLICE)})


def run(machine, disturbed_at=None, disturb=None):
    """Deliver everything, every upsert taking a slice's time. Answers the boundaries that were passed; at the one
    numbered `disturbed_at` the worker that stands there is disturbed instead of going on.
    """
    passed = []
    while machine.mail:
        worker = machine.start(machine.mail.pop(0))
        while machine.let(worker, 1):
            passed.append(worker.at)
            if worker.at == "upsert":
                machine.clock.advance(SLICE)
            if len(passed) - 1 == disturbed_at:
                disturb(machine, worker)
                break
    return passed


def kill(machine, worker):
    machine.kill(worker)
    machine.clock.advance(61)


def oversleep(machine, worker):
    """Its message comes again and is brought to its end by others before it wakes up."""
    machine.clock.advance(61)
    machine.mail.append(worker.change)
    machine.drain_around_sleepers()
    machine.let(worker)


def state_of(machine):
    """All that is stored, without when and in how many attempts it came about."""
    record, catalog = machine.catalog.base(BASE), machine.catalog
    points = {
        point.id: (point.vector, point.lexical, point.payload)
        for name, generation in machine.index.generations(BASE, record.live)
        for point in machine.index.stored(BASE, record.live, name, generation)
    }
    return {
        "points": points,
        "rows": sorted((ref.name, generation, source) for ref, generation, source in catalog._documents),
        "documents": [replace(each, updated_at=0.0) for each in catalog.documents(BASE)],
        "objects": [replace(each, updated_at=0.0, removed_at=0.0) for each in catalog.objects(BASE)],
        "jobs": {job.job_id: (job.state, job.code, job.passages, job.finished) for job in catalog.jobs(BASE)},
    }


@pytest.mark.parametrize("disturb", [kill, oversleep])
@pytest.mark.parametrize("name", ["um", "varios"], ids=["one document", "two documents"])
@pytest.mark.parametrize("scenario", [overwrite, removal, fault])
def test_a_worker_disturbed_at_any_boundary_leaves_what_a_clean_run_leaves(scenario, name, disturb):
    clean = opened()
    scenario(clean, name)
    boundaries = run(clean)
    clean.check()
    expected = state_of(clean)
    if scenario is overwrite:
        assert boundaries.count("embed") == boundaries.count("upsert") == 2
        assert boundaries.count("continuation") == 1
        assert set(boundaries) >= STEPS
        assert CALLS - set(boundaries) == ({"before put_documents"} if name == "um" else set())
    if scenario is removal:
        assert {"asked", "begin", "removed", "sweep", "finish"} <= set(boundaries)
    for number, boundary in enumerate(boundaries):
        machine = opened()
        scenario(machine, name)
        assert run(machine, number, disturb)[number] == boundary
        machine.drain()
        machine.check()
        assert state_of(machine) == expected, f"{number} {boundary}"


def test_a_worker_that_wakes_late_leaves_alone_the_version_that_answers_although_a_newer_one_was_announced():
    machine = CloudMachine()
    change = machine.put("um", content("um", 1, 3))
    sleeper = machine.start(machine.mail.pop())
    while sleeper.at != "before upsert":
        machine.let(sleeper, 1)
    machine.clock.advance(61)
    machine.mail.append(change)
    machine.drain_around_sleepers()
    machine.runtime.manage.upload(BASE, "um.md", content("um", 2, 2), "")
    machine.let(sleeper)
    assert machine.seen("um") == (1, 3)
    machine.drain()
    machine.check()


@pytest.mark.parametrize("at", ["before put_documents", "documents", "before upsert"])
def test_what_a_worker_stores_after_its_successor_swept_is_taken_back(at):
    machine = CloudMachine()
    machine.put("varios", content("varios", 1, 4))
    sleeper = machine.start(machine.mail.pop())
    while sleeper.at != at:
        machine.let(sleeper, 1)
    machine.clock.advance(61)
    newer = machine.put("varios", content("varios", 2, 4))
    machine.drain_around_sleepers()
    machine.let(sleeper)
    assert {generation for _, generation, _ in machine.catalog._documents} == {newer.generation}
    machine.drain()
    machine.check()
