"""A base of real models moved each way under twenty who ask and one who writes, and machines killed at any moment of a
migration. When it fails, `faults` says what each met.
"""

import os
from collections import Counter

import pytest

from tests.integration.test_migrations import HERE, SITES, THERE, Walk, pace_of, walked
from tests.soak.kills import documents
from tests.soak.moving_kills import STATES, kill_while_moving
from tests.soak.places import place
from tests.soak.snapshot import Faults

PASSAGES = int(os.environ.get("KB_SOAK_PASSAGES", "2000"))
CLIENTS = 20
DOCUMENTS = int(os.environ.get("KB_SOAK_MOVED_DOCUMENTS", "60"))
KILLS = int(os.environ.get("KB_SOAK_MOVED_KILLS", "40"))
SEED = int(os.environ.get("KB_SOAK_SEED", "1"))


@pytest.mark.parametrize("site", SITES)
def test_a_base_moves_each_way_while_twenty_ask_and_one_writes(site, capsys):
    walk = Walk(PASSAGES, pace_of(site, CLIENTS), answers=100, changes=5)
    with place() as folder:
        crowd, moves = walked(site, folder, walk)
    with capsys.disabled():
        for moved in moves:
            forced = f"forced, worse by {moved.worse_by}" if moved.worse_by else "not forced"
            print(
                f"\n{site}, {PASSAGES} passages -> {moved.after}: {moved.plan['passages']} planned for "
                f"{moved.plan['minutes']} min, ready after {moved.seconds / 60:.2f} min, {forced}, "
                f"switch {1000 * moved.switch_seconds:.1f} ms\n{moved.report}"
            )
        print(
            f"{crowd.answered.total()} answers of {CLIENTS} clients, {crowd.compared} dense scores compared with the "
            f"model's, {dict(crowd.changes)}; faults: { {kind: len(said) for kind, said in crowd.faults.items()} }"
        )
    assert dict(crowd.faults) == {}
    assert [moved.after for moved in moves] == [THERE, HERE]


def test_a_kill_at_any_moment_of_a_migration_ends_as_an_undisturbed_one(capsys):
    states, looked = Counter(), 0
    with place() as folder:
        for survived in kill_while_moving(folder, *documents(DOCUMENTS, SEED), KILLS, SEED):
            assert survived.faults == Faults(), (survived.killed_at, survived.said)
            assert survived.said == [], survived.killed_at
            states.update(step.split()[0] for step in survived.killed_at)
            looked += survived.looked
    with capsys.disabled():
        print(f"\n{states.total()} kills of a migration of {DOCUMENTS} documents, {looked} looks of readers: 0 faults")
        print(dict(states))
    assert states.total() >= KILLS
    assert set(states) >= set(STATES) - {"ready"}
