"""Kills machines while their base is moved, in turn at a random moment and at a random step of each state, and compares
what is left of them with a machine that nobody killed.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.soak.kills import Life, spend
from tests.soak.moving import INDEX, live, phases
from tests.soak.snapshot import Faults, count_faults, differences
from tests.soak.worker import Orders, Phase

STATES = ("planned", "building", "verifying", "ready", "live", "rolled_back")


@dataclass
class Survived:
    """Of all lives of one machine: where it was killed, what readers met and what is left of it."""

    killed_at: list[str] = field(default_factory=list)
    looked: int = 0
    faults: Faults = field(default_factory=Faults)
    said: list[str] = field(default_factory=list)


def kill_while_moving(folder: Path, before: Phase, after: Phase, kills: int, seed: int) -> Iterator[Survived]:
    """First the machine that nobody kills, then others until so many kills hit."""
    chance = Random(seed)  # noqa: S311 - a draw that can be repeated, no secret
    stages = phases(before, after)
    spend(Orders(folder / "indexed", stages, last=INDEX + 1), target=live)
    clean = spend(Orders(_copied(folder, "clean"), stages, INDEX + 1), target=live)
    yield Survived([], clean.findings["looked"], count_faults(after, clean.end, clean.findings), clean.said)
    done = number = 0
    while done < kills:
        number += 1
        assert number <= 3 * kills, "most machines end before they are killed"
        moment, step = _doom(clean, number, chance)
        place = _copied(folder, f"killed-{number}")
        outcome = _survive(Orders(place, stages, INDEX + 1, step), moment, clean)
        shutil.rmtree(place)
        done += len(outcome.killed_at)
        yield outcome


def _copied(folder: Path, name: str) -> Path:
    return Path(shutil.copytree(folder / "indexed", folder / name))


def _doom(clean: Life, number: int, chance: Random) -> tuple[float | None, int | None]:
    """When the next machine dies: after so many seconds, or at a step that a machine takes in the state whose turn it
    is.
    """
    if number % 2:
        return chance.uniform(0, clean.seconds), None
    state = STATES[number // 2 % len(STATES)]
    return None, chance.choice(_steps_in(clean.steps, state))


def _steps_in(steps: Sequence[str], state: str) -> list[int]:
    """The steps in that state; a state in which nothing is done is left with the step after it."""
    found = [number for number, step in enumerate(steps) if step.split()[0] == state]
    return found or list(range(len(steps)))


def _survive(orders: Orders, moment: float | None, clean: Life) -> Survived:
    findings: Counter[str] = Counter()
    survived = Survived()
    while True:
        life = spend(orders, moment, live)
        findings += life.findings
        survived.said += life.said
        if life.end is not None:
            break
        survived.killed_at.append(life.steps[-1] if life.steps else "none start")
        orders, moment = Orders(orders.folder, orders.phases, life.phase), None
    survived.looked = findings["looked"]
    survived.faults = count_faults(orders.phases[-1], life.end, findings)
    survived.said += differences(clean.end, life.end)
    return survived
