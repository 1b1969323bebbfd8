"""A body of plain fields is read as the whole model of bodies would read it, and no other is read without it."""

import json
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from common.domain.errors import Refused
from common.settings import read_settings
from functions.query.bodies import SearchBody, refused
from functions.query.decode import decode_search

SETTINGS = [read_settings({}), read_settings({"KB_SIMILARITY_THRESHOLD": "off", "KB_TOP_K": "7", "KB_FUSION": "rrf"})]
ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.lists(st.integers())
NUMBERS = st.integers(-2, 60) | st.floats(-2, 60) | st.sampled_from([10**400, float("inf"), 1e300])
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "query": st.text(st.characters(), max_size=12) | st.just("quem paga?") | ANYTHING,
        "top_k": NUMBERS | ANYTHING,
        "mode": st.sampled_from(["hybrid", "dense", "lexical", "other"]) | ANYTHING,
        "threshold": st.sampled_from(["auto", "off", "unsaid"]) | NUMBERS | ANYTHING,
        "rerank": st.sampled_from(["off", "mmr", "llm", "x"]) | ANYTHING,
        "fusion": st.sampled_from(["sum", "minmax", "rrf", "x"]) | ANYTHING,
        "filter": st.sampled_from([None, {}, {"category": "a"}, {"year": [1, True]}]),
        "other": st.just(1),
    },
)


def outcome(read):
    try:
        return repr(read())
    except Refused as error:
        return error.code, error.field, error.detail


def thoroughly(body, settings):
    try:
        return SearchBody.model_validate(body).search(settings)
    except ValidationError as error:
        raise refused(error) from error


@given(BODIES, st.sampled_from(SETTINGS))
@example({"query": " a\n"}, SETTINGS[1])
@example({"query": "a" * 4001}, SETTINGS[0])
@example({"query": " " + "a" * 4000 + " "}, SETTINGS[0])
@example({"query": "half \ud83d"}, SETTINGS[0])
@example({"query": "a", "threshold": None}, SETTINGS[0])
@example({"query": "a", "threshold": True}, SETTINGS[0])
@example({"query": "a", "top_k": True}, SETTINGS[0])
@example({"query": "a", "top_k": 0}, SETTINGS[0])
@example({"query": "a", "top_k": 51}, SETTINGS[0])
@example({"query": "a", "mode": None}, SETTINGS[0])
@example({"query": "a", "other": 1}, SETTINGS[0])
def test_a_plain_body_is_read_as_every_other(body, settings):
    assert outcome(lambda: decode_search(body, settings)) == outcome(lambda: thoroughly(body, settings))


@pytest.mark.parametrize(("field", "value", "light"), [("top_k", 3, True), ("filter", {"category": "a"}, False)])
def test_a_plain_question_costs_the_start_no_library_of_models(field, value, light):
    """When it fails: the first answer of every process is a tenth later."""
    code = (
        "import sys, functions.query.handle\n"
        "from common.settings import read_settings\n"
        "from functions.query.decode import decode_search\n"
        f"decode_search({json.dumps({'query': 'a', field: value})}, read_settings({{}}))\n"
        "print([name for name in ('pydantic', 'pydantic_core', 'openai', 'mcp') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip() == "[]") is light, done.stdout
