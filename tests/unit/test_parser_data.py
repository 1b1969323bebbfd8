"""XML, JSON, notebooks, reStructuredText, Org, subtitles and RTF."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.adapters.parsers.json_text import parse_json
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.markup import parse_org, parse_rst, parse_subtitles
from common.adapters.parsers.rtf import parse_rtf
from common.adapters.parsers.text import parse_text
from common.adapters.parsers.xml_text import parse_xml_document
from common.domain.documents import ParsedDocument
from common.domain.errors import DocumentError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet="abcé ", max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet="xyz", min_size=1), inner, max_size=4),
    max_leaves=12,
)


def from_json(text: str) -> ParsedDocument:
    return parse_json(text.encode(), "a.json", Limits(), parse_text).documents[0]


def test_json_leaves_say_their_path_and_numbers_stay_as_written() -> None:
    text = '{"loja": {"nome": "Café", "nota": 1.10, "dias": ["seg", "ter"]}, "aberta": true}'
    assert from_json(text).text == "loja > nome: Café\nloja > nota: 1.10\nloja > dias: seg, ter\n\naberta: true"


def test_each_member_of_a_list_is_a_record_of_its_own() -> None:
    document = from_json('[{"a": 1, "b": 2}, {"a": 3}]')
    assert [document.text[block.start : block.end] for block in document.blocks] == ["a: 1\nb: 2", "a: 3"]


def test_broken_json_is_read_as_text() -> None:
    assert from_json('{"a": 1').text == '{"a": 1'


@pytest.mark.parametrize("depth", [300, 5_000, 200_000])
def test_nesting_past_the_bound_is_a_limit(depth: int) -> None:
    with pytest.raises(DocumentError) as caught:
        from_json("[" * depth + "1" + "]" * depth)
    assert caught.value.code == "PARSER_LIMIT"


@given(JSON)
def test_no_string_of_json_is_lost(value: object) -> None:
    documents = parse_json(json.dumps(value).encode(), "a.json", Limits(), parse_text).documents
    text = documents[0].text if documents else ""

    def strings(node: object) -> list[str]:
        if isinstance(node, dict):
            return [word for inner in node.values() for word in strings(inner)]
        if isinstance(node, list):
            return [word for inner in node for word in strings(inner)]
        return node.split() if isinstance(node, str) else []

    assert all(word in text for word in strings(value))


def test_a_notebook_is_prose_and_listings() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Vendas\n", "\n", "texto"]},
        {"cell_type": "code", "source": "x = 1", "outputs": [{"text": "saída"}]},
    ]
    document = from_json(json.dumps({"cells": cells, "nbformat": 4}))
    assert document.text == "# Vendas\n\ntexto\n\n```\nx = 1\n```"
    assert document.blocks[-1].headings == ("Vendas",)


def from_xml(text: str) -> ParsedDocument:
    return parse_xml_document(text.encode(), "a.xml", Limits()).documents[0]


def test_xml_leaves_say_their_path_and_mixed_content_stays_prose() -> None:
    document = from_xml('<r><item cor="azul"><nome>x</nome></item><p>um <b>forte</b> fim</p></r>')
    assert document.text == "item@cor: azul\nitem > nome: x\n\np: um forte fim"


def test_entities_of_the_document_itself_are_left_out_and_files_never_read() -> None:
    document = from_xml('<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/hostname">]><r><a>antes &e; depois</a></r>')
    assert "antes" in document.text
    assert "depois" in document.text
    assert document.warnings


def test_xml_that_declares_another_encoding_than_it_has_is_read_by_its_bytes() -> None:
    data = '<?xml version="1.0" encoding="UTF-8"?><r><a>ação</a></r>'.encode("utf-16")
    assert parse_xml_document(data, "a.xml", Limits()).documents[0].text == "a: ação"


def test_rst_is_kept_as_written_under_its_titles() -> None:
    text = "=====\nGuia\n=====\n\nintro\n\nParte\n-----\n\ncorpo\n"
    document = parse_rst(text.encode(), "a.rst", Limits()).documents[0]
    assert document.text == text
    assert document.title == "Guia"
    assert [block.headings for block in document.blocks if block.kind != "heading"] == [("Guia",), ("Guia", "Parte")]


def test_org_headings_and_title_are_found_and_source_blocks_hold_none() -> None:
    text = "#+TITLE: Plano\n* TODO Um :tag:\n#+begin_src\n* não\n#+end_src\n** Dois\nfim\n"
    document = parse_org(text.encode(), "a.org", Limits()).documents[0]
    assert document.text == text
    assert document.title == "Plano"
    assert [block.headings for block in document.blocks if block.kind == "heading"] == [("Um",), ("Um", "Dois")]


@given(st.text(alphabet="ab*=-\n #", max_size=120))
def test_blocks_of_light_markup_are_ordered_ranges(text: str) -> None:
    for parse in (parse_rst, parse_org):
        for document in parse(text.encode(), "a.rst", Limits()).documents:
            ends = [0, *(block.end for block in document.blocks)]
            assert all(block.start >= end for block, end in zip(document.blocks, ends, strict=False))
            assert document.text == text


def test_subtitles_are_the_spoken_words() -> None:
    first = "1\n00:00:01.000 --> 00:00:02.000\n<v Ana>Olá <i>mundo</i>"
    text = f"WEBVTT\n\nNOTE x\n\n{first}\n\n00:03.000 --> 00:04.000\nfim\n"
    assert parse_subtitles(text.encode(), "a.vtt", Limits()).documents[0].text == "Ana: Olá mundo\nfim"


def test_rtf_is_its_words_and_tables_without_control_words_and_pictures() -> None:
    picture = "{\\pict\\pngblip " + "0f" * 6000 + "}"
    text = "{\\rtf1\\ansi\\ansicpg1252 A\\'e7\\'e3o\\par \\trowd P\\'e7\\cell 40\\cell\\row " + picture + "fim\\par}"
    document = parse_rtf(text.encode(), "a.rtf", Limits()).documents[0]
    assert "Ação" in document.text
    assert "| Pç | 40 |" in document.text
    assert "0f0f" not in document.text
    assert "\\" not in document.text
