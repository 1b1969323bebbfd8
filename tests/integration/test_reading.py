"""What a model reads of a base beside answers: documents by any of their names, page by page, under one generation; the
card, the table of contents, and what stands near the documents of an answer.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from common.domain.errors import Refused, Unavailable
from common.domain.fusion import Fused
from common.domain.graphemes import is_boundary
from common.domain.pages import PAGE
from common.domain.search import Search, passage_of
from tests.integration.cloud_machine import CloudMachine
from tests.integration.one_machine import BASE, OneMachine, content

FILES = Path(__file__).parents[1] / "corpus" / "files"
GATEWAY = """---
id: gw
title: O portão
category: guia
keywords: [porta, portao]
pinned: true
versao: 1.10
---

# Portão de entrada

{body}
"""


def put(machine, base=BASE, **files):
    for name, data in files.items():
        machine.runtime.manage.upload(base, name, data if isinstance(data, bytes) else data.encode(), "")
    machine.settle()


def whole(reading, name, base=BASE):
    """The document's text from all its pages, and those."""
    pages, offset = [], 0
    while offset is not None:
        pages.append(reading.page(base, name, offset))
        assert len(pages[-1]["text"]) <= PAGE
        offset = pages[-1]["next_offset"]
    return "".join(page["text"] for page in pages), pages


def refusal(call, *arguments):
    with pytest.raises(Refused) as caught:
        call(*arguments)
    return caught.value


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    opened = OneMachine(tmp_path_factory.mktemp("library"))
    long = "\n\n".join(f"Seção {i}: " + "o portão abre às nove horas da manhã. " * 12 for i in range(90))
    put(
        opened,
        **{
            "docs/gateway.md": GATEWAY.format(body=long),
            "docs/nota.md": "# Nota\n\nVer [o portão](gateway.md) e [outra](../nota.txt).",
            "nota.txt": "Uma nota solta.",
            "docs/a.md:1-2": "Um nome estranho.",
            "docs/a.md": "# A\n\nPrimeiro.",
            "x/igual.md": "---\nid: mesmo\n---\n\nUm.",
            "y/igual.md": "---\nid: mesmo\n---\n\nDois.",
            "mesmo.txt": "Três.",
        },
    )
    yield opened.runtime
    opened.runtime.close()


@pytest.mark.parametrize("name", ["docs/gateway.md", "gw", "docs/gateway", "docs/gateway.md#0002", "gw:30-31", "gw#0"])
def test_every_name_of_a_document_leads_to_it(library, name):
    assert library.reading.resolve(BASE, name).source == "docs/gateway.md"
    assert library.reading.page(BASE, name)["source"] == "docs/gateway.md"


def test_a_documents_id_and_the_ids_of_its_passages_lead_to_it(library):
    record = library.reading.resolve(BASE, "gw")
    assert library.reading.resolve(BASE, record.document_id) == record
    found = library.answers.answer(BASE, Search("portão nove horas manhã", threshold=None, mode="lexical", top_k=50))
    assert len(found.passages) > 20
    for passage in found.passages:
        assert library.reading.resolve(BASE, passage.id).source == passage.source


def test_every_citation_and_passage_id_opens_the_page_that_holds_it(library):
    """All passages here are short, so a page holds each of them whole."""
    record = library.reading.resolve(BASE, "gw")
    collection = library.catalog.base(BASE).live
    starts = {page["offset"] for page in whole(library.reading, "gw")[1]}
    opened = set()
    for point in library.index.stored(BASE, collection, record.object, record.generation):
        passage = passage_of(point.payload, Fused(point.id, 0, 0, 0), (), stale=False, absolute=0)
        for name in (passage.citation, passage.id, f"gw#{point.payload['ordinal']:04}"):
            page = library.reading.page(BASE, name)
            place = page["position"] - page["offset"]
            assert page["text"][place : place + len(passage.text)] == passage.text
            opened.add(page["offset"])
        assert library.reading.page(BASE, passage.citation, 5)["offset"] == 5
    assert opened == starts
    assert len(starts) == 5


def test_a_source_that_reads_as_a_citation_is_a_source(library):
    assert library.reading.resolve(BASE, "docs/a.md:1-2").source == "docs/a.md:1-2"
    assert library.reading.resolve(BASE, "docs/a.md:1-3").source == "docs/a.md"
    assert library.reading.page(BASE, "docs/a.md:1-2")["position"] is None


def test_a_name_of_several_documents_is_refused_with_them(library):
    refused = refusal(library.reading.resolve, BASE, "mesmo")
    assert (refused.status, refused.code, refused.field) == (409, "AMBIGUOUS", "source")
    assert refused.extra["candidates"] == ["mesmo.txt", "x/igual.md", "y/igual.md"]
    assert refusal(library.reading.page, BASE, "mesmo:1-1").code == "AMBIGUOUS"
    assert refusal(library.listing.links, BASE, "mesmo").status == 409
    assert library.reading.resolve(BASE, "mesmo.txt").source == "mesmo.txt"


UNKNOWN = [
    "docs/none.md",
    "",
    "docs",
    "docs/gateway.md:99999",
    "docs/gateway.md:5-2",
    "docs/gateway.md#9999",
    "docs/gateway.md#page=1",
    "GW",
    "00000000-0000-0000-0000-000000000000",
    "none.md:1-2",
    "\ud800",
    "x" * 5000,
]


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_name_of_nothing_is_not_found(library, name):
    refused = refusal(library.reading.page, BASE, name)
    assert (refused.status, refused.code, refused.field) == (404, "NOT_FOUND", "source")
    assert len(refused.detail) < 300


def test_a_page_says_what_its_document_is(library):
    page = library.reading.page(BASE, "gw")
    record = library.catalog.documents_named(BASE, "gw")[0]
    assert (page["title"], page["id"], page["category"], page["pinned"]) == ("O portão", "gw", "guia", True)
    assert (page["keywords"], page["metadata"]) == (["porta", "portao"], {"versao": "1.10"})
    assert page["headings"] == ["Portão de entrada"]
    assert (page["document_id"], page["generation"]) == (record.document_id, record.generation)
    assert (page["base"], page["object"], page["stale"]) == (BASE, "docs/gateway.md", False)
    assert page["total"] == record.characters
    row = next(r for r in library.listing.documents(BASE, None, 0) if r["source"] == "docs/gateway.md")
    described = ("title", "id", "category", "keywords", "pinned", "headings", "metadata", "document_id", "generation")
    assert {name: row[name] for name in described} == {name: page[name] for name in described}


def test_an_offset_outside_of_the_document_is_refused_by_its_name(library):
    total = library.reading.page(BASE, "gw")["total"]
    for offset in (-1, total + 1, 10**9):
        refused = refusal(library.reading.page, BASE, "gw", offset)
        assert (refused.status, refused.field) == (400, "offset")
    last = library.reading.page(BASE, "gw", total)
    assert (last["text"], last["offset"], last["next_offset"]) == ("", total, None)
    assert library.reading.page(BASE, "gw", total - 1)["text"] == "\n"


@pytest.mark.parametrize("folder", ["CHU-01", "FMT-01", "IDN-01", "INJ-01", "MDC-01", "TOK-01", "WIK-01", "ENC-01"])
def test_the_files_of_the_cases_are_read_back_to_the_letter(machine, folder):
    """CHU-01, FMT-01, TOK-01 and others: front matter, rules, markers and every character, whatever they look like."""
    files = {path.name: path.read_bytes() for path in (FILES / folder).iterdir() if path.suffix in {".md", ".txt"}}
    put(machine, **files)
    listed = {record.source for record in machine.runtime.catalog.documents(BASE) if record.passages}
    assert len(listed) > 0
    for name in listed:
        text, pages = whole(machine.runtime.reading, name)
        if folder != "ENC-01":
            assert text == files[name].decode()
        assert text
        assert all(is_boundary(text, page["offset"]) for page in pages)


def test_names_are_used_to_the_letter(machine):
    """NAM-01: every name is its own, and none is another one's once decoded."""
    stored = json.loads((FILES / "NAM-01" / "scenario.json").read_text(encoding="utf-8"))["objects"]
    files = {each["name"].removeprefix("acme/"): each["text"] for each in stored}
    put(machine, **files, **{"literal/barra.md": "Outro."})
    for name, text in files.items():
        page = machine.runtime.reading.page(BASE, name)
        assert (page["source"], page["text"]) == (name, text)


def test_nothing_of_a_version_that_is_gone_is_read(machine):
    """IDN-01: long, short, empty, long."""
    reading = machine.runtime.reading
    put(machine, **{"longo.md": (FILES / "IDN-01" / "v1-long.md").read_bytes()})
    first = reading.page(BASE, "longo")
    cited = machine.runtime.answers.answer(BASE, Search("LONGO-20", threshold=None, mode="lexical")).passages[0]
    assert cited.text in reading.page(BASE, cited.id)["text"]
    put(machine, **{"longo.md": (FILES / "IDN-01" / "v2-short.md").read_bytes()})
    second = whole(reading, "longo")[0]
    assert second == (FILES / "IDN-01" / "v2-short.md").read_text(encoding="utf-8")
    assert refusal(reading.page, BASE, cited.id).status == refusal(reading.page, BASE, cited.citation).status == 404
    assert refusal(reading.page, BASE, "longo", first["total"]).field == "offset"
    put(machine, **{"longo.md": (FILES / "IDN-01" / "v3-empty.md").read_bytes()})
    assert reading.toc(BASE) == []
    assert refusal(reading.page, BASE, "longo").status == 404
    machine.runtime.manage.delete(BASE, "longo.md")
    machine.settle()
    assert refusal(reading.page, BASE, "longo").status == 404


def test_at_every_step_of_a_change_a_reader_finds_one_whole_version(machine):
    """RULES 11: also while a document is replaced, and by a longer or a shorter one."""
    versions = {version: content("um", version, parts).decode() for version, parts in ((1, 40), (2, 70), (3, 9))}
    seen = []

    def look(_):
        try:
            text, pages = whole(machine.runtime.reading, "um")
        except Refused as refused:
            assert not seen
            assert refused.status == 404
            return
        assert text in versions.values()
        assert len({page["generation"] for page in pages}) == 1
        seen.append(next(version for version, whole_text in versions.items() if whole_text == text))

    machine.on_step = look
    for text in versions.values():
        put(machine, **{"um.md": text})
        look("")
    assert seen == sorted(seen)
    assert set(seen) == {1, 2, 3}


class Moving:
    """An index under which something changes once, behind its `after`th look-up of passages."""

    def __init__(self, index, after, change):
        self.index = index
        self.left = after
        self.change = change

    def __getattr__(self, name):
        return getattr(self.index, name)

    def payloads(self, *arguments):
        found = self.index.payloads(*arguments)
        self.left -= 1
        if self.left == 0:
            self.change()
        return found


def test_a_passage_that_no_longer_answers_names_nothing_though_it_is_still_stored(machine):
    put(machine, **{"um.md": content("um", 1, 3)})
    old = machine.runtime.answers.answer(BASE, Search("docum", threshold=None)).passages[0].id
    seen = []

    def look(step):
        if step == "publish":
            stored = machine.runtime.index.payloads(BASE, machine.runtime.catalog.base(BASE).live, [old])
            seen.append((len(stored), refusal(machine.runtime.reading.resolve, BASE, old).status))

    machine.on_step = look
    put(machine, **{"um.md": content("um", 2, 3)})
    assert seen == [(1, 404)]


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_page_is_read_again_when_its_document_changes_meanwhile(machine, after):
    """Whether some of it was read before, or all."""
    put(machine, **{"um.md": content("um", 1, 140)})
    moving = Moving(machine.runtime.index, after, lambda: put(machine, **{"um.md": content("um", 2, 150)}))
    page = replace(machine.runtime.reading, index=moving).page(BASE, "um", 30_000)
    text = content("um", 2, 150).decode()
    assert moving.left <= 0
    assert (page["text"], page["total"]) == (text[page["offset"] : page["next_offset"]], len(text))


def test_a_text_that_is_not_whole_is_an_error_never_a_shorter_page(machine):
    put(machine, **{"um.md": content("um", 1, 40)})
    runtime = machine.runtime
    collection = runtime.catalog.base(BASE).live
    runtime.index.discard(BASE, collection, "um.md", runtime.reading.resolve(BASE, "um").generation)
    with pytest.raises(Unavailable, match="lacks passage"):
        runtime.reading.page(BASE, "um")


def test_an_older_version_that_answers_says_so(machine):
    """RULES 4: the newest one failed by a fault of ours."""
    put(machine, **{"um.md": content("um", 1, 3), "dois.md": content("dois", 1, 3)})
    machine.runtime.manage.upload(BASE, "um.md", content("um", 2, 3), "")
    for _ in range(3):
        machine.kill_after = 1
        machine.deliver(machine.runtime.queue.take("kb-events", 3600))
    machine.settle()
    reading = machine.runtime.reading
    page = reading.page(BASE, "um")
    assert page["stale"]
    assert page["text"] == content("um", 1, 3).decode()
    assert {row["source"]: row["stale"] for row in reading.toc(BASE)} == {"um.md": True, "dois.md": False}
    assert not reading.page(BASE, "dois")["stale"]


@pytest.mark.parametrize("call", ["card", "toc", "page"])
def test_a_base_that_is_not_there_is_no_base(library, call):
    arguments = ("x",) if call == "page" else ()
    refused = refusal(getattr(library.reading, call), "nobody", *arguments)
    assert (refused.status, refused.code, refused.extra) == (404, "NO_BASE", {"sentinel": "NO_KB_MATCH"})


def test_in_the_cloud_all_is_read_alike():
    cloud = CloudMachine()
    cloud.put("um", content("um", 1, 40))
    cloud.put("dois", b"# Dois\n\nVer [[um]].")
    cloud.names.discard("dois")  # it carries no marks that a reader could look for
    cloud.drain()
    reading = cloud.runtime.reading
    assert whole(reading, "um")[0] == content("um", 1, 40).decode()
    assert reading.card(BASE).startswith(f"Knowledge base: {BASE}\nOrigin: gs://kb-test/{BASE}/\n")
    assert [row["source"] for row in reading.toc(BASE)] == ["dois.md", "um.md"]
    found = cloud.runtime.answers.answer(BASE, Search("docum", threshold=None, mode="lexical"))
    assert [near.reason for near in found.related] == ["links to um.md"]
