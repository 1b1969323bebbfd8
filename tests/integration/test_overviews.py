"""The card and the table of contents of a base, and what stands near the documents of an answer."""

from common.domain.errors import Unavailable
from common.domain.merging import Weighted
from common.domain.search import Search
from tests.integration.one_machine import BASE, content
from tests.integration.test_reading import FILES, put


def test_the_table_of_contents_has_what_answers_by_source(machine):
    pinned = "---\nid: gw\ntitle: O portão\ncategory: guia\npinned: true\n---\n\nAbre às nove.\n"
    empty = {"vazio.md": "---\ntitle: x\n---\n", "a.zip": b"PK\x03\x04\x14\x00\x00\x00\x00\x00"}
    put(machine, **{"docs/gateway.md": pinned, "docs/a.md": "A.", "docs/a.md:1-2": "B.", "nota.txt": "C."}, **empty)
    reading = machine.runtime.reading
    rows = reading.toc(BASE)
    assert [row["source"] for row in rows] == ["docs/a.md", "docs/a.md:1-2", "docs/gateway.md", "nota.txt"]
    assert rows[2] == {
        "source": "docs/gateway.md",
        "object": "docs/gateway.md",
        "title": "O portão",
        "id": "gw",
        "category": "guia",
        "pinned": True,
        "passages": 1,
        "tokens_in_source": reading.resolve(BASE, "gw").tokens_in_source,
        "stale": False,
    }
    assert [row["source"] for row in reading.toc(BASE, "docs/a")] == ["docs/a.md", "docs/a.md:1-2"]
    assert reading.toc(BASE, "none") == []
    found, after = [], None
    while part := reading.toc(BASE, "", after, 3):
        assert len(part) <= 3
        found += part
        after = part[-1]["source"], part[-1]["object"]
    assert found == rows


def test_the_card_keeps_its_bytes_until_the_base_changes(machine):
    put(machine, **{f"docs/{i:03}.md": f"# Título {i}\n\nTexto {i}." for i in range(12)})
    reading = machine.runtime.reading
    first = reading.card(BASE)
    assert first.startswith(f"Knowledge base: {BASE}\nOrigin: bucket/{BASE}/\nScale: 12 document(s), 12 passage(s), ~")
    assert "\n- docs/005.md (1 passages) — Título 5\n" in first
    machine.restart()
    assert machine.runtime.reading.card(BASE).encode() == first.encode()
    assert len(machine.runtime.reading.card(BASE, 100)) <= 400
    put(machine, **{"docs/000.md": "# Outro 0\n\nTexto 0."})
    changed = machine.runtime.reading.card(BASE)
    assert changed == first.replace("Título 0\n", "Outro 0\n")
    machine.runtime.manage.reset(BASE)
    machine.settle()
    assert "\nScale: 0 document(s), 0 passage(s), ~0 tokens" in machine.runtime.reading.card(BASE)


def test_the_contents_are_read_once_for_as_long_as_the_epoch_stands(machine):
    put(machine, **{"um.md": content("um", 1, 3), "dois.md": "# Dois\n\nVer [[um]]."})
    runtime, asked = machine.runtime, []
    library = runtime.reading.library

    class Counting:
        def __getattr__(self, name):
            return getattr(runtime.catalog, name)

        def documents(self, *arguments, **named):
            asked.append(arguments)
            return runtime.catalog.documents(*arguments, **named)

    library.catalog = Counting()
    for _ in range(3):
        runtime.reading.card(BASE)
        runtime.reading.toc(BASE)
        runtime.listing.links(BASE, "um")
        runtime.answers.answer(BASE, Search("docum", threshold=None))
    assert len(asked) == 1
    graph = library.at(BASE, runtime.catalog.epoch(BASE)).graph
    put(machine, **{"um.md": content("um", 2, 3)})
    runtime.reading.card(BASE)
    runtime.reading.toc(BASE)
    assert len(asked) == 2
    assert library.at(BASE, runtime.catalog.epoch(BASE)).graph is graph


def test_what_stands_near_an_answer_is_told_with_the_reason(machine):
    """Also the graph of the vault of WIK-01."""
    put(machine, **{path.name: path.read_bytes() for path in (FILES / "WIK-01").glob("*.md")})
    answers = machine.runtime.answers
    found = answers.answer(BASE, Search("ALVO-2", threshold=None, mode="lexical", top_k=1))
    assert [p.source for p in found.passages] == ["V\u00e1lvula.md"]
    assert [(near.base, near.source, near.reason) for near in found.related] == [
        (BASE, "index.md", "links to V\u00e1lvula.md")
    ]
    assert found.related[0].title
    nothing = answers.answer(BASE, Search("ALVO-2", threshold=2.0))
    assert (nothing.match, nothing.related) == (False, ())
    put(machine, **{"index.md": "# Sem ligações\n\nNada."})
    assert answers.answer(BASE, Search("ALVO-2", threshold=None, mode="lexical", top_k=1)).related == ()


def test_over_several_bases_each_has_its_turn_among_six(machine):
    for base in ("acme", "globex"):
        names = {f"n{i}.md": f"# N{i}\n\nVer [[alvo]] em {base}." for i in range(9)}
        put(machine, base, **{"alvo.md": f"# Alvo\n\nO girassol de {base}."}, **names)
    search = Search("girassol", threshold=None, mode="lexical", top_k=2)
    found = machine.runtime.several.answer([Weighted("acme"), Weighted("globex")], search)
    assert {p.base for p in found.passages} == {"acme", "globex"}
    assert [near.base for near in found.related] == [p.base for p in found.passages] * 3
    assert not {(near.base, near.source) for near in found.related} & {(p.base, p.source) for p in found.passages}


def test_an_answer_stays_when_what_stands_near_it_cannot_be_read(machine):
    put(machine, **{"um.md": content("um", 1, 3)})
    runtime = machine.runtime

    class Broken:
        def base(self, _):
            return None

        def documents(self, *_, **__):
            raise Unavailable("the catalog is out of reach")

    runtime.reading.library.catalog = Broken()
    found = runtime.answers.answer(BASE, Search("docum", threshold=None))
    assert found.match
    assert (found.related, found.settled) == ((), False)
    assert "out of reach" in found.warnings[-1]
