"""Rows of sheets and CSV files: whole, under their headers, none lost."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.adapters.parsers.delimited import parse_delimited, separator_of
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.table_rows import column_name, regions, row_text

WORDS = r"[a-z]{1,4}([,;|] ?[a-z]{1,3})?"
CELL = st.text(alphabet="abcXYZ ,;|\"'\t123é", max_size=8)


def lines(text: str, name: str = "a.csv") -> list[str]:
    return parse_delimited(text.encode(), name, Limits()).documents[0].text.split("\n")


def test_each_row_says_its_columns_on_the_line_it_has_in_the_file() -> None:
    assert lines("peça;preço\nválvula;40,5\njunta;2\n") == [
        "peça | preço",
        "peça: válvula; preço: 40,5",
        "peça: junta; preço: 2",
    ]


def test_rows_without_a_header_stay_as_they_are() -> None:
    assert lines("1,2\n3,4\n") == ["1 | 2", "3 | 4"]


def test_a_cell_past_the_header_is_kept_and_reported() -> None:
    document = parse_delimited(b"a,b\n1,2,3\n", "a.csv", Limits()).documents[0]
    assert document.text == "a | b\na: 1; b: 2; Column C: 3"
    assert "1 rows" in document.warnings[0]


def test_a_title_above_the_header_is_no_header() -> None:
    assert lines("Copa\t\t\nTime\tAno\nA\t1\n") == ["Copa", "Time | Ano", "Time: A; Ano: 1"]


def test_rows_are_records_that_are_not_split_where_they_fit() -> None:
    blocks = parse_delimited(b"a,b\n1,2\n", "a.csv", Limits()).documents[0].blocks
    assert [(block.kind, block.whole) for block in blocks] == [("table", False), ("record", True)]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@given(rows=st.lists(st.lists(st.from_regex(WORDS, fullmatch=True), min_size=3, max_size=3), min_size=3, max_size=8))
def test_the_separator_a_writer_used_is_found_when_cells_are_quoted(rows: list[list[str]], separator: str) -> None:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    assert separator_of(buffer.getvalue()) == separator


@given(st.lists(st.lists(CELL, min_size=1, max_size=5), max_size=12))
def test_no_word_of_a_sheet_is_lost(rows: list[list[str]]) -> None:
    found = regions(rows)
    kept = "\n".join(
        " ".join([*region.titles, *region.header, *(row_text(region.header, row) for row in region.rows)])
        for region in found
    )
    for row in rows:
        for cell in row:
            for word in cell.split():
                assert word in kept


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=3), min_size=2, max_size=4, unique=True))
def test_words_over_figures_are_a_header(names: list[str]) -> None:
    region = regions([["Título"], names, ["1"] * len(names)])[0]
    assert region.titles == ("Título",)
    assert region.header == tuple(names)


def test_columns_are_lettered_as_spreadsheets_do() -> None:
    assert [column_name(index) for index in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]
