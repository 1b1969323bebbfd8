"""Where a job says that its time went: nothing of what ingest waits for is left out of `timings_ms`."""

import time
from dataclasses import replace

import pytest

from tests.integration.one_machine import BASE, content

WAITED = 0.2


class Slow:
    """A port of which one call takes a fifth of a second longer."""

    def __init__(self, inner, call):
        self.inner = inner
        self.call = call

    def __getattr__(self, name):
        found = getattr(self.inner, name)
        if name != self.call:
            return found

        def waits(*args, **named):
            until = time.perf_counter() + WAITED
            while time.perf_counter() < until:
                pass
            return found(*args, **named)

        return waits


@pytest.mark.parametrize(
    ("port", "call", "stage"),
    [
        ("store", "stat", "read"),
        ("store", "read", "read"),
        ("parser", "parse", "parse"),
        ("spaces", "create", "write"),
        ("catalog", "documents_named", "write"),
        ("index", "stored", "embed"),
        ("index", "upsert", "write"),
        ("index", "flush", "write"),
    ],
)
def test_what_is_waited_for_is_in_its_stage(machine, port, call, stage):
    base = "new" if call == "create" else BASE
    machine.runtime.manage.upload(BASE, "first.md", content("first", 1, 1), "")
    machine.settle()
    ports = machine.runtime.ingest
    inner = ports.spaces.index if port == "spaces" else getattr(ports, port)
    slow = Slow(inner, call)
    changed = replace(ports.spaces, index=slow) if port == "spaces" else slow
    machine.runtime = replace(machine.runtime, ingest=replace(ports, **{port: changed}))
    machine.runtime.manage.upload(base, "um.md", b"---\nid: meu\n---\n\n" + content("um", 1, 3), "")
    machine.settle()
    job = next(job for job in machine.runtime.catalog.jobs(base) if job.ref.name == "um.md")
    assert job.state == "indexed"
    assert job.timings_ms[stage] >= WAITED * 1000


def test_a_refusal_tells_what_it_took(machine):
    ports = machine.runtime.ingest
    machine.runtime = replace(machine.runtime, ingest=replace(ports, parser=Slow(ports.parser, "parse")))
    machine.runtime.manage.upload(BASE, "um.md", b"\x00\x01binary", "")
    machine.settle()
    (job,) = machine.runtime.catalog.jobs(BASE)
    assert job.code == "UNSUPPORTED"
    assert job.timings_ms["parse"] >= WAITED * 1000
