"""The builder: whatever is appended, blocks are ranges of the text, in order, apart and clean."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from common.adapters.parsers.build import TextBuilder, clean, one_line
from common.domain.errors import DocumentError

PIECES = st.lists(
    st.one_of(
        st.tuples(st.just("heading"), st.integers(-1, 9), st.text(max_size=20)),
        st.tuples(st.just("add"), st.just(0), st.text(max_size=40)),
        st.tuples(st.just("table"), st.integers(1, 3), st.text(max_size=20)),
    ),
    max_size=20,
)


def built(pieces: list[tuple[str, int, str]]) -> TextBuilder:
    builder = TextBuilder()
    for kind, number, text in pieces:
        if kind == "heading":
            builder.heading(number, text)
        elif kind == "table":
            builder.table([[text] * number, ["x"] * number])
        else:
            builder.add(text)
    return builder


@given(PIECES)
def test_blocks_are_ordered_ranges_of_clean_text(pieces: list[tuple[str, int, str]]) -> None:
    document = built(pieces).document("a/b.docx", "docx")
    end = 0
    for block in document.blocks:
        assert end <= block.start < block.end <= len(document.text)
        assert document.text[block.start : block.end].strip()
        assert document.text[end : block.start].strip() == ""
        end = block.end
    assert document.text[end:] == ""
    assert not set(document.text) & set("\x00\ufffd\r\ufeff")
    assert unicodedata.is_normalized("NFC", document.text)


@given(st.text())
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert "\n" not in one_line(text)


DIRTY = st.text(alphabet="a\u00e9\u0301 \t\n\r\u00a0\u2028\ufffd\x00\x0b\u00ad\ue000\u2126", max_size=12)


@given(DIRTY)
@example("a \na")
@example("a\n\n\na")
def test_a_cheap_look_finds_all_that_needs_cleaning(text: str) -> None:
    cleaned = clean(text)
    assert not set(cleaned) & set("\r\u2028\ufffd\x00\x0b\u00ad")
    assert not re.search(r"[ \t\u00a0](?=\n|\Z)|\n{3}", cleaned)
    assert unicodedata.is_normalized("NFC", cleaned)


def test_headings_form_the_path_of_what_follows() -> None:
    builder = built([("heading", 1, "A"), ("heading", 2, "B"), ("add", 0, "x"), ("heading", 2, "C"), ("add", 0, "y")])
    document = builder.document("a.docx", "docx")
    assert [block.headings for block in document.blocks if block.kind == "paragraph"] == [("A", "B"), ("A", "C")]
    assert document.title == "A"
    assert document.text == "# A\n\n## B\n\nx\n\n## C\n\ny"


def test_a_table_repeats_its_head_and_keeps_its_cells_apart() -> None:
    builder = TextBuilder()
    builder.table([["a", "b|c"], ["1\n2"]])
    block = builder.document("a.docx", "docx").blocks[0]
    assert block.header == "| a | b\\|c |\n| --- | --- |"
    assert builder.document("a.docx", "docx").text == "| a | b\\|c |\n| --- | --- |\n| 1 2 |  |"


def test_a_link_stands_on_the_line_of_its_piece() -> None:
    builder = TextBuilder()
    builder.add("one\ntwo")
    builder.link("https://example.com", "here")
    builder.add("three here")
    link = builder.document("a.docx", "docx").links[0]
    assert (link.target, link.text, link.line) == ("https://example.com", "here", 4)


def test_a_document_without_headings_is_called_by_its_file() -> None:
    builder = TextBuilder()
    builder.add("x")
    document = builder.document("pasta/Contrato 7.docx", "docx")
    assert (document.title, document.external_id) == ("Contrato 7", "pasta/Contrato 7")


def test_text_past_the_bound_is_a_parser_limit() -> None:
    builder = TextBuilder(characters=10)
    with pytest.raises(DocumentError) as caught:
        builder.add("x" * 11)
    assert caught.value.code == "PARSER_LIMIT"
