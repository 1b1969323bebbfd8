"""Names in a shared cache: equal where keys are equal, in every process, and never telling what was asked."""

import subprocess
import sys
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.objects import ObjectRef
from common.domain.search import Search, SearchFilter
from common.domain.shared_keys import shared_name, shared_prefix

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)


@dataclass(frozen=True)
class Place:
    """Has the fields of an ObjectRef."""

    base: str
    name: str


KEYS = st.lists(st.recursive(SCALARS, lambda part: st.lists(part, max_size=3).map(tuple)), min_size=1, max_size=4).map(
    tuple
)


WORDS = st.sampled_from(["", "a", "b"])
VALUES = st.lists(st.sampled_from(["a", "1", 1, True, 1.5, None]), max_size=2).map(tuple)
QUESTIONS = st.builds(
    Search,
    WORDS,
    top_k=st.integers(1, 2),
    mode=st.sampled_from(["hybrid", "dense"]),
    threshold=st.sampled_from(["auto", None, 0.0, 0.5]),
    filter=st.builds(
        SearchFilter,
        WORDS,
        st.lists(WORDS, max_size=2).map(tuple),
        st.lists(st.tuples(WORDS, VALUES), max_size=2).map(tuple),
    ),
    rerank=st.sampled_from(["off", "mmr"]),
    fusion=st.sampled_from(["sum", "rrf"]),
)


def spelt(key):
    """A key so that True is not 1."""
    return repr(key)


@given(KEYS, KEYS)
def test_names_are_equal_exactly_where_keys_are(one, other):
    assert (shared_name(one) == shared_name(other)) == (spelt(one) == spelt(other))


@given(QUESTIONS, QUESTIONS)
def test_every_field_of_a_question_counts(one, other):
    equal = shared_name(("answer", "acme", 1, one)) == shared_name(("answer", "acme", 1, other))
    assert equal == (spelt(one) == spelt(other))


def test_who_measures_is_answered_from_the_same_entry():
    assert shared_name(("a", Search("x", measuring=True))) == shared_name(("a", Search("x")))
    assert Search("x", measuring=True).key == Search("x").key


def test_a_name_shows_where_and_not_what():
    name = shared_name(("answer", "acme", "acme_kb__0123456789ab", 12, Search("minha senha")))
    assert name.startswith("answer:acme:acme_kb__0123456789ab:12:")
    assert "senha" not in name
    assert "senha" not in shared_name(("vector", SearchFilter("x"), "senha"))
    assert shared_name(("vector", SearchFilter("x"), "senha")).startswith("vector:-:")


def test_no_part_can_pass_for_two():
    assert ":" not in shared_name(("a:b", "c")).removeprefix("-:")
    assert shared_name(("a", "b:c", "d")) != shared_name(("a:b", "c", "d"))
    assert len(shared_name(("x" * 10_000, "y"))) < 100


def test_dataclasses_of_equal_fields_are_two():
    assert shared_name(("a", ObjectRef("b", "c"))) != shared_name(("a", Place("b", "c")))


def test_a_name_is_the_same_in_every_process():
    script = (
        "from common.domain.search import Search; from common.domain.shared_keys import shared_name, shared_prefix;"
        "key = ('answer', 'acme', 1, Search('ação', threshold=0.5));"
        "print(shared_prefix({'A': '1', 'B': '2'}, 'r') + shared_name(key))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    key = ("answer", "acme", 1, Search("ação", threshold=0.5))
    assert done.stdout.strip() == shared_prefix({"B": "2", "A": "1"}, "r") + shared_name(key)


def test_another_setting_or_release_has_names_of_its_own():
    settings = {"KB_FUSION": "sum", "GOOGLE_CLOUD_PROJECT": "p"}
    prefixes = {
        shared_prefix(settings, "1"),
        shared_prefix(settings, "2"),
        shared_prefix(settings | {"KB_FUSION": "rrf"}, "1"),
        shared_prefix(settings | {"GOOGLE_CLOUD_PROJECT": "q"}, "1"),
    }
    assert len(prefixes) == 4
    assert all(prefix.startswith("fichario:") for prefix in prefixes)


@pytest.mark.parametrize("part", [object(), b"x", frozenset({1}), Search])
def test_a_part_without_one_spelling_is_refused(part):
    with pytest.raises(TypeError, match="shared key"):
        shared_name(("a", part))
