"""One life of a machine whose base is moved, in a process of its own, which may be killed anywhere: built while files
change, switched, rolled back, built and switched again, retired, while a reader asks for every document all the time.
"""

import pickle
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from common.adapters.system_clock import SystemClock
from common.runtime import LocalRuntime
from functions.local.workers import HOLD_SECONDS, deliver, drain, topics
from tests.integration.moving_machine import Moving
from tests.integration.one_machine import BASE
from tests.soak.snapshot import answers, differences, take
from tests.soak.worker import Orders, Phase, bring, reading, stepping

TOLERANT = {"KB_REINDEX_TOLERANCE": "0.6"}
"""Hashes of words know nothing that could be called better or worse."""
STAGES = ("index", "build", "switch", "rollback", "again", "switch again", "retire")
INDEX = STAGES.index("index")
PAUSE = 0.005
_KEPT = "answers of blue"

Tell = Callable[..., None]


def phases(before: Phase, after: Phase) -> list[Phase]:
    """What the folder is to hold at each stage: it changes while green is built."""
    return [before, *[after] * (len(STAGES) - 1)]


def live(orders: Orders, line: Connection) -> None:
    """Tell over `line`, as it happens: started, the number of each stage, each step behind the migration's state, each
    finding of the reader, and at the end the whole.
    """
    lock = threading.Lock()

    def tell(kind: str, value: object = None) -> None:
        with lock:
            line.send((kind, value))

    try:
        _live(orders, tell)
    except BaseException:  # noqa: BLE001 - the process ends here, and whoever started it has to know why
        tell("failed", traceback.format_exc())


def _live(orders: Orders, tell: Tell) -> None:
    tell("started")
    machine = Moving(orders.folder, clock=SystemClock(), settings=TOLERANT)
    machine.on_step = stepping(orders.kill_at, lambda kind, name: tell(kind, f"{_state(machine)} {name}"))
    if orders.first:
        machine.reindexing.resume(BASE)
    before: list[str] = []
    with reading(machine, orders.phases, tell, PAUSE):
        for number, stage in enumerate(STAGES[orders.first :], orders.first):
            if number == orders.last:
                break
            tell("phase", number)
            _command(machine, stage)
            bring(machine.files, orders.phases[number])
            machine.runtime.scan.scan(allow_mass_removal=True)
            work(machine.runtime)
            if stage in {"build", "rollback"}:
                _look_back(machine, stage, answers(machine.runtime, orders.phases[number]), before, tell)
    tell("done", take(machine.runtime, orders.phases[-1]))
    machine.runtime.close()


def _state(machine: Moving) -> str:
    record = machine.record
    return record.reindex.state if record is not None and record.reindex is not None else "none"


def _command(machine: Moving, stage: str) -> None:
    """What the stage wants, unless a life before this one had it done. Retiring is said again, as whoever got no answer
    would. What changes meanwhile changes while green is being filled.
    """
    state, commands = _state(machine), machine.reindexing
    if (stage, state) in {("build", "none"), ("again", "rolled_back")}:
        machine.begin()
        _deliver_one(machine.runtime, machine.runtime.settings.kb_topic_reindex)
    elif (stage, state) in {("switch", "ready"), ("switch again", "ready")}:
        commands.switch(BASE)
    elif (stage, state) == ("rollback", "live"):
        commands.rollback(BASE)
    elif stage == "retire":
        commands.retire(BASE)


def _deliver_one(runtime: LocalRuntime, topic: str) -> None:
    delivery = runtime.queue.take(topic, HOLD_SECONDS)
    if delivery is not None:
        deliver(runtime, delivery)


def _look_back(machine: Moving, stage: str, found: dict[str, object], before: list[str], tell: Tell) -> None:
    """Blue answers behind a rollback as it did before the switch: byte by byte in one process (`before` is what it said
    there), else but for the order in which a restarted engine adds.
    """
    kept = Path(machine.folder) / _KEPT
    if stage == "build":
        assert _state(machine) == "ready", machine.reindexing.status(BASE)
        draft = kept.with_suffix(".draft")
        draft.write_bytes(pickle.dumps(found))
        draft.replace(kept)
        before.append(repr(sorted(found.items())))
    if stage == "rollback":
        other = differences(pickle.loads(kept.read_bytes()), found, "/answers")  # noqa: S301 - written above
        same = not before or before[0] == repr(sorted(found.items()))
        if other or not same:
            tell("not_restored", other or "not byte by byte")


def work(runtime: LocalRuntime) -> None:
    """Deliver everything of all topics, also what is given back for later, until nothing is left."""
    never = threading.Event()
    while True:
        waiting = [due for topic in topics(runtime) if (due := runtime.queue.next_due(topic)) is not None]
        if not waiting:
            return
        if not drain(runtime):
            never.wait(max(0.0, min(waiting) - runtime.clock.now()))
