"""A JSONL corpus: one document per source, a bad line costs itself alone, lines cite the lines of their source."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.adapters.parsers.jsonl import number_ranges, parse_jsonl
from common.cli.flatten.plan import Item
from common.cli.flatten.write import corpus_lines
from common.domain.documents import Block, Dropped, Link, Parsed, ParsedDocument
from common.domain.errors import DocumentError

CORPUS = Path(__file__).parents[1] / "corpus" / "code"


def route(source, text):
    """Stands for the parsers of single files: front matter `id`, `title` and `metadata` by a word of the text."""
    if source.endswith(".bin"):
        raise DocumentError("UNSUPPORTED", "It is a picture.", "-")
    document = ParsedDocument(
        source,
        source.rsplit("/", 1)[-1],
        text,
        (Block(0, len(text)),),
        external_id="own-id" if "OWN" in text else source.rsplit(".", 1)[0],
        metadata={"team": "own"} if "OWN" in text else {},
        links=(Link("x.md", "x", 2),) if "LINK" in text else (),
    )
    return Parsed((document,), ("strange",) if "WARN" in text else ())


def parse(*lines, name="c.jsonl"):
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return parse_jsonl(text.encode(), name, route)


def test_the_hard_case_as_a_corpus():
    parsed = parse_jsonl((CORPUS / "mixed-corpus.jsonl").read_bytes(), "mixed.jsonl", route)
    assert [(d.source, d.text, d.external_id) for d in parsed.documents] == [
        ("notas/01.md", "primeira JL-1", "1"),
        ("notas/10.md", "quinta repetida JL-5b", "5"),
        ("notas/11.md", "id repetido JL-6", "1"),
        ("notas/12.md", "id numérico JL-7", "7"),
    ]
    assert parsed.warnings == (
        "6 lines were skipped: 4-9",
        "line 4 was skipped: it is not valid JSON (Expecting ',' delimiter at character 58)",
        "line 5 was skipped: it is not an object",
        "line 6 was skipped: it is not an object",
        "line 7 was skipped: it is not an object",
        "line 8 was skipped: its `content` is empty",
        "line 9 was skipped: it has no `content`",
        "line 10: the key `content` is repeated; its last value counts",
    )


def test_the_hard_case_as_it_is_names_no_sources_and_is_one_document():
    parsed = parse_jsonl((CORPUS / "mixed.jsonl").read_bytes(), "a/mixed.jsonl", route)
    (document,) = parsed.documents
    records = [document.text[block.start : block.end] for block in document.blocks]
    assert records == ["primeira JL-1", "quinta repetida JL-5b", "id repetido JL-6", "id numérico JL-7"]
    assert (document.source, document.paged) == ("a/mixed.jsonl", True)
    assert parsed.warnings[0] == "6 lines were skipped: 4-9"


def test_only_line_feeds_end_lines():
    content = "um\u2028dois\u2029três\x85quatro\x0b\x0c\r fim"
    line = json.dumps({"source": "a.md", "content": content}, ensure_ascii=False)
    parsed = parse_jsonl(f"{line}\r\n{line}".encode(), "c", route)
    assert parsed.documents[0].text == f"{content}\n\n{content}"
    assert not parsed.warnings


def test_lines_of_one_source_are_one_document_in_line_order():
    parsed = parse(
        {"source": "a.md", "content": "um", "id": 1, "metadata": {"x": 1, "y": 1}},
        {"source": "b.md", "content": "outro"},
        {"source": "a.md", "content": "dois\n", "title": "Título", "metadata": {"x": 2, "z": 2}},
        {"source": "a.md", "content": "três"},
    )
    first, second = parsed.documents
    assert (first.source, first.text, first.title) == ("a.md", "um\n\ndois\n\ntrês", "Título")
    assert (first.external_id, first.metadata) == ("1", {"x": 1, "y": 1, "z": 2})
    assert second.source == "b.md"


def test_provenance_is_metadata():
    (document,) = parse(
        {"source": "a.md", "content": "x", "repoUrl": "https://h/r", "commit": "c0ffee", "metadata": {"n": 1}}
    ).documents
    assert document.metadata == {"n": 1, "repoUrl": "https://h/r", "commit": "c0ffee"}


def test_what_a_document_says_of_itself_outranks_its_line():
    (document,) = parse({"source": "a.md", "content": "OWN", "id": "line", "metadata": {"team": "line"}}).documents
    assert (document.external_id, document.metadata) == ("own-id", {"team": "own"})


def test_a_part_cites_the_lines_of_its_file():
    parsed = parse({"source": "a.md", "content": "LINK\ny", "firstLine": 41})
    (document,) = parsed.documents
    assert (document.first_line, document.links[0].line) == (41, 42)


@pytest.mark.parametrize("first_line", [0, -1, True, "2", 1.5, None])
def test_a_first_line_that_is_none_counts_from_one(first_line):
    (document,) = parse({"source": "a.md", "content": "x", "firstLine": first_line}).documents
    assert document.first_line == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"content": "x"}, "it names no `source`"),
        ({"source": None, "content": "x"}, "it names no `source`"),
        ({"source": 7, "content": "x"}, "its `source` is not a text"),
        ({"source": "../a", "content": "x"}, "its `source` cannot name a document"),
        ({"source": "/a", "content": "x"}, "its `source` cannot name a document"),
        ({"source": "a\n", "content": "x"}, "its `source` cannot name a document"),
        ({"source": "a" * 1025, "content": "x"}, "its `source` cannot name a document"),
        ({"source": "b.md"}, "it has no `content`"),
        ({"source": "b.md", "content": 5}, "its `content` is not a text"),
        ({"source": "b.md", "content": " \u200b\n"}, "its `content` is empty"),
        ({"source": "b.md", "content": "a\x00b"}, "its `content` holds NUL characters"),
        ({"source": "b.md", "content": "a\ud800b"}, "its `content` holds half of a surrogate pair"),
        ('{"source":"b.md","content":"x","n":' + "9" * 5000 + "}", "it holds a number that is too long"),
        ("[" * 100_000, "it is nested too deeply"),
        ("}", "it is not valid JSON"),
    ],
)
def test_bad_lines_are_named(line, reason):
    parsed = parse({"source": "a.md", "content": "boa"}, line, {"source": "c.md", "content": "boa"})
    assert [document.source for document in parsed.documents] == ["a.md", "c.md"]
    assert parsed.warnings[0] == "1 line was skipped: 2"
    assert parsed.warnings[1].startswith(f"line 2 was skipped: {reason}")


def test_bytes_that_are_no_utf8_cost_their_line():
    good = b'{"source":"a.md","content":"boa"}'
    parsed = parse_jsonl(good + b'\n{"source":"b.md","content":"a\xe7\xe3o"}', "c", route)
    assert len(parsed.documents) == 1
    assert parsed.warnings[1] == "line 2 was skipped: it is not valid UTF-8"


def test_numbers_that_json_has_not_become_null():
    (document,) = parse(
        '{"source":"a.md","content":"x","metadata":{"a":NaN,"b":-Infinity,"c":1e999,"d":1.5}}'
    ).documents
    assert document.metadata == {"a": None, "b": None, "c": None, "d": 1.5}


def test_a_document_that_its_parser_refuses_is_named():
    parsed = parse({"source": "a.bin", "content": "x"}, {"source": "a.md", "content": "WARN"})
    assert [document.source for document in parsed.documents] == ["a.md"]
    assert parsed.warnings == ("a.bin (line 1) was skipped: It is a picture.", "a.md: strange")


def test_a_file_of_bad_lines_is_corrupt_and_of_empty_ones_empty():
    with pytest.raises(DocumentError, match=r"CORRUPT: No line .* line 2: it is not valid JSON"):
        parse({"source": "a.md", "content": ""}, "nada")
    parsed = parse({"source": "a.md", "content": ""}, {"source": "b.md", "content": "\n"})
    assert not parsed.documents
    assert parsed.warnings[0] == "2 lines were skipped: 1-2"
    assert parse_jsonl(b"\xef\xbb\xbf\n \n", "c", route) == Parsed(())


def test_lines_without_source_and_content_are_records_as_they_are():
    text = '{"ts":1,"msg":"início"}\n\nquebrada\n{"ts":2}'
    parsed = parse_jsonl(text.encode(), "log.jsonl", route)
    (document,) = parsed.documents
    assert document.text == text
    assert [(b.kind, text[b.start : b.end]) for b in document.blocks] == [
        ("record", '{"ts":1,"msg":"início"}'),
        ("record", '{"ts":2}'),
    ]
    (dropped,) = document.dropped
    assert isinstance(dropped, Dropped)
    assert text[dropped.start : dropped.end] == "quebrada"
    assert parsed.warnings[0] == "1 line was skipped: 3"


def test_utf_16_is_read_and_broken_utf_16_refused():
    text = '{"source":"a.md","content":"ação"}'
    assert parse_jsonl(text.encode("utf-16"), "c", route).documents[0].text == "ação"
    with pytest.raises(DocumentError, match="BAD_ENCODING"):
        parse_jsonl(b"\xff\xfe\x00\xd8", "c", route)


def test_lines_of_ten_megabytes_are_read_in_seconds():
    content = "linha comprida com ação\u2028\n" * 400_000
    data = json.dumps({"source": "a.md", "content": content}, ensure_ascii=False).encode()
    started = time.thread_time()
    (document,) = parse_jsonl(data, "c", route).documents
    assert document.text == content
    assert time.thread_time() - started < 10


def test_warnings_stay_short():
    parsed = parse({"source": "a.md", "content": "x"}, *["nada", ""] * 5000)
    assert parsed.warnings[0].startswith("5,000 lines were skipped: 2, 4, 6")
    assert parsed.warnings[0].endswith(", ...")
    assert len(parsed.warnings) == 21
    assert sum(map(len, parsed.warnings)) < 5000


def test_number_ranges():
    assert number_ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet=st.sampled_from("ab \n\r\u2028é🚀\t"), min_size=1, max_size=200).filter(lambda t: t.strip()),
    st.integers(0, 30),
)
def test_what_flatten_cut_is_joined_again_to_the_character(text, max_chars):
    lines = list(corpus_lines(Item("d/a.md", text, "d/a"), max_chars, {"commit": "c"}))
    parsed = parse_jsonl("\n".join(lines).encode(), "c", route)
    (document,) = parsed.documents
    assert document.text == text
    assert (document.first_line, document.external_id, parsed.warnings) == (1, "d/a", ())
    for line in lines[1:]:
        part = json.loads(line)
        before = "".join(json.loads(other)["content"] for other in lines[: lines.index(line)])
        assert part["firstLine"] == before.count("\n") + 1
