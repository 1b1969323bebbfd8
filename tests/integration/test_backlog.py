"""A backlog of events, many of them twice and out of order, over eight workers at once: it drains, nothing is lost,
nothing is embedded twice, and what a document costs in catalog writes stays small.
"""

import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import fields

from common.adapters.memory_catalog import MemoryCatalog
from common.adapters.memory_queue import MemoryQueue
from common.adapters.system_clock import SystemClock
from common.domain.notifications import write_notification
from common.domain.objects import ObjectChange, ObjectRef, job_id
from common.ports import Message
from common.runtime import LocalRuntime, Runtime
from functions.local.workers import Workers
from tests.integration.cloud_machine import BUCKET, CloudMachine, CountingEmbedder
from tests.integration.one_machine import BASE, OneMachine, check_settled, content, whole

TOPIC = "kb-events"
WORKERS = 8
EVENTS = 2000
PATIENCE = 300
MOST_WRITES = 6
BASES = [f"base{n:02}" for n in range(20)]


class Watched:
    """A queue that says when nothing is left in it."""

    def __init__(self, queue):
        self._queue = queue
        self.drained = threading.Event()
        self.acknowledged = 0

    def __getattr__(self, name):
        return getattr(self._queue, name)

    def acknowledge(self, delivery):
        self._queue.acknowledge(delivery)
        self.acknowledged += 1
        if not self._queue.waiting(TOPIC):
            self.drained.set()


class Metered:
    """A catalog that counts, by job, the writes that Firestore would make of it, those of progress apart."""

    def __init__(self):
        self._catalog = MemoryCatalog()
        self.writes: Counter[str] = Counter()
        self.progress: Counter[str] = Counter()

    def __getattr__(self, name):
        return getattr(self._catalog, name)

    def transact(self, ref, job, decide: Callable):
        def counted(held):
            decision = decide(held)
            wanted = decision.held
            if wanted.job and held.job and wanted.job.progress != held.job.progress and not wanted.job.terminal:
                self.progress[job] += 1
            else:
                self.writes[job] += (wanted != held) + decision.raise_epoch
            return decision

        return self._catalog.transact(ref, job, counted)

    def put_documents(self, ref, generation, documents):
        self.writes[job_id(ref, generation)] += len(documents)
        self._catalog.put_documents(ref, generation, documents)


def run_workers(runtime):
    """Eight of them, until nothing is left. Answers how many messages there were."""
    bell, stopping = threading.Event(), threading.Event()
    workers = Workers(runtime, runtime.settings.kb_topic_events, bell, stopping, count=WORKERS, fits=False)
    workers.start()
    drained = runtime.queue.drained.wait(PATIENCE)
    workers.stop()
    assert drained, f"{runtime.queue.waiting(TOPIC)} messages were never done"
    assert runtime.queue.dead(TOPIC) == []
    return runtime.queue.acknowledged


def fill(machine, draw):
    """800 documents in 20 bases, 300 of them overwritten and 100 removed before anybody looks."""
    refs = [ObjectRef(base, f"doc{n}.md") for base in BASES for n in range(40)]
    parts = {ref: draw.randint(1, 3) for ref in refs}
    for version, written in ((1, refs), (2, draw.sample(refs, 300))):
        for ref in written:
            machine.store.write(ref, content(f"{ref.base}{ref.name[3:-3]}", version, parts[ref]))
    for ref in draw.sample(refs, 100):
        stat = machine.store.stat(ref)
        machine.store.delete(ref, stat.generation)


def test_two_thousand_events_drain_over_eight_workers():
    draw = random.Random(7)  # noqa: S311 - the same backlog every time
    catalog, queue = Metered(), Watched(MemoryQueue(SystemClock()))
    machine = CloudMachine(catalog=catalog, clock=SystemClock(), embedder=CountingEmbedder(), windows=False)
    fill(machine, draw)
    events = machine.mail + draw.choices(machine.mail, k=EVENTS - len(machine.mail))
    machine.mail.clear()
    draw.shuffle(events)
    assert len(events) == EVENTS
    for change in events:
        attributes, resource = write_notification(change, BUCKET)
        queue.publish(TOPIC, Message(resource, attributes))
    shared = {each.name: getattr(machine.runtime, each.name) for each in fields(Runtime)}
    rest = {each.name: None for each in fields(LocalRuntime) if each.name not in shared}
    assert run_workers(LocalRuntime(**shared, **{**rest, "queue": queue})) == EVENTS
    assert machine.mail == []

    documents = passages = 0
    for base in BASES:
        expected = machine.expected(base)
        check_settled(catalog, machine.index, expected, base)
        documents += len(expected)
        passages += sum(parts for _, parts in expected.values())
        for name in draw.sample(sorted(expected), 3):
            assert whole(machine.reader.answers, f"{base}{name[3:]}", base) == expected[name]
    assert documents == 700
    assert set(machine.embedder.passages.values()) == {1}
    assert len(machine.embedder.passages) == passages
    assert max(catalog.writes.values()) <= MOST_WRITES
    finalized = {change.job_id for change in events if not change.removes}
    indexed = [job for base in BASES for job in catalog.jobs(base, state="indexed")]
    assert {job.job_id for job in indexed} <= finalized
    assert all(catalog.writes[job.job_id] >= 4 for job in indexed), "the meter counts nothing"


def test_a_backlog_on_one_machine_drains_as_well(tmp_path):
    """The same over SQLite, Qdrant Edge and a folder, at a size that this takes seconds for."""
    draw = random.Random(7)  # noqa: S311 - the same backlog every time
    machine = OneMachine(tmp_path, clock=SystemClock(), embedder=CountingEmbedder())
    runtime = machine.runtime
    changes = []
    for version, count in ((1, 100), (2, 30)):
        for n in range(count):
            ref = ObjectRef(BASE, f"d{n}.md")
            runtime.manage.upload(BASE, ref.name, content(f"d{n}", version, 1 + n % 3), "")
            changes.append(ObjectChange("finalize", ref, runtime.store.stat(ref).generation))
    for n in range(90, 100):
        runtime.manage.delete(BASE, f"d{n}.md")
    for change in draw.choices(changes, k=60):
        attributes, resource = write_notification(change, runtime.bucket)
        runtime.queue.publish(TOPIC, Message(resource, attributes))
    expected = {f"d{n}": (2 if n < 30 else 1, 1 + n % 3) for n in range(90)}
    watched = {each.name: getattr(runtime, each.name) for each in fields(LocalRuntime)}
    machine.runtime = LocalRuntime(**{**watched, "queue": Watched(runtime.queue)})
    try:
        assert run_workers(machine.runtime) >= 200
        machine.names |= {f"d{n}" for n in range(100)}
        machine.check(expected)
        assert set(machine.embedder.passages.values()) == {1}
    finally:
        runtime.close()
