"""Real documents read as a model would: the card, the contents, every page of every one, and a place that was cited."""

import os
from pathlib import Path
from urllib.parse import quote

import anyio
import pytest
from mcp import Client as McpClient
from werkzeug.test import Client as HttpClient

from common.adapters.hashing_embedder import HashingEmbedder
from common.bootstrap import local_runtime
from common.domain.budget import estimate_tokens
from common.domain.graphemes import is_boundary
from common.domain.pages import PAGE
from common.domain.search import Search
from common.reading import document_parser
from common.settings import read_settings
from functions.local.app import application
from functions.local.workers import drain
from tests.integration.one_machine import BASE
from tests.integration.serving import served

SHARED = Path(os.environ.get("KB_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data")) / "docs"
MARKDOWN = sorted(SHARED.glob("markdown-pt/**/*.md"))
PDF = SHARED / "pdf" / "py-pdf" / "GeoTopo-komprimiert.pdf"

pytestmark = pytest.mark.skipif(not MARKDOWN, reason="the real documents are not on this machine (KB_SHARED_DATA)")


def name_of(path):
    return path.relative_to(SHARED).as_posix()


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    data = tmp_path_factory.mktemp("real")
    settings = read_settings({"KB_DATA_DIR": str(data), "KB_CACHE_TTL": "0", "KB_MAX_BASE_MB": "0"})
    opened = local_runtime(settings, embedder=HashingEmbedder(), parser=document_parser())
    for path in (*MARKDOWN, PDF):
        opened.manage.upload(BASE, name_of(path), path.read_bytes(), "")
    drain(opened)
    yield opened
    opened.close()


def pages_of(runtime, name):
    pages, offset = [], 0
    while offset is not None:
        pages.append(runtime.reading.page(BASE, name, offset))
        offset = pages[-1]["next_offset"]
    return pages


def test_the_pages_of_every_real_document_rejoin_to_its_exact_text(runtime):
    expected = {name_of(path): path.read_bytes().decode() for path in MARKDOWN}
    expected[name_of(PDF)] = document_parser().parse(PDF.read_bytes(), PDF.name).documents[0].text
    assert {row["source"] for row in runtime.reading.toc(BASE)} == set(expected)
    several = 0
    for name, text in expected.items():
        pages = pages_of(runtime, name)
        assert "".join(page["text"] for page in pages) == text
        assert all(len(page["text"]) <= PAGE for page in pages)
        assert all(is_boundary(text, page["offset"]) for page in pages)
        several += len(pages) > 1
    assert several > 20


@pytest.mark.parametrize(
    "question", ["efeitos e reatividade", "imagem docker", "Dreieck Winkel", "estado de um componente"]
)
def test_what_an_answer_cites_opens_its_page(runtime, question):
    found = runtime.answers.answer(BASE, Search(question, threshold=None, mode="lexical", top_k=50))
    assert found.passages
    for passage in found.passages:
        page = runtime.reading.page(BASE, passage.citation)
        assert page["source"] == passage.source
        assert page["offset"] <= page["position"] < page["offset"] + len(page["text"])
        by_id = runtime.reading.page(BASE, passage.id)
        assert passage.text in by_id["text"]
        if passage.lines:
            line = passage.text.split("\n")[0]
            assert line in page["text"][page["position"] - page["offset"] :]


def test_the_card_of_all_of_them_is_within_its_budget(runtime):
    card = runtime.reading.card(BASE)
    assert 850 < estimate_tokens(card) <= 900
    assert card.endswith(" more (toc)\n")
    assert card == runtime.reading.card(BASE)


def test_a_walk_over_all_of_them_shows_the_same_over_mcp_and_http(runtime):
    """The card, the contents, a question, then every document page by page and its links, as a model would go."""
    client = HttpClient(application(runtime))
    document = f"/v1/bases/{BASE}/documents"

    async def walk(tools):
        async def call(name, **arguments):
            return (await tools.call_tool(name, {"base": BASE, **arguments})).structured_content

        rows, cursor = [], {}
        while cursor is not None:
            part = await call("toc", limit=50, **cursor)
            rows += part["documents"]
            cursor = {"cursor": part["next_cursor"]} if part["next_cursor"] else None
        assert rows == [{"base": BASE, **row} for row in client.get(f"/v1/bases/{BASE}/toc").json["documents"]]
        found = await call("search", query="efeitos e reatividade")
        asked = client.post(f"/v1/bases/{BASE}/search", json={"query": "efeitos e reatividade"}).json
        assert [each["id"] for each in asked["passages"]] == [each["id"] for each in found["passages"]]
        pages = 0
        for row in rows:
            offset = 0
            while offset is not None:
                page = await call("get", source=row["source"], offset=offset)
                assert page == client.get(f"{document}/{quote(row['source'])}?offset={offset}").json
                offset, pages = page["next_offset"], pages + 1
            links = await call("links", source=row["source"])
            assert links == {"base": BASE, **client.get(f"{document}/{quote(row['source'])}/links").json}
        return len(rows), pages

    async def run(address):
        async with McpClient(f"{address}/mcp", read_timeout_seconds=60) as tools:
            return await walk(tools)

    with served(application(runtime)) as address:
        documents, pages = anyio.run(run, address)
    assert documents == len(MARKDOWN) + 1
    assert pages > documents + 20
