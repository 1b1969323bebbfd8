"""What every Generations keeps to: a number per identity, that only grows, across absence too."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.domain.objects import ObjectRef
from common.ports import Generations
from tests.contract.stores import FOLDER_GENERATIONS, GENERATIONS

A = ObjectRef("acme", "pasta/é%20#?.md")
B = ObjectRef("acme", "b.md")
OTHER = ObjectRef("other", "b.md")


@pytest.fixture(params=list(GENERATIONS))
def generations(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Generations]:
    with GENERATIONS[request.param](tmp_path) as made:
        yield made


def test_numbers_start_at_one_and_grow_with_each_other_identity(generations):
    assert [generations.assign(A, identity) for identity in ("x", "x", "y", "y", "x")] == [1, 1, 2, 2, 3]
    assert generations.assign(B, "x") == 1
    assert generations.assign(OTHER, "z") == 1


def test_known_holds_what_is_present_by_base(generations):
    assert generations.known() == {}
    for ref, identity in ((A, "x"), (A, "y"), (B, "b"), (OTHER, "o")):
        generations.assign(ref, identity)
    generations.absent(B, 1)
    assert generations.known() == {A: ("y", 2), OTHER: ("o", 1)}
    assert generations.known("acme") == {A: ("y", 2)}
    assert generations.known("nobody") == {}


def test_an_object_that_returns_gets_a_higher_number_even_with_its_old_identity(generations):
    generations.assign(A, "x")
    assert generations.absent(A, 1)
    assert generations.known() == {}
    assert generations.assign(A, "x") == 2
    assert generations.known() == {A: ("x", 2)}


def test_absence_of_an_older_generation_changes_nothing(generations):
    generations.assign(A, "x")
    generations.assign(A, "y")
    assert not generations.absent(A, 1)
    assert not generations.absent(A, 3)
    assert not generations.absent(B, 1)
    assert generations.known() == {A: ("y", 2)}


def test_one_object_is_told_of_alone(generations):
    """What the S3 store asks before and after each of its calls."""
    assert generations.current(A) is None
    generations.assign(A, "x")
    generations.assign(A, "y")
    generations.assign(OTHER, "z")
    assert generations.current(A) == ("y", 2)
    assert generations.current(B) is None
    generations.absent(A, 2)
    assert generations.current(A) is None
    generations.assign(A, "y")
    assert generations.current(A) == ("y", 3)


def test_absence_can_be_recorded_again(generations):
    generations.assign(A, "x")
    assert generations.absent(A, 1)
    assert generations.absent(A, 1)


@pytest.mark.parametrize("name", list(FOLDER_GENERATIONS))
def test_an_identity_spelt_anew_keeps_its_number(name, tmp_path):
    with FOLDER_GENERATIONS[name](tmp_path) as generations:
        generations.assign(A, "x#1")
        assert generations.settle(A, 1, "x")
        assert generations.current(A) == ("x", 1)
        assert generations.assign(A, "x") == 1
        assert generations.assign(A, "x#1") == 2
        assert not generations.settle(A, 1, "x")
        generations.absent(A, 2)
        assert not generations.settle(A, 2, "x")
        assert not generations.settle(B, 1, "x")
        assert generations.current(A) is None
        assert generations.known() == {}


def test_threads_never_get_one_number_for_two_identities(generations):
    def assign(number: int) -> int:
        return generations.assign(A, f"identity {number}")

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(assign, range(80))) == list(range(1, 81))


def test_threads_that_see_the_same_identity_agree(generations):
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: generations.assign(A, "same"), range(40))) == {1}


@pytest.mark.parametrize("name", list(GENERATIONS))
def test_a_number_stands_for_one_stay_of_one_identity(name, tmp_path):
    objects = itertools.count()
    with GENERATIONS[name](tmp_path) as generations:

        @settings(max_examples=40, deadline=None)
        @given(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=20))
        def holds(seen):
            ref, number, present = ObjectRef("acme", f"object {next(objects)}"), 0, None
            for identity in seen:
                if identity is None:
                    assert generations.absent(ref, number) == (number > 0)
                else:
                    number += identity != present
                    assert generations.assign(ref, identity) == number
                present = identity
                assert generations.known().get(ref) == (None if present is None else (present, number))

        holds()
