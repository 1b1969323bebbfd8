"""The reading routes at their edge: names of any letters, the longest source, pages, paging, caching by ETag."""

import json
from dataclasses import replace
from urllib.parse import quote

import pytest
from werkzeug.test import Client

from common.domain.errors import Refused
from common.identity import Identity
from functions.local.app import application
from functions.query.handle import router
from tests.integration.cloud_machine import CloudMachine
from tests.integration.one_machine import BASE, OneMachine, content
from tests.integration.test_reading import FILES, put
from tests.integration.test_routes_and_tokens import send

ROOT = f"/v1/bases/{BASE}"
DOCUMENTS = f"{ROOT}/documents"
NAMES = {
    each["name"].removeprefix("acme/"): each["text"]
    for each in json.loads((FILES / "NAM-01" / "scenario.json").read_text(encoding="utf-8"))["objects"]
}
FILES_HERE = {
    **NAMES,
    "literal/barra.md": "Outro.",
    "um.md": content("um", 1, 40).decode(),
    "guia.md": "# Guia\n\nVer [um](um.md).",
    "guia/links.md": "Outro com este nome sem extensão.",
    "outra/links.md": "Mais um.",
    "so/links": "Só este.",
    "x.md": "---\nid: mesmo\n---\n\nUm.",
    "y.md": "---\nid: mesmo\n---\n\nDois.",
}


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    opened = OneMachine(tmp_path_factory.mktemp("reading"))
    put(opened, **FILES_HERE)
    yield opened
    opened.runtime.close()


@pytest.fixture(scope="module")
def client(machine):
    return Client(application(machine.runtime))


def cloud(**files):
    """The cloud's shape with these files by name and base."""
    opened = CloudMachine()
    for name, texts in files.items():
        for base, text in texts.items():
            opened.runtime.manage.upload(base, name, text.encode(), "")
    opened.drain()
    return opened


def by_header(headers):
    """Whoever the token names may read the base of that name."""
    name = (headers.get("Authorization") or "").removeprefix("Bearer ")
    if not name:
        raise Refused(401, "NO_IDENTITY", "Say who you are.")
    return Identity(frozenset({name}), {"*": "read"})


def reader(machine, token):
    routers = (router(replace(machine.runtime, authenticate=by_header)),)
    return lambda address: send(routers, "GET", address, token)


def at(name, *more):
    """The address of a document, as every client makes it: its name quoted once."""
    return "/".join((f"{DOCUMENTS}/{quote(name, safe='')}", *more))


@pytest.mark.parametrize("name", [*NAMES, "literal/barra.md"])
def test_a_source_is_decoded_exactly_once(client, name):
    """NAM-01: %2F in a name is not its slash, and + is no blank."""
    for address in (at(name), f"{DOCUMENTS}/{quote(name)}"):
        page = client.get(address).json
        assert (page["source"], page["text"]) == (name, FILES_HERE[name])
    assert client.get(at(name, "links")).json["source"] == name
    assert client.get(at(quote(name))).status_code == (404 if quote(name) != name else 200)


def test_a_document_is_read_page_by_page(client):
    pages, offset = [], 0
    while offset is not None:
        pages.append(client.get(f"{at('um')}?offset={offset}").json)
        assert pages[-1]["offset"] == offset
        offset = pages[-1]["next_offset"]
    text = FILES_HERE["um.md"]
    assert len(pages) == 2
    assert "".join(page["text"] for page in pages) == text
    assert {page["total"] for page in pages} == {len(text)}
    fields = "text offset next_offset total source title id category keywords pinned headings metadata document_id"
    assert {*fields.split(), "generation", "stale"} <= pages[0].keys()
    assert client.get(at("um")).json == pages[0]


def test_a_citation_opens_its_page(client):
    found = client.post(f"{ROOT}/search", json={"query": "docum part30of40", "threshold": None, "mode": "lexical"}).json
    passage = found["passages"][0]
    for name in (passage["citation"], passage["id"]):
        page = client.get(at(name)).json
        assert page["source"] == "um.md"
        assert page["offset"] > 0
        assert passage["text"] in page["text"]
        assert client.get(at(name, "links")).json["source"] == "um.md"


def test_the_longest_existing_source_wins_over_a_routes_word():
    """Where a folder is no obstacle: of a file and of what lies below its name, both may exist."""
    files = {"guia.md": "Ver [um](um.md).", "guia.md/links": "Este nome.", "guia/links.md": "Um resto.", "um.md": "Um."}
    asked = reader(cloud(**{name: {BASE: text} for name, text in {**files, "so/links": "Só este."}.items()}), BASE)
    assert asked(at("guia.md/links")).json["text"] == "Este nome."
    assert asked(f"{DOCUMENTS}/guia.md/links").json["source"] == "guia.md/links"
    empty = {part: [] for part in ("links", "backlinks", "unresolved", "attachments")}
    assert asked(at("guia.md/links", "links")).json == {"source": "guia.md/links", **empty}
    assert asked(at("guia", "links")).json["links"] == ["um.md"]
    assert asked(at("so/links")).json["text"] == asked(at("so", "links")).json["text"] == "Só este."
    assert asked(at("guia/links.md")).json["source"] == "guia/links.md"
    assert asked(at("um.md", "links")).json["backlinks"] == ["guia.md"]
    refused = asked(at("nada", "links"))
    assert (refused.status_code, refused.json["code"]) == (404, "NOT_FOUND")


def test_a_name_that_ends_in_a_routes_word_is_read_where_nothing_else_is_meant(client):
    assert client.get(at("guia", "links")).json["links"] == ["um.md"]
    assert client.get(at("so", "links")).json["text"] == "Só este."
    assert client.get(at("outra/links")).json["source"] == "outra/links.md"


def test_a_name_of_several_documents_says_which(client):
    for address in (at("mesmo"), at("mesmo", "links")):
        refused = client.get(address)
        assert (refused.status_code, refused.mimetype) == (409, "application/problem+json")
        assert (refused.json["code"], refused.json["field"]) == ("AMBIGUOUS", "source")
        assert refused.json["candidates"] == ["x.md", "y.md"]
        assert "x.md, y.md" in refused.json["detail"]


BAD = [
    (f"{at('um')}?offset=-1", 400, "offset"),
    (f"{at('um')}?offset=x", 400, "offset"),
    (f"{at('um')}?offset=", 400, "offset"),
    (f"{at('um')}?offset=1.5", 400, "offset"),
    (f"{at('um')}?offset=99999999", 400, "offset"),
    (f"{at('um')}?offset={'9' * 5000}", 400, "offset"),
    (f"{at('um')}?offset=%C2%B2", 400, "offset"),
    (f"{ROOT}/card?max_tokens=0", 400, "max_tokens"),
    (f"{ROOT}/card?max_tokens=-5", 400, "max_tokens"),
    (f"{ROOT}/card?max_tokens=many", 400, "max_tokens"),
    (f"{ROOT}/card?max_tokens=100001", 400, "max_tokens"),
    (f"{ROOT}/toc?limit=0", 400, "limit"),
    (f"{ROOT}/toc?limit=1001", 400, "limit"),
    (f"{ROOT}/toc?cursor=nonsense", 400, "cursor"),
    (at("nada.md"), 404, "source"),
    (at("um.md:99999"), 404, "source"),
    (at("um.md#page=3"), 404, "source"),
    ("/v1/bases/nobody/card", 404, None),
    ("/v1/bases/nobody/toc", 404, None),
    ("/v1/bases/nobody/documents/um.md", 404, None),
    ("/v1/bases/nobody/documents/um.md/links", 404, None),
    ("/v1/bases/UPPER/card", 400, "base"),
]


@pytest.mark.parametrize(("address", "status", "field"), BAD)
def test_a_bad_request_is_a_problem_that_names_its_field(client, address, status, field):
    response = client.get(address)
    assert (response.status_code, response.mimetype) == (status, "application/problem+json")
    assert response.json.get("field") == field
    assert response.json["detail"]
    assert "nobody" not in address or response.json["sentinel"] == "NO_KB_MATCH"


def test_the_table_of_contents_is_paged_as_listings_are(client):
    listed = client.get(f"{ROOT}/toc").json
    assert listed["next_cursor"] is None
    assert [row["source"] for row in listed["documents"]] == sorted(FILES_HERE)
    found, address = [], f"{ROOT}/toc?limit=5"
    while address:
        page = client.get(address).json
        found += page["documents"]
        following = page["next_cursor"]
        assert len(page["documents"]) == 5 or following is None
        address = f"{ROOT}/toc?limit=5&cursor={quote(following)}" if following else None
    assert found == listed["documents"]
    under = client.get(f"{ROOT}/toc?prefix={quote('guia')}").json["documents"]
    assert [row["source"] for row in under] == ["guia.md", "guia/links.md"]
    exactly = client.get(f"{ROOT}/toc?limit={len(FILES_HERE)}").json
    assert exactly["next_cursor"] is None


def test_the_card_is_plain_text_and_answered_once(machine, client):
    first = client.get(f"{ROOT}/card")
    assert (first.status_code, first.content_type) == (200, "text/plain; charset=utf-8")
    assert first.text.startswith(f"Knowledge base: {BASE}\n")
    assert first.text == machine.runtime.reading.card(BASE)
    tag = first.headers["ETag"]
    again = client.get(f"{ROOT}/card", headers={"If-None-Match": tag})
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag)
    assert again.headers["X-Request-Id"]
    small = client.get(f"{ROOT}/card?max_tokens=60", headers={"If-None-Match": tag})
    assert small.status_code == 200
    assert small.headers["ETag"] != tag
    assert len(small.data.decode()) <= 240
    put(machine, **{"novo.md": "# Novo\n\nTexto."})
    changed = client.get(f"{ROOT}/card", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert "novo.md" in changed.text
    machine.runtime.manage.delete(BASE, "novo.md")
    machine.settle()
    assert client.get(f"{ROOT}/card", headers={"If-None-Match": tag}).status_code == 304


def test_bases_say_what_they_hold_and_how_they_are_asked(machine, client):
    (row,) = client.get("/v1/bases").json["bases"]
    totals = machine.runtime.catalog.totals(BASE)
    counts = {"documents": totals.documents, "passages": totals.passages, "tokens": totals.tokens}
    assert {name: row[name] for name in counts} == counts
    assert (row["base"], row["mode"], row["epoch"]) == (BASE, "hybrid", machine.runtime.catalog.epoch(BASE))
    assert row["fingerprint"] in machine.runtime.catalog.base(BASE).live


def test_deleting_a_document_still_goes_to_manage(machine, client):
    put(machine, **{"sai/links": "Sai."})
    assert client.get(at("sai/links")).json["text"] == "Sai."
    removed = client.delete(at("sai/links"))
    assert (removed.status_code, removed.json["source"]) == (202, "sai/links")
    machine.settle()
    assert client.get(at("sai/links")).status_code == 404
    assert client.post(at("um.md")).status_code == 405


def test_an_answer_tells_what_stands_near_it(client):
    asked = {"query": "docum", "threshold": None, "mode": "lexical"}
    found = client.post(f"{ROOT}/search", json=asked).json
    assert found["related"] == [{"base": BASE, "source": "guia.md", "title": "Guia", "reason": "links to um.md"}]
    over = client.post("/v1/search", json={**asked, "bases": [{"base": BASE}]}).json
    assert over["related"] == found["related"]
    assert client.post(f"{ROOT}/search", json={"query": "docum", "threshold": 2}).json["related"] == []


def test_switched_off_nothing_is_read(tmp_path):
    off = OneMachine(tmp_path, settings={"ENABLE_KNOWLEDGE_BASE": "false"})
    put(off, **{"um.md": "Um."})
    asked = Client(application(off.runtime))
    for address in (f"{ROOT}/card", f"{ROOT}/toc", at("um.md"), at("um.md", "links")):
        assert asked.get(address).json["gate"]["decision"] == "disabled"
    off.runtime.close()


def test_nothing_of_another_base_is_read():
    """TEN-01: the same id in two bases; every reading route answers the asker's own, or refuses."""
    text = "---\nid: d1\n---\n\nContrato "
    machine = cloud(**{"d1.md": {"acme": f"{text}T-ACME-1", "globex": f"{text}T-GLOBEX-2"}})
    foreign = machine.runtime.reading.resolve("globex", "d1").document_id
    asked, nobody = reader(machine, "acme"), reader(machine, None)
    assert "T-ACME-1" in asked("/v1/bases/acme/documents/d1").json["text"]
    assert "T-GLOBEX-2" in reader(machine, "globex")("/v1/bases/globex/documents/d1").json["text"]
    for name in ("d1", "d1.md", "d1.md:5", foreign):
        for route in ("card", "toc", f"documents/{name}", f"documents/{name}/links"):
            own = asked(f"/v1/bases/acme/{route}")
            assert own.status_code == (404 if foreign in route else 200)
            told = own.get_data(as_text=True)
            assert "globex" not in told.lower()
            assert foreign not in told or foreign in route
            assert asked(f"/v1/bases/globex/{route}").status_code == 403
            assert nobody(f"/v1/bases/globex/{route}").status_code == 401
