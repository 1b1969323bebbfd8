"""The block structure is CommonMark's where passages need it, keeps every character's place, and never slows down."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.adapters.parsers.markdown import parse_markdown
from common.domain.documents import Block
from common.domain.markdown import scan
from common.domain.plaintext import paragraphs
from common.domain.splitting import is_blank
from common.domain.titles import default_keywords, file_title, plain_title

CORPUS = Path(__file__).parents[1] / "corpus" / "files"


def shape(text):
    return [(block.kind, text[block.start : block.end]) for block in scan(text).blocks]


def headings(text):
    return [block.headings for block in scan(text).blocks if block.kind == "heading"]


def test_fences_hold_no_headings():
    data = (CORPUS / "MDC-01" / "fences.md").read_bytes()
    (document,) = parse_markdown(data, "fences.md").documents
    structure = scan(document.text)
    assert structure.headings == ("Guia real", "Seção real")
    code = [document.text[block.start : block.end] for block in structure.blocks if block.kind == "code"]
    assert [(part[:6], part[-3:]) for part in code] == [
        ("```bas", "```"),
        ("~~~yam", "~~~"),
        ("````ma", "```"),
        ("    # ", "ado"),
    ]
    assert code[2].endswith("\n## Outro exemplo\n````")
    (last,) = [block for block in structure.blocks if "REAL-1" in document.text[block.start : block.end]]
    assert last.headings == ("Guia real", "Seção real")
    assert document.title == "Guia real"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A", [("A",)]),
        ("   ### A ###  ", [("A",)]),
        ("#A", []),
        ("####### A", []),
        ("    # A", []),
        ("text\n    # A", []),
        ("\\# A", []),
        ("# A #B", [("A #B",)]),
        ("# A\\#", [("A#",)]),
        ("A\n===", [("A",)]),
        ("A\nB\n---", [("A B",)]),
        ("A\n\n---", []),
        ("- A\n---", []),
        ("> # A", []),
        ("- # A", []),
        ("- a\n\n  # A", []),
        ("- a\n# A", [("A",)]),
        ("<div>\n# A\n</div>", []),
        ("<div>\n\n# A\n</div>", [("A",)]),
        ("<!--\n# A\n\n# B\n-->\n# C", [("C",)]),
        ("<pre>\n\n# A\n</pre>\n# C", [("C",)]),
        ("<!-- nunca\n\n# A", [("A",)]),
        ("```\n# A", []),
        ("```\n# A\n``\n~~~\n# B", []),
        ("````\n```\n# A\n````\n# B", [("B",)]),
        ("- ```\n  # A\n  ```\n- b\n\n# B", [("B",)]),
        ("``` a`b\n# A", [("A",)]),
        ("<Sandpack>\n```js\n\n# A\n```\n</Sandpack>\n\n# B", [("B",)]),
        ("```\n    ```\n# A\n```\n# B", [("B",)]),
        ("- \nA\n===", [("A",)]),
        ("- ```\n  x\n  ```\nA\n===", [("A",)]),
        ("# A\n## B\n### C\n## D\n# E", [("A",), ("A", "B"), ("A", "B", "C"), ("A", "D"), ("E",)]),
        ("### A\n# B\n### C", [("A",), ("B",), ("B", "C")]),
        ("# A\r\n\r\ntext\r\n\r\n## B\r\n", [("A",), ("A", "B")]),
        ("# A\r\rtext\r\r## B\r", [("A",), ("A", "B")]),
        ("# \n## A", [("A",)]),
    ],
)
def test_headings(text, expected):
    assert headings(text) == expected


def test_kinds_in_order():
    text = (
        "# T\n\nprosa\nsegue\n\n- um\n  - dentro\n\n  mais\n- dois\nsegue\n\n1. três\n\n> cita\nsegue\n\n"
        "antes\n| a | b |\n|---|:-:|\n| 1 | 2 |\nfim | x\n\n***\n\n\tcode\n\n\tmais\n\n<b>x</b> y"
    )
    assert shape(text) == [
        ("heading", "# T"),
        ("paragraph", "prosa\nsegue"),
        ("list", "- um\n  - dentro\n\n  mais"),
        ("list", "- dois\nsegue"),
        ("list", "1. três"),
        ("paragraph", "> cita\nsegue"),
        ("paragraph", "antes"),
        ("table", "| a | b |\n|---|:-:|\n| 1 | 2 |\nfim | x"),
        ("code", "\tcode\n\n\tmais"),
        ("paragraph", "<b>x</b> y"),
    ]


def test_a_table_has_its_header_and_code_stays_whole():
    blocks = scan("| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx\n```").blocks
    assert (blocks[0].header, blocks[0].whole) == ("| a | b |\n", False)
    assert (blocks[1].kind, blocks[1].whole) == ("code", True)


@pytest.mark.parametrize("text", ["a | b\n---|", "a\n|---|---|", "| a |\n\n|---|", "a\n---"])
def test_what_is_no_table(text):
    assert "table" not in [kind for kind, _ in shape(text)]


def test_code_ranges_include_nested_fences():
    text = "- a\n\n  ```\n  x\n  ```\n\n> ```\n> y\n> ```\n\n~~~\nz\n~~~"
    assert [text[start:end].strip(" >") for start, end in scan(text).code] == [
        "```\n  x\n  ```",
        "```\n> y\n> ```",
        "~~~\nz\n~~~",
    ]


def test_a_document_of_layout_alone_is_still_read():
    assert scan("---\n").blocks == (Block(0, 4),)
    assert scan(" \n\t\r\n").blocks == ()


lines = st.sampled_from(
    [
        "texto",
        "",
        "# A",
        "## B",
        "---",
        "===",
        "- i",
        "  - n",
        "1. o",
        "> q",
        "```",
        "~~~",
        "    c",
        "| a |",
        "|---|",
        "<div>",
    ]
)
documents = st.one_of(st.text(max_size=200), st.lists(lines, max_size=12).map("\n".join))


@given(text=documents, start=st.integers(0, 5))
@settings(deadline=None)
def test_blocks_are_in_order_and_miss_nothing_but_rules(text, start):
    start = min(start, len(text))
    position = start
    for block in scan(text, start).blocks:
        assert position <= block.start < block.end
        between = text[position : block.start]
        assert not any(character.isalnum() for character in between)
        assert not is_blank(text[block.start : block.end]) or block.kind in {"code", "paragraph", "list"}
        position = block.end
    assert position <= len(text)
    assert not any(character.isalnum() for character in text[position:])


@given(text=documents)
def test_line_ends_make_no_difference(text):
    text = text.replace("\r", "")
    found = [(block.kind, block.headings) for block in scan(text).blocks]
    for end in ("\r\n", "\r"):
        assert [(block.kind, block.headings) for block in scan(text.replace("\n", end)).blocks] == found


HOSTILE = {
    "brackets": "[",
    "links": "[a](",
    "ticks": "`a``b```c",
    "quotes": "> ",
    "items": "- a\n",
    "fences": "```\n",
    "comments": "<!-- \n\n",
    "tags": "<a ",
    "delimiters": "|---",
    "hashes": "# # #",
    "padded": "#" + " " * 799 + "x\n",
    "rules": "- - - - x\n",
    "setext": "a\n-\n",
    "blank lines": "\n",
    "tabs": "\t",
    "definitions": "[a]: b\n",
    "addresses": "http://[",
    "wikilinks": "[[a",
    "escapes": "\\",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
def test_time_is_linear_in_hostile_text(unit):
    data = (unit * min(600_000 // len(unit), 40_000)).encode()
    started = time.process_time()
    parse_markdown(data, "a.md")
    assert time.process_time() - started < 3


def test_patterns_that_are_slow_elsewhere():
    data = (CORPUS / "SEC-01" / "redos.md").read_bytes()
    started = time.process_time()
    (document,) = parse_markdown(data, "redos.md").documents
    assert time.process_time() - started < 0.1
    assert document.text[document.blocks[-1].start :].strip().endswith("RAPIDO-3")


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("Guia `rápido` de **uso**", "Guia rápido de uso"),
        ("[Bombas](bombas.md) e [[Válvula|válvulas]]", "Bombas e válvulas"),
        ("História { #history-design }", "História"),
        ("Adicionando estado {/*adding-state*/}", "Adicionando estado"),
        ("snake_case_name e 2 * 3", "snake_case_name e 2 * 3"),
        ("Preço \\* vezes\n dois", "Preço * vezes dois"),
        ("palavra " * 100, ("palavra " * 25).strip()),
        ("x" * 500, "x" * 200),
    ],
)
def test_titles_are_read_as_written(markup, title):
    assert plain_title(markup) == title


def test_file_titles():
    assert [file_title(name) for name in ("a/b/nota.v2.md", ".env", "LEIAME", "..md")] == [
        "nota.v2",
        ".env",
        "LEIAME",
        "..md",
    ]


def test_keywords_are_the_words_that_say_something():
    assert default_keywords("Guia de bombas", ["A válvula de 2026", "Bombas P-12"]) == (
        "Guia",
        "bombas",
        "válvula",
        "P-12",
    )
    assert len(default_keywords("", [" ".join(f"palavra{n}" for n in range(50))])) == 12


# Plain text


def plain(text, start=0):
    return [text[block.start : block.end].strip("\r\n") for block in paragraphs(text, start)]


def test_blank_lines_part_paragraphs():
    assert plain("um\ndois\n\n \t\n\ntrês\n") == ["um\ndois", "três"]
    assert plain("um\r\n\r\ndois\r\rtrês") == ["um", "dois", "três"]
    assert plain("---\num\n\ndois", 4) == ["um", "dois"]


def test_unwrapped_lines_are_paragraphs():
    long = "palavra " * 40
    assert plain(f"curta\n{long}\n{long}\nfim") == ["curta", long, long, "fim"]
    assert plain("uma linha\nquebrada\naqui") == ["uma linha\nquebrada\naqui"]
