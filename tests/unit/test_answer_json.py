"""Answers and question vectors as JSON: whatever is written is read again, whatever else is read is refused."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.domain.answer_json import ANSWERS, QUESTION_VECTORS
from common.domain.gate import disabled
from common.domain.search import Answer, AnswerPassage
from common.domain.typed_json import reader_of, to_json

FINITE = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = {str: st.text(st.characters(), max_size=20), int: st.integers(), float: FINITE, bool: st.booleans()}


def any_of(kind):
    """Every value that an annotation allows."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is UnionType:
        return st.one_of(st.none() if part is type(None) else any_of(part) for part in parts)
    if origin is tuple and parts[-1] is Ellipsis:
        return st.lists(any_of(parts[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(any_of, parts))
    if origin is Mapping:
        return st.dictionaries(any_of(parts[0]), any_of(parts[1]), max_size=3)
    hints = get_type_hints(kind)
    return st.builds(kind, **{name: any_of(hint) for name, hint in hints.items()})


ANSWER = Answer((), disabled(), "hybrid")._replace(
    passages=(
        AnswerPassage(
            "id",
            "texto ção\ud800",
            1.5,
            None,
            0.25,
            ("a",),
            "acme",
            "s.md",
            "t",
            (),
            None,
            (1, 2),
            "d",
            7,
            "s.md",
            3,
            "",
            True,
            1.5,
        ),
    ),
    warnings=("one",),
    timings_ms={"total": 0.1},
)


def through(codec, value):
    """What another instance reads, after the bytes went through the cache."""
    text = json.dumps(codec.encode(value), ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    return codec.decode(json.loads(text.decode("utf-8", "surrogatepass")))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(any_of(Answer))
def test_every_answer_is_read_as_it_was_written(answer):
    assert through(ANSWERS, answer) == answer


def test_an_answer_keeps_the_kinds_of_its_fields():
    read = through(ANSWERS, ANSWER)
    assert read == ANSWER
    assert [type(value) for value in read] == [type(value) for value in ANSWER]
    assert type(read.passages[0].lines) is tuple
    assert hash(read.passages[0]) == hash(ANSWER.passages[0])


@given(st.lists(FINITE, min_size=1, max_size=8).filter(lambda v: 0 < math.hypot(*v) < math.inf), st.integers(0, 9000))
def test_every_vector_is_read_as_it_was_written(vector, tokens):
    assert through(QUESTION_VECTORS, (tuple(vector), tokens)) == (tuple(vector), tokens)


@pytest.mark.parametrize(
    "data",
    [
        [[], 1],
        [[0.0, 0.0], 1],
        [[math.nan, 1.0], 1],
        [[math.inf, 1.0], 1],
        [["1.0"], 1],
        [[True], 1],
        [[1.0], 1.5],
        [[1.0]],
        [[1.0], 1, 2],
        [1.0, 1],
        {"0": [1.0], "1": 1},
        [[10**400], 1],
        None,
        "x",
    ],
)
def test_what_is_no_vector_is_refused(data):
    with pytest.raises(ValueError, match=r"a \w+ is not|no direction"):
        QUESTION_VECTORS.decode(data)


def places(data: Any, at: tuple[Any, ...] = ()):
    """Every place of a value inside JSON data."""
    yield at
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for name, item in inside:
        yield from places(item, (*at, name))


def put(data: Any, at: tuple[Any, ...], value: Any) -> Any:
    """The data with another value in that place."""
    if not at:
        return value
    copied = dict(data) if isinstance(data, dict) else list(data)
    copied[at[0]] = put(copied[at[0]], at[1:], value)
    return copied


WRONG = [{"x": 1}, [1.5], "other", True, 7, 7.5, math.nan, None]


@pytest.mark.parametrize("at", list(places(ANSWERS.encode(ANSWER))), ids=str)
def test_a_wrong_value_anywhere_is_refused_or_of_the_same_kind(at):
    """What is read after any field was exchanged is still an answer as its annotations have it, down to the last."""
    good = ANSWERS.encode(ANSWER)
    refused = 0
    for value in WRONG:
        try:
            read = ANSWERS.decode(put(good, at, value))
        except ValueError:
            refused += 1
        else:
            assert json.dumps(to_json(read), allow_nan=False)
    assert refused >= len(WRONG) - 3


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"passages": "drop"},
        {"gate": None},
        {"epoch": True},
        {"embedded": 1},
        {"mode": "other"},
        {"cache": ["hit"]},
        {"timings_ms": {"total": "0.1"}},
    ],
)
def test_an_answer_with_other_fields_or_kinds_is_refused(change):
    data = {**ANSWERS.encode(ANSWER), **change}
    data = {name: value for name, value in data.items() if value != "drop"}
    with pytest.raises(ValueError, match="is not"):
        ANSWERS.decode(data)


@given(
    st.recursive(st.none() | st.booleans() | FINITE | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_any_other_json_is_refused(data):
    for codec in (ANSWERS, QUESTION_VECTORS):
        with pytest.raises(ValueError, match=r"a \w+ is not|no direction"):
            codec.decode(data)


def test_a_size_grows_with_the_text():
    longer = ANSWER._replace(passages=(ANSWER.passages[0]._replace(text="a" * 5000), *ANSWER.passages))
    assert ANSWERS.size(longer) > ANSWERS.size(ANSWER) + 5000
    assert QUESTION_VECTORS.size(((1.0,) * 384, 9)) >= 8 * 384


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A field that JSON does not carry back."""

    held: set[str]


@pytest.mark.parametrize("kind", [Unreadable, list[int], dict[str, int], Literal[1, "a"], Any, bytes])
def test_a_kind_without_a_json_form_is_said_so(kind):
    with pytest.raises(TypeError, match="no JSON form"):
        reader_of(kind)


@given(any_of(Answer), st.dictionaries(st.text(max_size=5), FINITE, max_size=2))
def test_an_answer_out_of_a_cache_differs_in_what_it_took_alone(known, timings):
    expected = known._replace(cache="hit", embedded=False, rerank_tokens=None, timings_ms=timings)
    assert known.again(timings) == expected
