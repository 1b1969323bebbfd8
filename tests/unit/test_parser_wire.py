"""What a worker answers: everything comes back as it was, and nonsense is refused rather than read by halves."""

import json

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


def test_blocks_whose_fields_do_not_match_are_refused() -> None:
    blocks = (Block(0, 2), Block(3, 5))
    told = json.loads(encode(Parsed((ParsedDocument("a.pdf", "A", "ab cd", blocks),))))
    told["documents"][0]["blocks"][1].pop()
    with pytest.raises(ValueError, match="shorter"):
        decode(json.dumps(told).encode())
