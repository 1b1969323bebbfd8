"""What a worker answers: everything comes back as it was, and nonsense is refused rather than read by halves."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.adapters.parsers.wire import decode, encode
from common.domain.documents import Block, Dropped, Link, Parsed, ParsedDocument

TEXT = st.text(max_size=8)
BLOCKS = st.builds(
    Block,
    st.integers(0, 99),
    st.integers(0, 99),
    st.sampled_from(["heading", "paragraph", "table"]),
    st.lists(TEXT, max_size=3).map(tuple),
    st.none() | st.integers(1, 9),
    st.booleans(),
    st.booleans(),
    TEXT,
)
DOCUMENTS = st.builds(
    ParsedDocument,
    source=TEXT,
    title=TEXT,
    text=TEXT,
    blocks=st.lists(BLOCKS, max_size=4).map(tuple),
    keywords=st.lists(TEXT, max_size=2).map(tuple),
    metadata=st.dictionaries(TEXT, TEXT | st.none() | st.lists(st.integers(), max_size=2), max_size=2),
    links=st.lists(st.builds(Link, TEXT, TEXT, st.integers(1, 9)), max_size=2).map(tuple),
    dropped=st.lists(st.builds(Dropped, st.integers(0, 9), st.integers(0, 9), TEXT), max_size=2).map(tuple),
    warnings=st.lists(TEXT, max_size=2).map(tuple),
)


@given(st.builds(Parsed, st.lists(DOCUMENTS, max_size=3).map(tuple), st.lists(TEXT, max_size=2).map(tuple)))
def test_documents_come_back_as_they_were(parsed: Parsed) -> None:
    assert decode(encode(parsed)) == parsed


def frame(told: object, texts: bytes) -> bytes:
    written = json.dumps(told).encode()
    return len(written).to_bytes(8, "big") + written + texts


@pytest.fixture
def told() -> dict[str, Any]:
    answer = encode(Parsed((ParsedDocument("a.pdf", "A", "ab cd", (Block(0, 2), Block(3, 5))),)))
    return json.loads(answer[8:-5])


def test_blocks_whose_fields_do_not_match_are_refused(told) -> None:
    assert decode(frame(told, b"ab cd")).documents[0].text == "ab cd"
    told["documents"][0]["blocks"][1].pop()
    with pytest.raises(ValueError, match="shorter"):
        decode(frame(told, b"ab cd"))


@pytest.mark.parametrize("length", [-1, 6, 2**70, "5", 4.5, None])
def test_a_text_that_does_not_stand_there_is_refused(told, length) -> None:
    told["documents"][0]["text"] = length
    with pytest.raises((ValueError, TypeError)):
        decode(frame(told, b"ab cd"))


@pytest.mark.parametrize("answer", [b"", b"short", (2**63).to_bytes(8, "big"), (9).to_bytes(8, "big") + b"{"])
def test_an_answer_that_is_cut_off_is_refused(answer) -> None:
    with pytest.raises(ValueError, match=r".*"):
        decode(answer)
