"""A small count of what `make soak` runs long: processes that are really killed, at random and at every step."""

from tests.soak.kills import documents, kill_at_every_boundary, kill_at_random_moments
from tests.soak.moving_kills import kill_while_moving
from tests.soak.places import place
from tests.soak.snapshot import Faults

SMALL = [{"um": (1, 2)}, {"um": (2, 3)}, {}]


def test_a_kill_at_a_random_moment_loses_doubles_and_halves_nothing():
    with place() as folder:
        outcomes = list(kill_at_random_moments(folder, documents(20, 1), 3, 1))
    assert [(outcome.faults, outcome.said) for outcome in outcomes] == [(Faults(), [])] * len(outcomes)
    assert sum(outcome.kills for outcome in outcomes) >= 3
    assert sum(outcome.looked for outcome in outcomes) > 20


def test_a_kill_at_every_step_loses_doubles_and_halves_nothing():
    with place() as folder:
        outcomes = dict(kill_at_every_boundary(folder, SMALL))
    wrong = {step: o for step, o in outcomes.items() if (o.faults, o.said) != (Faults(), [])}
    assert wrong == {}
    assert {step: o.kills for step, o in outcomes.items()} == {**dict.fromkeys(outcomes, 1), "none": 0}
    passed = {step.split()[-1] for step in outcomes}
    assert {"begin", "read", "parse", "chunk", "embed", "upsert", "documents", "publish", "sweep", "finish"} <= passed
    assert {"asked", "removed"} <= passed


def test_a_kill_while_a_base_moves_ends_as_an_undisturbed_migration():
    with place() as folder:
        survived = list(kill_while_moving(folder, {"um": (1, 3), "dois": (1, 2)}, {"um": (2, 4), "tres": (1, 2)}, 3, 1))
    assert [(each.faults, each.said) for each in survived] == [(Faults(), [])] * len(survived)
    assert sum(len(each.killed_at) for each in survived) >= 3
