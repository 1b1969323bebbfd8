"""What a base's models were given to do, from the work itself to the route and the command that tell it."""

import json
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from werkzeug.test import Client

from common.adapters.hashing_embedder import HashingEmbedder
from common.cli.main import build
from common.ports import Reranked
from common.stages.rerank import Reordering
from functions.local.app import application
from functions.local.machine import InProcess
from tests.integration.one_machine import BASE, OneMachine, content

TRAVEL = Path(__file__).parents[1] / "corpus/travel"
PRICES = {"KB_PRICE_EMBEDDING": "100", "KB_PRICE_RERANK_INPUT": "1000", "KB_PRICE_RERANK_OUTPUT": "2000"}
SEARCH = f"/v1/bases/{BASE}/search"
USAGE = f"/v1/bases/{BASE}/usage"


class Backwards:
    """Turns the order around, and says what that cost."""

    def rerank(self, question, texts, deadline):
        return Reranked(tuple(reversed(range(len(texts)))), 700, 12)


@pytest.fixture
def machine(tmp_path):
    opened = OneMachine(tmp_path, settings={**PRICES, "KB_CACHE_TTL": "600"})
    opened.runtime.manage.upload(BASE, "um.md", content("um", 1, 3), "")
    opened.settle()
    yield opened
    opened.runtime.close()


def told(machine):
    response = Client(application(machine.runtime)).get(USAGE)
    assert response.status_code == 200
    return response.json


def ask(machine, query, **more):
    return Client(application(machine.runtime)).post(SEARCH, json={"query": query, "threshold": None, **more}).json


def test_ingest_counts_what_it_embedded_and_nothing_that_it_kept(machine):
    job = machine.runtime.catalog.jobs(BASE)[0]
    spent = told(machine)["embeddings"]["ingest"]
    assert spent == {"calls": 1, "tokens": job.embedded_tokens, "cost": pytest.approx(job.embedded_tokens / 10_000)}
    assert spent["tokens"] > 0
    machine.runtime.manage.upload(BASE, "dois.md", content("um", 1, 3), "")
    machine.settle()
    machine.runtime.manage.upload(BASE, "um.md", content("um", 1, 3) + b"\n", "")
    machine.settle()
    jobs = machine.runtime.catalog.jobs(BASE)
    assert len(jobs) == 3
    assert told(machine)["embeddings"]["ingest"]["tokens"] == sum(each.embedded_tokens for each in jobs)


def test_a_job_says_what_it_cost(machine):
    (job,) = Client(application(machine.runtime)).get(f"/v1/bases/{BASE}/jobs").json["jobs"]
    assert job["usage"]["estimated_cost"] == pytest.approx(job["usage"]["embedded_tokens"] / 10_000)
    assert job["usage"]["estimated_cost"] > 0


def test_a_question_is_counted_when_it_is_embedded_and_not_when_it_is_remembered(machine):
    first = ask(machine, "docum part1of3")["usage"]
    tokens = HashingEmbedder().count_tokens("docum part1of3")
    assert first == {"query_tokens": tokens, "embedded": True, "estimated_cost": pytest.approx(tokens / 10_000)}
    for _ in range(3):
        assert ask(machine, "docum part1of3")["usage"] == {**first, "embedded": False, "estimated_cost": 0.0}
    assert ask(machine, "docum part1of3", top_k=1)["usage"]["embedded"] is False
    assert ask(machine, "docum part1of3", mode="lexical")["usage"]["estimated_cost"] == 0.0
    expected = {"calls": 1, "tokens": tokens, "cost": pytest.approx(tokens / 10_000)}
    assert told(machine)["embeddings"]["questions"] == expected


def test_a_block_of_context_tells_its_cost_too(machine):
    body = {"query": "docum part1of3", "threshold": None, "max_characters": 2000}
    usage = Client(application(machine.runtime)).post(f"/v1/bases/{BASE}/context", json=body).json["usage"]
    assert usage["estimated_cost"] == pytest.approx(usage["query_tokens"] / 10_000)
    assert usage["estimated_cost"] > 0


def test_reranking_is_counted_beside_it(machine):
    meter = machine.runtime.meter
    answers = replace(machine.runtime.answers, reordering=Reordering(Backwards(), meter.count))
    machine.runtime = replace(machine.runtime, answers=answers)
    embedded = ask(machine, "docum")["usage"]["estimated_cost"]
    reranked = ask(machine, "docum", rerank="llm")["usage"]
    assert reranked["rerank"] == {"prompt_tokens": 700, "completion_tokens": 12}
    assert reranked["estimated_cost"] == pytest.approx(0.7 + 0.024)
    assert "rerank" not in ask(machine, "docum", rerank="llm")["usage"], "a cached answer asks no model"
    body = {"query": "docum", "threshold": None, "rerank": "llm", "bases": [{"base": BASE}]}
    assert "rerank" in Client(application(machine.runtime)).post("/v1/search", json=body).json["usage"]
    usage = told(machine)
    assert usage["rerank"] == {"calls": 2, "input_tokens": 1400, "output_tokens": 24, "cost": pytest.approx(1.448)}
    ingested = usage["embeddings"]["ingest"]["cost"]
    assert usage["cost"] == pytest.approx(1.448 + embedded + ingested)


def test_fitting_the_gate_is_counted_as_upkeep(machine):
    for path in TRAVEL.glob("*/*.md"):
        machine.runtime.manage.upload(BASE, path.name, path.read_bytes(), "")
    machine.settle()
    before = told(machine)["embeddings"]["upkeep"]["calls"]
    gate = machine.runtime.gate_fit.run(BASE)
    spent = told(machine)["embeddings"]["upkeep"]
    assert gate.fitted
    assert spent["calls"] - before > 20
    assert spent["tokens"] > spent["calls"]


def test_what_another_process_counted_is_added(machine):
    ask(machine, "docum part1of3")
    once = told(machine)["embeddings"]["questions"]
    ask(machine, "docum part3of3")
    machine.restart()
    ask(machine, "docum part2of3")
    both = told(machine)["embeddings"]["questions"]
    assert (both["calls"], both["tokens"]) == (3, 3 * once["tokens"])


def test_asking_writes_nothing_while_it_answers(machine):
    """The request path only counts in memory; what is written is written later."""
    told(machine)
    writes = []
    catalog, meter = machine.runtime.catalog, machine.runtime.meter

    class Watched:
        def add_usage(self, base, spent):
            writes.append(base)
            catalog.add_usage(base, spent)

    meter._catalog, meter._batch._seconds = Watched(), 3600.0
    for number in range(20):
        ask(machine, f"docum numero {number}")
    assert writes == []
    meter.flush()
    assert writes == [BASE]
    meter._catalog = catalog
    assert told(machine)["embeddings"]["questions"]["calls"] == 20


def test_there_is_no_usage_of_no_base(machine):
    response = Client(application(machine.runtime)).get("/v1/bases/nobody/usage")
    assert (response.status_code, response.json["code"]) == (404, "NO_BASE")


def invoke(machine, base, *arguments):
    @contextmanager
    def inside(*_):
        yield InProcess(machine.runtime)

    return CliRunner().invoke(build(inside), ["usage", "--base", base, *arguments])


def test_the_command_prints_a_line_for_each_and_one_document(machine):
    ask(machine, "docum part1of3")
    usage = told(machine)
    done = invoke(machine, BASE)
    assert done.exit_code == 0, done.output
    ingest, questions = (usage["embeddings"][kind] for kind in ("ingest", "questions"))
    assert done.stdout.splitlines() == [
        f"Ingest  Embeddings: 1 calls · ~{ingest['tokens']} tokens · ${ingest['cost']:.2f}",
        f"Questions  Embeddings: 1 calls · ~{questions['tokens']} tokens · ${questions['cost']:.4f}",
        "Upkeep  Embeddings: 0 calls · ~0 tokens · $0",
        "Rerank: 0 calls · ~0 tokens · $0",
        f"Together ${usage['cost']:.2f}",
    ]
    assert json.loads(invoke(machine, BASE, "--json").stdout) == usage
    assert invoke(machine, "nobody").exit_code == 1
