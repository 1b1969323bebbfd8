"""References are found where a reader sees one, and lead to the document that is meant."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.adapters.parsers.markdown import parse_markdown
from common.domain.documents import Link
from common.domain.links import find_links, resolve
from common.domain.markdown import scan

CORPUS = Path(__file__).parents[1] / "corpus" / "files"


def found(text):
    return [(link.kind, link.target, link.text) for link in find_links(text, scan(text).code)]


def graph(documents, aliases=None):
    return resolve({name: find_links(text) for name, text in documents.items()}, list(documents), aliases)


def test_the_vault_s_graph():
    folder = CORPUS / "WIK-01"
    links = {}
    for path in sorted(folder.glob("*.md")):
        (document,) = parse_markdown(path.read_bytes(), path.name).documents
        links[path.name] = document.links
    made = resolve(links, links.keys())
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    for part, by_source in expected.items():
        assert {source: list(targets) for source, targets in getattr(made, part).items()} == by_source, part


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[Página]]", [("wikilink", "Página", "Página")]),
        ("[[Página|nome]]", [("wikilink", "Página", "nome")]),
        ("| [[Página\\|nome]] |", [("wikilink", "Página", "nome")]),
        ("[[Página#Parte|nome]]", [("wikilink", "Página#Parte", "nome")]),
        ("![[foto.png|200]]", [("wikilink", "foto.png", "200")]),
        ("[a](b.md)", [("markdown", "b.md", "a")]),
        ('[a](<b c.md> "dica")', [("markdown", "b c.md", "a")]),
        ("[a](b_(c).md 'd')", [("markdown", "b_(c).md", "a")]),
        ("[a](b\\_c.md)", [("markdown", "b_c.md", "a")]),
        ("[![i](i.png)](b.md)", [("markdown", "b.md", "![i](i.png)"), ("markdown", "i.png", "i")]),
        ("[a\nb](c.md)", [("markdown", "c.md", "a b")]),
        ("[a](https://x.org/y)", [("url", "https://x.org/y", "a")]),
        ("[a](mailto:x@y.org)", [("url", "mailto:x@y.org", "a")]),
        ("<https://x.org> e https://y.org/a.", [("url", "https://x.org", ""), ("url", "https://y.org/a", "")]),
        (
            "[a][r] [r][] [r]\n\n[r]: b.md",
            [("markdown", "b.md", "a"), ("markdown", "b.md", "r"), ("markdown", "b.md", "r")],
        ),
        ("[a][R  x]\n\n[r x]: <b.md> 'c'\n[r x]: c.md", [("markdown", "b.md", "a")]),
        ("[r]: https://x.org\n\n[r]", [("url", "https://x.org", "r")]),
        ("[^1] [x] [ ]", []),
        ("[a]()", []),
        ("[a] (b.md)", []),
        ("\\[a](b.md) [a\\](b.md)", []),
        ("`[a](b.md)` ``[[c]] ` ``", []),
        ("`[a](b.md)\n\n`[c](d.md)", [("markdown", "b.md", "a"), ("markdown", "d.md", "c")]),
        ("``` [a](b.md)` ```", []),
        ("```\n[[a]]\n```\n\n    [[b]]\n\n- ~~~\n  [[c]]\n  ~~~\n\n[[d]]", [("wikilink", "d", "d")]),
        ("[[a\n\nb]]", []),
    ],
)
def test_references(text, expected):
    assert found(text) == expected


def test_lines_count_from_the_beginning():
    text = "---\nid: [[x]]\n---\n\r\n[a](b.md) [[c]]\n\n```\nx\n```\n[d](e.md)"
    links = find_links(text, scan(text, 18).code, 18)
    assert [(link.target, link.line) for link in links] == [("b.md", 5), ("c", 5), ("e.md", 10)]


@given(st.text(alphabet="[]()!|\\`<>: ab#\n/.h\"'", max_size=60))
def test_every_line_holds_its_reference(text):
    lines = text.split("\n")
    for link in find_links(text, scan(text).code):
        assert link.target
        assert "[" in lines[link.line - 1] or "://" in lines[link.line - 1]


def test_paths_are_relative_to_the_document():
    documents = {
        "guia/index.md": "[a](../nota.md#p) [b](bomba%20p.md) [c](/nota.md?x=1) [d](sub/) [e](nada.md) "
        "[f](foto.PNG) [g](#x)",
        "guia/bomba p.md": "[[nota]] [[guia/index]]",
        "nota.md": "[a](guia/bomba%20p)",
        "guia/sub/README.md": "",
    }
    made = graph(documents)
    assert made.links["guia/index.md"] == ("nota.md", "guia/bomba p.md", "guia/sub/README.md")
    assert made.links["guia/bomba p.md"] == ("nota.md", "guia/index.md")
    assert made.links["nota.md"] == ("guia/bomba p.md",)
    assert made.backlinks["nota.md"] == ("guia/index.md", "guia/bomba p.md")
    assert made.unresolved == {"guia/index.md": ("nada.md",)}
    assert made.attachments == {"guia/index.md": ("foto.PNG",)}


def test_a_path_from_the_root_means_that_path_alone():
    documents = {"index.md": "", "a/b.md": "[x](/nada) [y](/c.md)", "a/c.md": "[x](/)", "c.md": "[up](.) [out](..)"}
    made = graph(documents)
    assert made.links["a/b.md"] == ("c.md",)
    assert made.links["a/c.md"] == made.links["c.md"] == ("index.md",)
    assert made.unresolved == {"a/b.md": ("/nada",), "c.md": ("..",)}


def test_the_nearest_of_equal_names_wins():
    documents = {"a/x.md": "[[n]]", "b/x.md": "[[n]]", "x.md": "[[n]]", "a/n.md": "", "b/c/n.md": "", "z/y/w/n.md": ""}
    made = graph(documents)
    assert [made.links[source] for source in ("a/x.md", "b/x.md", "x.md")] == [("a/n.md",), ("b/c/n.md",), ("a/n.md",)]


def test_names_meet_without_case_and_however_accents_are_encoded():
    made = graph({"V\u00e1lvula.md": "", "a.md": "[[va\u0301lvula]]", "Notas v1.2.md": "[[notas V1.2]] [[V1.3]]"})
    assert made.links["a.md"] == ("V\u00e1lvula.md",)
    assert made.unresolved["Notas v1.2.md"] == ("V1.3",)


def test_a_document_s_own_name_is_no_link():
    made = graph({"a.md": "[[a]] [a](a.md)"})
    assert made.links == made.backlinks == {"a.md": ()}
    assert not made.unresolved


def test_aliases_lead_to_their_document():
    made = graph({"bomba.md": "", "a.md": "[[P-12]]"}, {"p-12": "bomba.md", "fora": "nada.md"})
    assert made.links["a.md"] == ("bomba.md",)


def test_addresses_are_no_part_of_the_graph():
    made = resolve({"a.md": [Link("https://x.org/b.md", "b", 1, "url")]}, ["a.md", "b.md"])
    assert made.links == {"a.md": (), "b.md": ()}
    assert not made.unresolved
