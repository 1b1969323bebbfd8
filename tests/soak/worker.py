"""One life of a machine in a process of its own, which may be killed anywhere: it brings the folder to what each phase
wants and works the queue until it is drained, while a reader asks for every document all the time.
"""

import os
import signal
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from common.adapters.system_clock import SystemClock
from common.domain.errors import Unavailable
from common.runtime import LocalRuntime
from functions.local.workers import drain
from tests.integration.one_machine import OneMachine, content
from tests.soak.snapshot import take

Phase = Mapping[str, tuple[int, int]]
"""The whole folder as it is wanted: version and number of passages by name."""


@dataclass(frozen=True)
class Orders:
    """What one life has to do, from the phase on at which the last one died and before phase `last`; `kill_at` counts
    steps from 0.
    """

    folder: Path
    phases: Sequence[Phase]
    first: int = 0
    kill_at: int | None = None
    last: int | None = None


def live(orders: Orders, line: Connection) -> None:
    """Tell over `line`, as it happens: started, phase, step, each finding of the reader, and at the end the whole."""
    lock = threading.Lock()

    def tell(kind: str, value: object = None) -> None:
        with lock:
            line.send((kind, value))

    try:
        _live(orders, tell)
    except BaseException:  # noqa: BLE001 - the process ends here, and whoever started it has to know why
        tell("failed", traceback.format_exc())


def _live(orders: Orders, tell: Callable[..., None]) -> None:
    tell("started")
    machine = OneMachine(orders.folder, clock=SystemClock(), on_step=stepping(orders.kill_at, tell))
    with reading(machine, orders.phases, tell):
        for number, phase in enumerate(orders.phases[orders.first :], orders.first):
            tell("phase", number)
            bring(machine.files, phase)
            machine.runtime.scan.scan(allow_mass_removal=True)
            work(machine.runtime)
    tell("done", take(machine.runtime, orders.phases[-1]))
    machine.runtime.close()


def stepping(kill_at: int | None, tell: Callable[..., None]) -> Callable[[str], None]:
    passed = 0

    def step(name: str) -> None:
        nonlocal passed
        tell("step", name)
        if passed == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        passed += 1

    return step


def bring(files: Path, phase: Phase) -> None:
    """Make the folder what the phase wants. A file appears whole and one that is as wanted is left alone, so that after
    a kill nothing becomes a version of its own by being written again.
    """
    files.mkdir(parents=True, exist_ok=True)
    for path in files.glob("*.md"):
        if path.stem not in phase:
            path.unlink()
    for name, (version, parts) in phase.items():
        path, data = files / f"{name}.md", content(name, version, parts)
        if not path.exists() or path.read_bytes() != data:
            draft = files.parent.parent / "draft"
            draft.write_bytes(data)
            draft.replace(path)


def work(runtime: LocalRuntime) -> None:
    """Deliver everything, also what is given back for later, until nothing is left."""
    never = threading.Event()
    while (due := runtime.queue.next_due(runtime.settings.kb_topic_events)) is not None:
        if not drain(runtime):
            never.wait(max(0.0, due - runtime.clock.now()))


@contextmanager
def reading(machine: OneMachine, phases: Sequence[Phase], tell: Callable[..., None], pause: float = 0.0):
    """A reader who lets `pause` seconds pass before each question."""
    stopping = threading.Event()
    reader = threading.Thread(target=_read, args=(machine, phases, tell, stopping, pause), daemon=True)
    reader.start()
    try:
        yield
    finally:
        stopping.set()
        reader.join()


def _read(
    machine: OneMachine,
    phases: Sequence[Phase],
    tell: Callable[..., None],
    stopping: threading.Event,
    pause: float,
) -> None:
    """Ask for one document after the other. Each is whole, never older than it was and, unless a phase removes it,
    never gone again.
    """
    names = sorted({name for phase in phases for name in phase})
    lasting = {name for name in names if all(name in phase for phase in phases)}
    newest: dict[str, int] = {}
    while not stopping.is_set():
        for name in names:
            if stopping.wait(pause):
                return
            try:
                found = machine.seen(name)
            except Unavailable:
                tell("unavailable")
                continue
            except AssertionError as finding:
                tell("half_seen", str(finding))
                continue
            except Exception as error:  # noqa: BLE001 - no reader may meet any other
                tell("half_seen", f"{name}: {error!r}")
                continue
            tell("looked")
            if found is None and name in newest and name in lasting:
                tell("lost", name)
            if found is not None:
                if found[0] < newest.get(name, 0):
                    tell("stale", f"{name}: version {found[0]} after {newest[name]}")
                newest[name] = max(found[0], newest.get(name, 0))
