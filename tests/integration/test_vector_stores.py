"""OpenAI's vector store search: what its own client sends and reads, over a real port, and what is refused."""

import openai
import pytest
from werkzeug.test import Client

from common.reading import document_parser
from common.settings import read_settings
from functions.local.app import application
from functions.query.vector_stores import decode_vector_store
from tests.integration.one_machine import BASE, OneMachine
from tests.integration.serving import served

STORE = f"/v1/vector_stores/{BASE}/search"
PAGES = {
    "loja/horarios.md": "---\ncategory: loja\nlang: pt\nyear: 2024\nactive: yes\ntags: [a]\n---\n\n"
    "# Horários\n\nA loja abre às nove horas e fecha às dezoito horas.",
    "loja/trocas.md": "---\ncategory: loja\nlang: pt\nyear: 2025\n---\n\n"
    "# Trocas\n\nO cliente troca o produto em trinta dias com a nota da loja.",
    "shop/returns.md": "---\ncategory: shop\nlang: en\nyear: 2025\n---\n\n"
    "# Returns\n\nThe shop takes a product back within thirty days; ask the loja.",
}


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    opened = OneMachine(tmp_path_factory.mktemp("stores"), parser=document_parser())
    for name, text in PAGES.items():
        opened.runtime.manage.upload(BASE, name, text.encode(), "")
    opened.settle()
    yield opened
    opened.runtime.close()


@pytest.fixture(scope="module")
def client(machine):
    return Client(application(machine.runtime))


@pytest.fixture(scope="module")
def stores(machine):
    with (
        served(application(machine.runtime)) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as opened,
    ):
        yield opened.vector_stores


def names(page):
    return [each.filename for each in page.data]


def test_the_client_of_openai_reads_a_page(stores):
    page = stores.search(BASE, query="A loja abre às nove horas?", max_num_results=2, rewrite_query=True)
    assert page.object == "vector_store.search_results.page"
    assert names(page)[0] == "loja/horarios.md"
    assert len(page.data) == 2
    first = page.data[0]
    assert first.content[0].type == "text"
    assert first.content[0].text == "# Horários\n\nA loja abre às nove horas e fecha às dezoito horas."
    assert 0 < first.score <= 1
    assert [each.score for each in page.data] == sorted((each.score for each in page.data), reverse=True)
    assert first.attributes == {
        "citation": "loja/horarios.md:9-11",
        "title": "Horários",
        "first_line": 9,
        "last_line": 11,
        "category": "loja",
        "lang": "pt",
        "year": 2024,
        "active": "yes",
    }
    assert not page.has_more
    assert page.search_query == ["A loja abre às nove horas?"]
    assert list(page) == page.data


def test_several_queries_are_one_list_in_which_each_passage_stands_once(stores):
    alone = [stores.search(BASE, query=query, ranking_options={"score_threshold": 0}) for query in ("horas", "thirty")]
    both = stores.search(BASE, query=["horas", "thirty"], ranking_options={"score_threshold": 0})
    best = {}
    for each in (*alone[0].data, *alone[1].data):
        best[each.filename] = max(each.score, best.get(each.filename, 0.0))
    assert {each.filename: each.score for each in both.data} == best
    assert [each.score for each in both.data] == sorted(best.values(), reverse=True)
    assert both.search_query == ["horas", "thirty"]


def test_results_are_as_many_as_asked_for_over_all_queries(stores):
    found = stores.search(BASE, query=["horas", "thirty"], max_num_results=1, ranking_options={"score_threshold": 0})
    assert len(found.data) == 1


def eq(key, value):
    return {"type": "eq", "key": key, "value": value}


def within(key, *values):
    return {"type": "in", "key": key, "value": list(values)}


def both(*filters):
    return {"type": "and", "filters": list(filters)}


def either(*filters):
    return {"type": "or", "filters": list(filters)}


H, T, R = "loja/horarios.md", "loja/trocas.md", "shop/returns.md"
FILTERS = [
    (eq("lang", "en"), {R}),
    (eq("category", "loja"), {H, T}),
    (eq("source_prefix", "shop/"), {R}),
    (within("year", 2024, 2025), {H, T, R}),
    (within("year"), set()),
    (both(eq("lang", "pt"), eq("year", 2025)), {T}),
    (both(eq("lang", "pt"), within("lang", "pt", "en")), {H, T}),
    (both(eq("lang", "pt"), eq("lang", "en")), set()),
    (both(eq("category", "loja"), eq("category", "shop")), set()),
    (both(both(eq("lang", "pt")), either(eq("year", 2024))), {H}),
    (either(eq("year", 2024), eq("year", 2025)), {H, T, R}),
    (either(both(eq("year", 2024), eq("lang", "pt"))), {H}),
    (either(within("category", "loja"), eq("category", "shop")), {H, T, R}),
]


@pytest.mark.parametrize(("wanted", "expected"), FILTERS)
def test_filters_that_ours_can_express(stores, wanted, expected):
    found = stores.search(BASE, query="loja", filters=wanted, ranking_options={"score_threshold": 0})
    assert set(names(found)) == expected


REFUSED = [
    ({"query": "ok", "filters": {"type": "ne", "key": "lang", "value": "pt"}}, "filters"),
    ({"query": "ok", "filters": {"type": "gt", "key": "year", "value": 1}}, "filters"),
    ({"query": "ok", "filters": {"type": "nin", "key": "lang", "value": ["pt"]}}, "filters"),
    ({"query": "ok", "filters": {"type": "eq", "key": "lang", "value": ["pt"]}}, "filters"),
    ({"query": "ok", "filters": {"type": "in", "key": "lang", "value": "pt"}}, "filters"),
    ({"query": "ok", "filters": {"type": "like", "key": "lang", "value": "pt"}}, "filters"),
    ({"query": "ok", "filters": {"type": "eq", "key": "lang"}}, "filters"),
    ({"query": "ok", "filters": eq("lang", None)}, "filters"),
    ({"query": "ok", "filters": eq("", "pt")}, "filters"),
    ({"query": "ok", "filters": eq("category", 5)}, "filters"),
    ({"query": "ok", "filters": within("source_prefix", "a", "b")}, "filters"),
    ({"query": "ok", "filters": both()}, "filters"),
    ({"query": "ok", "filters": either(eq("lang", "pt"), eq("year", 1))}, "filters"),
    ({"query": "ok", "filters": either(both(eq("a", 1), eq("b", 1)), both(eq("a", 2), eq("b", 2)))}, "filters"),
    ({"query": "ok", "filters": both(*(eq(f"k{i}", 1) for i in range(11)))}, "filters"),
    ({"query": "ok", "filters": within("k", *range(101))}, "filters"),
    ({"query": "ok", "filters": either(within("k", *range(60)), within("k", *range(60, 120)))}, "filters"),
    ({"query": "ok", "filters": []}, "filters"),
    ({"query": "ok", "max_num_results": 0}, "max_num_results"),
    ({"query": "ok", "max_num_results": 51}, "max_num_results"),
    ({"query": "ok", "max_num_results": "5"}, "max_num_results"),
    ({"query": "ok", "ranking_options": {"score_threshold": 1.5}}, "ranking_options"),
    ({"query": "ok", "ranking_options": {"weight": 1}}, "ranking_options"),
    ({"query": "ok", "rewrite_query": "yes"}, "rewrite_query"),
    ({"query": "ok", "top_k": 5}, "top_k"),
    ({"query": " \u200b"}, "query"),
    ({"query": ["ok", ""]}, "query"),
    ({"query": []}, "query"),
    ({"query": ["ok"] * 9}, "query"),
    ({"query": 5}, "query"),
    ({}, "query"),
]


@pytest.mark.parametrize(("body", "field"), REFUSED)
def test_what_cannot_be_asked_is_refused_by_its_field(client, body, field):
    response = client.post(STORE, json=body)
    assert (response.status_code, response.json["field"]) == (400, field), response.json


def test_filters_nested_beyond_reason_are_refused(client):
    leaf, depth = '{"type": "eq", "key": "k", "value": 1}', 4000
    nested = '{"type": "and", "filters": [' * depth + leaf + "]}" * depth
    for filters, field in ((nested, {"filters", "body"}), (leaf, {None})):
        body = f'{{"query": "ok", "filters": {filters}}}'
        answered = client.post(STORE, data=body, content_type="application/json")
        assert answered.json.get("field") in field, answered.json
        assert answered.status_code == (200 if field == {None} else 400)


def test_the_client_of_openai_raises_what_was_refused(stores):
    with pytest.raises(openai.BadRequestError) as refused:
        stores.search(BASE, query="ok", filters=eq("lang", ["pt"]))
    assert refused.value.body["field"] == "filters"
    with pytest.raises(openai.NotFoundError) as refused:
        stores.search("nobody", query="ok")
    assert refused.value.body["sentinel"] == "NO_KB_MATCH"


def test_the_gate_decides_unless_a_least_score_is_given(stores):
    nonsense = "Qual é a capital da Mongólia?"
    assert stores.search(BASE, query=nonsense).data == []
    all_scores = [each.score for each in stores.search(BASE, query="loja", ranking_options={"score_threshold": 0}).data]
    assert len(all_scores) == 3
    cut = stores.search(BASE, query="loja", ranking_options={"score_threshold": all_scores[0]})
    assert [each.score for each in cut.data] == [score for score in all_scores if score >= all_scores[0]]


def test_a_number_is_no_truth_value():
    """Python takes 1 for True; documents do not."""

    def values(wanted):
        _, (search,) = decode_vector_store({"query": "ok", "filters": wanted}, read_settings({}))
        return search.filter.metadata

    assert values(both(within("level", 1, 2.0), within("level", True, 2))) == (("level", (2.0,)),)
    assert [type(value) for value in values(within("level", 1, True, 1.0))[0][1]] == [float, bool]
    assert values(both(eq("level", 1), eq("level", True))) == (("level", ()),)


def test_switched_off_it_is_an_empty_page_that_says_so(tmp_path):
    opened = OneMachine(tmp_path, settings={"ENABLE_KNOWLEDGE_BASE": "false"})
    answered = Client(application(opened.runtime)).post(STORE, data=b"anything")
    opened.runtime.close()
    assert answered.status_code == 200
    assert answered.json["data"] == []
    assert (answered.json["match"], answered.json["sentinel"]) == (False, "NO_KB_MATCH")
    assert answered.json["gate"]["decision"] == "disabled"
