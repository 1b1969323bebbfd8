"""One question over several bases."""

import pytest
from werkzeug.test import Client

from functions.local.app import application
from tests.integration.one_machine import OneMachine
from tests.integration.test_search import OTHERS, CountingEmbedder

QUESTION = "o cliente troca o produto com a nota"


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    opened = OneMachine(
        tmp_path_factory.mktemp("several"), embedder=CountingEmbedder(), settings={"KB_CACHE_TTL": "600"}
    )
    texts = {
        "lojas": OTHERS,
        "outra": {"copia": OTHERS["trocas"], "nota": "# Nota\n\nA nota vai no e-mail do cliente."},
        "uma": {"so": "# Um\n\nO produto que o cliente leva da casa."},
    }
    for base, files in texts.items():
        for name, text in files.items():
            opened.runtime.manage.upload(base, f"{name}.md", text.encode(), "")
    opened.settle()
    yield opened
    opened.runtime.close()


def ask(machine, *bases, status=200, **more):
    listed = [base if isinstance(base, dict) else {"base": base} for base in bases]
    body = {"query": QUESTION, "threshold": None, "bases": listed, **more}
    reply = Client(application(machine.runtime)).post("/v1/search", json=body)
    assert reply.status_code == status, reply.get_data(as_text=True)
    return reply.get_json()


def test_passages_of_all_bases_stand_in_one_list_tagged_by_base(machine):
    answer = ask(machine, "lojas", "outra", "uma", top_k=50)
    scores = [p["score"] for p in answer["passages"]]
    assert scores == sorted(scores, reverse=True)
    assert {p["base"] for p in answer["passages"]} == {"lojas", "outra", "uma"}
    assert [share["base"] for share in answer["bases"]] == ["lojas", "outra", "uma"]
    assert answer["epoch"] == sum(share["epoch"] for share in answer["bases"])


def test_the_same_content_stands_once(machine):
    answer = ask(machine, "lojas", "outra", top_k=50)
    texts = [p["text"] for p in answer["passages"]]
    assert len(texts) == len(set(texts)) == 4


@pytest.mark.parametrize("fusion", ["sum", "minmax", "rrf"])
def test_a_base_with_a_single_hit_is_not_favoured(machine, fusion):
    answer = ask(machine, "uma", "lojas", fusion=fusion, top_k=1)
    assert answer["passages"][0]["source"] == "trocas.md"


def test_a_weight_lifts_or_sinks_a_base(machine):
    lifted = ask(machine, {"base": "uma", "weight": 100}, "lojas", top_k=1)
    assert lifted["passages"][0]["base"] == "uma"
    sunk = ask(machine, {"base": "lojas", "weight": 0.01}, "outra", top_k=50)
    assert sunk["passages"][0]["base"] == "outra"


def test_the_question_is_embedded_once(machine):
    before = machine.embedder.asked
    ask(machine, "lojas", "outra", "uma", query="uma pergunta que ninguém fez ainda")
    assert machine.embedder.asked == before + 1


def test_a_base_that_fails_is_named_and_the_rest_answers(machine):
    answer = ask(machine, "lojas", "ninguem")
    assert answer["match"]
    assert any("ninguem" in warning for warning in answer["warnings"])
    problem = ask(machine, "ninguem", status=404)
    assert (problem["code"], problem["sentinel"]) == ("NO_BASE", "NO_KB_MATCH")


def test_no_base_matches(machine):
    answer = ask(machine, "lojas", "outra", query="xilofone", mode="lexical", threshold="auto")
    assert (answer["match"], answer["sentinel"], answer["passages"]) == (False, "NO_KB_MATCH", [])


@pytest.mark.parametrize(
    "bases",
    [[], [{"base": "lojas"}, {"base": "lojas"}], [{"base": "Não"}], [{"base": "lojas", "weight": 0}], "lojas", None],
)
def test_a_list_of_bases_that_is_none_is_refused(machine, bases):
    reply = Client(application(machine.runtime)).post("/v1/search", json={"query": "x", "bases": bases})
    assert (reply.status_code, reply.get_json()["field"]) == (400, "bases")


def test_a_switched_off_deployment_says_so_on_every_query_route(tmp_path):
    machine = OneMachine(tmp_path, embedder=CountingEmbedder(), settings={"ENABLE_KNOWLEDGE_BASE": "false"})
    client = Client(application(machine.runtime))
    for method, path in (
        ("POST", "/v1/bases/nobody/search"),
        ("POST", "/v1/search"),
        ("GET", "/v1/bases"),
        ("GET", "/v1/bases/nobody/documents/x.md/links"),
    ):
        body = client.open(path, method=method).get_json()
        assert (body["match"], body["sentinel"], body["gate"]["decision"]) == (False, "NO_KB_MATCH", "disabled")
    assert machine.embedder.asked == 0
    stored = client.post("/v1/bases/nobody/documents", data=b"# Um\n\nTexto.", headers={"X-Source": "um.md"})
    assert stored.status_code == 202
    machine.runtime.close()
