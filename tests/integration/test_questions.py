"""Kept questions from the routes that are asked to the ones that tell of them: each real question once, whichever way
it came and whether its answer was cached, and those that measure not at all.
"""

import json
import logging
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest
from click.testing import CliRunner
from werkzeug.test import Client

from common.cli.main import build
from common.domain.questions import question_digest
from functions.local.app import application
from functions.local.machine import InProcess
from tests.integration.one_machine import BASE, OneMachine, content

B = f"/v1/bases/{BASE}"
OTHER = "globex"
UNKNOWN = "zzyzx"
KNOWN = "fala do lugar numero 1 da casa grande e de outras coisas que enchem um paragrafo inteiro"


@pytest.fixture
def machine(tmp_path):
    opened = OneMachine(tmp_path, settings={"KB_KEEP_QUESTIONS": "text", "KB_CACHE_TTL": "600"})
    for base in (BASE, OTHER):
        opened.runtime.manage.upload(base, "um.md", content("um", 1, 3), "")
    opened.settle()
    yield opened
    opened.runtime.close()


@pytest.fixture
def client(machine):
    return Client(application(machine.runtime))


def kept(machine, base=BASE):
    return {each.text: each.count for each in machine.runtime.keeping.questions(base) if each.origin == "asked"}


def ask(client, query, **headers):
    return client.post(f"{B}/search", json={"query": query}, headers=headers).json


def test_every_route_keeps_a_question_once_for_each_base(machine, client):
    query, rpc = {"query": "docum part1of3", "threshold": None}, {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    both = {**query, "bases": [{"base": BASE}, {"base": OTHER}]}
    tool = {"name": "search", "arguments": {"base": BASE, "query": query["query"]}}
    asked = [
        ("/search", {}, query),
        ("/context", {"max_tokens": 300}, query),
        ("/prompt", {"max_tokens": 300}, query),
    ]
    for path, more, body in asked:
        assert client.post(B + path, json={**body, **more}).status_code == 200
    for path in ("/v1/search", "/v1/context"):
        assert client.post(path, json=both).status_code == 200
    assert client.post("/mcp", json={**rpc, "params": tool}).json["result"]["isError"] is False
    store = {"query": [query["query"], "another one"], "ranking_options": {"score_threshold": 0}}
    assert client.post(f"/v1/vector_stores/{BASE}/search", json=store).status_code == 200
    assert kept(machine) == {"docum part1of3": 7, "another one": 1}
    assert kept(machine, OTHER) == {"docum part1of3": 2}


def test_cached_and_shared_answers_count_too(machine, client):
    for _ in range(3):
        ask(client, "docum part1of3")
    assert ask(client, "docum part1of3")["cache"] == "hit"
    assert kept(machine) == {"docum part1of3": 4}


def test_a_context_whose_base_moves_meanwhile_counts_its_question_once(machine, client):
    contexts, moved = machine.runtime.contexts, []

    def moving(work, _seconds):
        if not moved:
            moved.append(BASE)
            machine.runtime.catalog.update_base(BASE, lambda known: (known, None), raise_epoch=True)
        return work()

    vars(machine.runtime)["contexts"] = replace(contexts, within=moving)
    client = Client(application(machine.runtime))
    body = {"query": "docum part1of3", "threshold": None, "max_tokens": 300}
    assert client.post(f"{B}/context", json=body).status_code == 200
    assert moved
    assert kept(machine) == {"docum part1of3": 1}


def test_what_measures_or_fails_is_not_kept(machine, client):
    assert ask(client, "docum", **{"X-Keep-Question": "no"})["match"] in {True, False}
    assert client.post(f"{B}/search", json={"query": ""}).status_code == 400
    assert client.post("/v1/bases/nobody/search", json={"query": "docum"}).status_code == 404
    machine.runtime.gate_fit.run(BASE)
    assert kept(machine) == {}
    assert machine.runtime.catalog.questions("nobody") == []
    ask(client, "docum")
    assert kept(machine) == {"docum": 1}


def test_gaps_are_what_is_not_answered_the_most_often_asked_first(machine, client):
    for query, times in ((KNOWN, 3), (UNKNOWN, 1), (f"{UNKNOWN} of", 2)):
        for _ in range(times):
            match = ask(client, query)["match"]
        assert match is (query == KNOWN)
        machine.clock.advance(60)
    found = client.get(f"{B}/gaps").json
    assert found["kept"] == "text"
    assert [(gap["question"], gap["count"]) for gap in found["gaps"]] == [(f"{UNKNOWN} of", 2), (UNKNOWN, 1)]
    assert found["gaps"][1]["digest"] == question_digest(UNKNOWN)
    assert found["gaps"][1]["last_asked_at"].endswith("+00:00")
    assert client.get(f"{B}/gaps?limit=1").json["gaps"] == found["gaps"][:1]
    assert client.get(f"/v1/bases/{OTHER}/gaps").json["gaps"] == []


def test_no_answer_waits_for_a_write_and_nothing_of_a_question_is_logged(machine, client, caplog):
    caplog.set_level(logging.DEBUG)
    release, catalog, batch = threading.Event(), machine.runtime.catalog, machine.runtime.keeping._batch
    add, written = catalog.add_questions, threading.Event()

    def slow(base, asked):
        written.set()
        assert release.wait(30)
        add(base, asked)

    catalog.add_questions = slow
    ask(client, "docum part1of3")
    writing = threading.Thread(target=batch.flush)
    writing.start()
    assert written.wait(10)
    ask(client, "quokka")
    release.set()
    writing.join()
    assert kept(machine) == {"docum part1of3": 1, "quokka": 1}
    assert "quokka" not in "".join(str(vars(record)) for record in caplog.records)


def test_without_consent_no_words_are_stored_or_shown(machine, client):
    ask(client, UNKNOWN)
    machine.settings = {**machine.settings, "KB_KEEP_QUESTIONS": "hashed"}
    machine.restart()
    client = Client(application(machine.runtime))
    (gap,) = client.get(f"{B}/gaps").json["gaps"]
    assert gap["question"] is None, "kept while it was consented to, and not shown any more"
    ask(client, UNKNOWN)
    ask(client, f"{UNKNOWN} quokka")
    assert [gap["question"] for gap in client.get(f"{B}/gaps").json["gaps"]] == [None, None]
    machine.runtime.keeping.flush()
    stored = b"".join(file.read_bytes() for file in (machine.folder / "data").glob("catalog.sqlite*"))
    assert b"quokka" not in stored
    assert question_digest(f"{UNKNOWN} quokka").encode() in stored


def test_off_stores_nothing(machine):
    machine.settings = {**machine.settings, "KB_KEEP_QUESTIONS": "off"}
    machine.restart()
    client = Client(application(machine.runtime))
    ask(client, UNKNOWN)
    assert client.get(f"{B}/gaps").json == {"kept": "off", "gaps": []}
    assert machine.runtime.catalog.questions(BASE) == []


def test_closing_writes_what_was_noted_a_moment_ago(machine, client):
    ask(client, "docum part1of3")
    machine.restart()
    assert kept(machine) == {"docum part1of3": 1}


def test_a_reset_forgets_the_questions_of_its_base_alone(machine, client):
    for base in (BASE, OTHER):
        client.post(f"/v1/bases/{base}/search", json={"query": UNKNOWN})
        client.put(f"/v1/bases/{base}/questions", json=[{"question": "Quem?", "source": "um.md"}])
    ask(client, "noted and not yet written")
    assert client.delete(B).status_code == 202
    machine.settle()
    assert machine.runtime.keeping.questions(BASE) == []
    assert kept(machine, OTHER) == {UNKNOWN: 1}
    assert client.get(f"/v1/bases/{OTHER}/questions").json["set"]["questions"] == 1


def test_a_set_is_stored_whole_and_only_counted(machine, client):
    ask(client, UNKNOWN)
    rows = [{"question": "Quem manda?", "source": "um.md"}, {"question": "Onde?", "source": None}]
    stored = client.put(f"{B}/questions", json=rows)
    expected = {
        "base": BASE,
        "kept": "text",
        "asked": {"questions": 1, "answered": 0, "unanswered": 1, "times_asked": 1},
        "set": {"questions": 2, "answerable": 1},
    }
    assert (stored.status_code, stored.json) == (200, expected)
    assert client.get(f"{B}/questions").json == expected
    found = [each for each in machine.runtime.keeping.questions(BASE) if each.origin == "set"]
    assert {(each.text, each.source) for each in found} == {("Quem manda?", "um.md"), ("Onde?", None)}
    assert client.put(f"{B}/questions", json=rows[:1]).json["set"] == {"questions": 1, "answerable": 1}
    assert client.put(f"{B}/questions", json=[]).json["set"] == {"questions": 0, "answerable": 0}
    assert kept(machine) == {UNKNOWN: 1}


GOOD = {"question": "Quem?", "source": None}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        (7, "body"),
        ([GOOD] * 2001, "body"),
        (["x"], "0"),
        ([GOOD, {"question": "x"}], "1"),
        ([GOOD, {**GOOD, "more": 1}], "1"),
        ([{**GOOD, "question": " \n"}], "0.question"),
        ([{**GOOD, "question": None}], "0.question"),
        ([GOOD, GOOD, {**GOOD, "question": "x" * 1001}], "2.question"),
        ([{**GOOD, "source": ""}], "0.source"),
        ([{**GOOD, "source": 7}], "0.source"),
        ([{**GOOD, "source": "é" * 513}], "0.source"),
    ],
)
def test_a_set_that_cannot_be_is_refused_by_row_and_field(machine, client, body, field):
    client.put(f"{B}/questions", json=[GOOD])
    refused = client.put(f"{B}/questions", json=body)
    assert (refused.status_code, refused.json["field"]) == (400, field)
    assert client.get(f"{B}/questions").json["set"]["questions"] == 1


def test_the_largest_set_is_taken_and_a_larger_body_is_not(machine, client):
    rows = [{"question": f"{number} {'x' * 900}", "source": "um.md"} for number in range(2000)]
    assert client.put(f"{B}/questions", json=rows).json["set"]["questions"] == 2000
    more = [{**row, "source": "é" * 300} for row in rows]
    assert client.put(f"{B}/questions", json=more).status_code == 413


def invoke(machine, *arguments):
    @contextmanager
    def inside(*_):
        yield InProcess(machine.runtime)

    return CliRunner().invoke(build(inside), [str(each) for each in arguments])


def test_evaluate_keeps_its_questions_as_the_set_and_as_nobodys(machine, tmp_path):
    file = tmp_path / "questions.json"
    rows = [{"question": "docum part1of3", "source": "um.md"}, {"question": UNKNOWN, "source": None}]
    file.write_text(json.dumps(rows), encoding="utf-8")
    assert invoke(machine, "evaluate", file, "--base", BASE, "--json").exit_code == 0
    assert machine.runtime.keeping.questions(BASE) == []
    assert invoke(machine, "evaluate", file, "--base", BASE, "--json", "--keep").exit_code == 0
    found = machine.runtime.keeping.questions(BASE)
    assert {(each.origin, each.text, each.source) for each in found} == {
        ("set", row["question"], row["source"]) for row in rows
    }
    file.write_text(json.dumps([{"question": "", "source": None}]), encoding="utf-8")
    refused = invoke(machine, "evaluate", file, "--base", BASE, "--keep")
    assert (refused.exit_code, "not blank" in refused.output) == (1, True)


def test_the_command_lists_gaps_by_words_or_by_hash(machine, client):
    assert invoke(machine, "gaps", "--base", BASE).stdout == "No gaps known.\n"
    ask(client, f"{UNKNOWN}\nquokka")
    machine.clock.advance(1)
    ask(client, UNKNOWN)
    lines = invoke(machine, "gaps", "--base", BASE).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["count", "1", "1"]
    assert lines[2].endswith(f"  {UNKNOWN} quokka")
    assert lines[1].endswith(f"  {UNKNOWN}")
    assert json.loads(invoke(machine, "gaps", "--base", BASE, "--json").stdout) == client.get(f"{B}/gaps").json
    assert invoke(machine, "gaps", "--base", "nobody").exit_code == 1
    machine.settings = {**machine.settings, "KB_KEEP_QUESTIONS": "hashed"}
    machine.restart()
    assert f"#{question_digest(UNKNOWN)}" in invoke(machine, "gaps", "--base", BASE).stdout
    machine.settings = {**machine.settings, "KB_KEEP_QUESTIONS": "off"}
    machine.restart()
    assert "KB_KEEP_QUESTIONS=off" in invoke(machine, "gaps", "--base", BASE).stderr
