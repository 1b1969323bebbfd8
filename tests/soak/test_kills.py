"""Machines killed at random moments and at every step: each ends as one that nobody killed, and no reader on the way
sees half a document. When it fails, `said` names each difference; the seed draws the same moments again.
"""

import os

from tests.soak.kills import documents, kill_at_every_boundary, kill_at_random_moments
from tests.soak.places import place
from tests.soak.snapshot import Faults

DOCUMENTS = int(os.environ.get("KB_SOAK_DOCUMENTS", "200"))
KILLS = int(os.environ.get("KB_SOAK_KILLS", "60"))
SEED = int(os.environ.get("KB_SOAK_SEED", "1"))

FEW = [
    {"um": (1, 3), "dois": (1, 2), "tres": (1, 40)},
    {"um": (2, 5), "dois": (1, 2), "tres": (2, 35)},
    {"um": (2, 5), "tres": (3, 1)},
]
"""Three documents come, two are overwritten, one of them twice, one is deleted; the longest takes two upserts."""


def test_a_kill_at_a_random_moment_loses_doubles_and_halves_nothing(capsys):
    kills = looked = 0
    with place() as folder:
        for outcome in kill_at_random_moments(folder, documents(DOCUMENTS, SEED), KILLS, SEED):
            assert outcome.faults == Faults(), outcome.said
            assert outcome.said == []
            kills += outcome.kills
            looked += outcome.looked
    with capsys.disabled():
        print(f"\n{kills} kills of {DOCUMENTS} documents at random moments, {looked} looks of readers: 0 faults")
    assert kills >= KILLS
    assert looked > DOCUMENTS


def test_a_kill_at_every_step_loses_doubles_and_halves_nothing(capsys):
    steps = looked = 0
    with place() as folder:
        for step, outcome in kill_at_every_boundary(folder, FEW):
            assert outcome.faults == Faults(), (step, outcome.said)
            assert outcome.said == [], step
            assert outcome.kills == (step != "none"), step
            steps += outcome.kills
            looked += outcome.looked
    with capsys.disabled():
        print(f"\n{steps} kills, one at each step, {looked} looks of readers: 0 faults")
    assert looked > steps
