"""A base of real models moved while a crowd asks and writes, and what has to be true of it afterwards."""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from common.domain.errors import Refused
from common.runtime import Runtime
from tests.integration.crowd import Crowd
from tests.integration.one_machine import BASE

DEADLINE = 1800.0
WAITING = frozenset({"planned", "building", "verifying"})


@dataclass
class Moved:
    """What one migration took and found: the plan, the report, seconds until it was ready, and by how much green was
    worse where the switch had to be forced.
    """

    after: str
    plan: dict[str, Any]
    report: dict[str, Any]
    seconds: float
    worse_by: dict[str, float] = field(default_factory=dict)
    switch_seconds: float = 0.0


def wait_until_ready(runtime: Runtime) -> dict[str, Any]:
    """The migration's status once it waits for a person. Raises AssertionError when it does not become ready."""
    never, until = threading.Event(), time.monotonic() + DEADLINE
    while True:
        looked = time.monotonic()
        status = runtime.reindexing.status(BASE)
        if status["state"] not in WAITING:
            break
        assert status["failed"] == 0, status["failures"]
        assert time.monotonic() < until, status
        # It reads every object: whoever looks leaves most of the time to those who work.
        never.wait(max(0.05, 20 * (time.monotonic() - looked)))
    assert status["state"] == "ready", status
    return status


def move(runtime: Runtime, model: str, crowd: Crowd, *, answers: int, changes: int) -> Moved:
    """To that model and retired, with so many answers and changes before and behind the switch."""
    started = time.monotonic()
    begun = runtime.reindexing.start(BASE, model)
    crowd.wait_for(answers, changes)
    status = wait_until_ready(runtime)
    moved = Moved(model, begun["plan"], status["report"], time.monotonic() - started)
    green = runtime.catalog.base(BASE).reindex.green
    moved.worse_by = refused_as_worse(runtime)
    moved.switch_seconds = switch(runtime, crowd, green, force=bool(moved.worse_by))
    crowd.wait_for(answers, changes)
    settled(runtime, crowd)
    runtime.reindexing.retire(BASE)
    assert runtime.index.collections(BASE) == [green]
    crowd.wait_for(answers, 0)
    return moved


def refused_as_worse(runtime: Runtime) -> dict[str, float]:
    """By how much the gate holds green for worse; nothing where it does not. A switch without force says the same."""
    worse = runtime.reindexing.status(BASE)["worse_by"] or {}
    if worse:
        try:
            runtime.reindexing.switch(BASE)
        except Refused as refused:
            assert (refused.status, refused.code, refused.extra["worse_by"]) == (409, "WORSE", worse)
        else:
            raise AssertionError(f"switched although {worse}")
    return worse


def switch(runtime: Runtime, crowd: Crowd, green: str, *, force: bool) -> float:
    """Seconds that the switch took. Somebody who writes meanwhile may have it wait for what green lacks."""
    never, until = threading.Event(), time.monotonic() + DEADLINE
    while True:
        wait_until_ready(runtime)
        try:
            started = time.monotonic()
            crowd.switched(green, lambda: runtime.reindexing.switch(BASE, force=force))
        except Refused as refused:
            assert refused.code in {"INCOMPLETE", "REINDEX_STATE"}, refused.detail
            crowd.turns.pop()
            assert time.monotonic() < until, refused.detail
            never.wait(0.1)
        else:
            return time.monotonic() - started


def settled(runtime: Runtime, crowd: Crowd) -> None:
    """Both collections hold, of every document, exactly the version that answers: nothing lost, nothing resurrected."""
    with crowd.paused():
        record = runtime.catalog.base(BASE)
        objects = [known for known in runtime.catalog.objects(BASE) if known.live is not None]
        assert {known.ref.name for known in objects} == {f"{name}.md" for name in crowd.ledger.final()}
        for collection in record.writes_to:
            wanted = {(known.ref.name, known.live): known.passages_in(collection) for known in objects}
            assert dict(runtime.index.generations(BASE, collection)) == wanted, collection
        drift = runtime.reconcile.run(BASE, repair=False, yes=False)
        assert drift["details"] == []
