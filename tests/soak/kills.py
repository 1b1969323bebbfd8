"""Kills machines and compares what is left of them with a machine that nobody killed. Each machine is a process, forked
from a server that has everything imported, so that a life costs little more than opening its data folder.
"""

import multiprocessing
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from tests.soak.snapshot import Faults, Snapshot, count_faults, differences
from tests.soak.worker import Orders, Phase, live

LONGEST_SECONDS = 600.0
"""A life that lasts longer waits for something that never comes."""
KILLED_AGAIN = 1 / 3
"""How often a machine that was killed is killed once more while it recovers."""
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tests.soak.worker", "tests.soak.moving"])
Target = Callable[[Orders, Connection], None]


@dataclass
class Life:
    """What one process told until it ended, and whether it ended by itself (`end`) or was killed (None)."""

    phase: int
    seconds: float = 0.0
    steps: list[str] = field(default_factory=list)
    findings: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)
    end: Snapshot | None = None


@dataclass
class Outcome:
    """Of all lives of one machine: how often it was killed, what readers met and what is left of it."""

    kills: int
    looked: int
    faults: Faults
    said: list[str]


def spend(orders: Orders, moment: float | None = None, target: Target = live) -> Life:
    """One life of a machine at that work, killed `moment` seconds after it started unless it ended before."""
    hearing, line = _PROCESSES.Pipe(duplex=False)
    process = _PROCESSES.Process(target=target, args=(orders, line))
    process.start()
    line.close()
    life = Life(orders.first)
    try:
        _hear(hearing, life, moment, process)
    finally:
        process.kill()
        process.join()
        hearing.close()
    assert life.end is not None or process.exitcode == -signal.SIGKILL, f"exit code {process.exitcode}"
    process.close()
    return life


def _hear(hearing, life: Life, moment: float | None, process) -> None:
    """Everything until the process is gone; a message that the kill cut off is none."""
    started = time.monotonic()
    longest = started + LONGEST_SECONDS
    until = None
    while True:
        if not hearing.poll(max(0.0, (until or longest) - time.monotonic())):
            assert until is not None, f"the process hangs after {life.steps[-3:]}"
            process.kill()
            until = None
            continue
        try:
            kind, value = hearing.recv()
        except (EOFError, OSError):
            return
        if kind == "started":
            started = time.monotonic()
            until = None if moment is None else started + moment
        elif kind == "phase":
            life.phase = value
        elif kind == "step":
            life.steps.append(value)
        elif kind == "done":
            life.end, life.seconds = value, time.monotonic() - started
        else:
            assert kind != "failed", value
            life.findings[kind] += 1
            life.said += [f"{kind}: {value}"] if value else []


def survive(
    folder: Path, phases: Sequence[Phase], clean: Snapshot, moments: Iterator[float], step: int | None
) -> Outcome:
    """Live until the work is done, however often killed, and compare the end with the clean one."""
    findings: Counter[str] = Counter()
    said: list[str] = []
    kills, first = 0, 0
    while True:
        life = spend(Orders(folder, phases, first, step), next(moments, None))
        findings += life.findings
        said += life.said
        if life.end is not None:
            faults = count_faults(phases[-1], life.end, findings)
            return Outcome(kills, findings["looked"], faults, said + differences(clean, life.end))
        kills, first, step = kills + 1, life.phase, None


def kill_at_random_moments(folder: Path, phases: Sequence[Phase], kills: int, seed: int) -> Iterator[Outcome]:
    """Machines killed at moments drawn over the time that the work takes, some of them again while they recover."""
    chance = Random(seed)  # noqa: S311 - a draw that can be repeated, no secret
    clean = spend(Orders(folder / "clean", phases))
    yield _of(clean, phases)
    done = number = 0
    while done < kills:
        number += 1
        assert number <= 3 * kills, "most machines end before they are killed"
        moments = [chance.uniform(0, clean.seconds)]
        if chance.random() < KILLED_AGAIN:
            moments.append(chance.uniform(0, clean.seconds))
        outcome = survive(folder / f"killed-{number}", phases, clean.end, iter(moments), None)
        done += outcome.kills
        yield outcome


def kill_at_every_boundary(folder: Path, phases: Sequence[Phase]) -> Iterator[tuple[str, Outcome]]:
    """A machine for each step that the clean one passes, killed there."""
    clean = spend(Orders(folder / "clean", phases))
    yield "none", _of(clean, phases)
    for number, name in enumerate(clean.steps):
        outcome = survive(folder / f"killed-{number}", phases, clean.end, iter(()), number)
        yield f"{number} {name}", outcome


def _of(clean: Life, phases: Sequence[Phase]) -> Outcome:
    faults = count_faults(phases[-1], clean.end, clean.findings)
    return Outcome(0, clean.findings["looked"], faults, clean.said)


def documents(count: int, seed: int) -> list[Phase]:
    """That many documents of 1 to 8 passages; then a fifth of them overwritten and a tenth removed."""
    chance = Random(seed)  # noqa: S311 - a draw that can be repeated, no secret
    first = {f"d{number:03}": (1, chance.randint(1, 8)) for number in range(count)}
    names = sorted(first)
    second = {name: (2, chance.randint(1, 8)) for name in names[: count // 5]}
    gone = set(names[count // 5 : count // 5 + count // 10])
    return [first, {name: size for name, size in {**first, **second}.items() if name not in gone}]
