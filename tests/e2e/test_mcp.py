"""The tools as a model's runtime reaches them: over the port of `fichario up`, and over standard input and output."""

import os
import signal
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.e2e.conftest import ROOT
from tests.e2e.test_server import call, eventually

TRAVEL = ROOT / "tests/corpus/travel"
QUESTION = "A que horas parte a van do aeroporto de Salvador?"


def spoken(target, work, mode="auto"):
    async def run():
        with anyio.fail_after(120):
            async with Client(target, mode=mode, read_timeout_seconds=100) as client:
                return await work(client)

    return anyio.run(run)


def over_stdio(fichario, errors=None):
    command, *arguments = fichario.command("mcp")
    parameters = StdioServerParameters(command=command, args=arguments, env=fichario.environment, cwd=str(ROOT))
    return parameters if errors is None else stdio_client(parameters, errlog=errors)


async def walk(client):
    """As a model would go: what there is, a question, the page behind it, its links."""
    bases = (await client.call_tool("list", {})).structured_content["bases"]
    toc = (await client.call_tool("toc", {})).structured_content["documents"]
    found = (await client.call_tool("search", {"query": QUESTION, "top_k": 2})).structured_content
    page = await client.call_tool("get", {"source": found["passages"][0]["citation"]})
    links = (await client.call_tool("links", {"source": found["passages"][0]["source"]})).structured_content
    return bases, toc, found, page.structured_content, links


@pytest.mark.model
def test_a_walk_over_http_and_over_stdio_shows_the_same(fichario, serve):
    fichario.run("ingest", TRAVEL, "--base", "viagens")
    server = serve()
    over_http = spoken(f"{server.address}/mcp", walk)
    assert spoken(over_stdio(fichario), walk) == over_http
    bases, toc, found, page, links = over_http
    assert [base["base"] for base in bases] == ["viagens"]
    assert len(toc) == bases[0]["documents"] > 10
    passage = found["passages"][0]
    assert "7:00" in passage["text"]
    assert passage["text"] in page["text"]
    source = f"/v1/bases/viagens/documents/{passage['source']}"
    assert page["text"] == call(server.address, "GET", source)[1]["text"]
    assert links == {"base": "viagens", **call(server.address, "GET", f"{source}/links")[1]}
    status, searched, _ = call(
        server.address, "POST", "/v1/bases/viagens/search", {"query": QUESTION, "top_k": 2, "threshold": "auto"}
    )
    assert (status, [each["text"] for each in searched["passages"]]) == (200, [p["text"] for p in found["passages"]])


@pytest.mark.model
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_without_a_server_it_is_one_itself(fichario, tmp_path, mode):
    fichario.run("ingest", TRAVEL / "pt", "--base", "viagens")

    async def work(client):
        found = await client.call_tool("search", {"query": QUESTION})
        listed = await anyio.to_thread.run_sync(lambda: fichario.json("bases"))
        bucket = Path(fichario.data) / "bucket/viagens"
        (bucket / "novo.md").write_text("# Zircônio\n\nO zircônio fica no cofre azul.\n")
        after = await anyio.to_thread.run_sync(lambda: eventually(lambda: _known(fichario)))
        failed = await client.call_tool("get", {"source": "none.md"})
        return client.instructions, found, listed, after, failed

    with (tmp_path / "errors.txt").open("w") as errors:
        instructions, found, listed, after, failed = spoken(over_stdio(fichario, errors), work, mode)
    assert "at most 4 calls per turn" in instructions
    assert found.structured_content["match"] is True
    assert listed["bases"][0]["base"] == "viagens", "another command works beside it"
    assert after, "what is put into the bucket is brought in meanwhile"
    assert (failed.is_error, failed.structured_content["code"]) == (True, "NOT_FOUND")
    (again,) = fichario.json("bases")["bases"]
    assert again["documents"] == listed["bases"][0]["documents"] + 1, "the folder is free again"


def _known(fichario):
    return any(row["source"] == "novo.md" for row in fichario.json("documents", "--base", "viagens")["documents"])


@pytest.mark.model
def test_it_goes_on_when_the_server_that_it_found_is_gone(fichario, serve):
    fichario.run("ingest", TRAVEL / "pt", "--base", "viagens")
    server = serve()

    async def work(client):
        before = await client.call_tool("list", {})
        os.kill(server.process.pid, signal.SIGKILL)
        await anyio.to_thread.run_sync(server.process.wait)
        after = await client.call_tool("list", {})
        return before.structured_content, after.structured_content

    before, after = spoken(over_stdio(fichario), work)
    assert before == after
    assert after["bases"][0]["base"] == "viagens"


def test_a_server_that_cannot_start_is_said_why(fichario):
    done = fichario.run("mcp", KB_EMBEDDING_MODEL="unheard-of")
    assert done.returncode == 1
    assert "unheard-of" in done.stderr
    assert done.stdout == ""
