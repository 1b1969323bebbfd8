"""The description that each function publishes of itself: only routes that exist, and every answer as it is written."""

import io
import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import BaseModel
from werkzeug.test import Client
from werkzeug.wrappers import Request

from common.boundary import Route, Router, answer
from common.cli.leak_routes import PUBLIC, as_route
from common.domain.errors import Refused
from common.openapi import EVERYWHERE, PROBLEM, Problem, describe, problems_of
from common.reading import document_parser
from functions.local.app import application
from functions.manage.handle import router as manage_router
from functions.manage.operations import OPERATIONS as MANAGE
from functions.manage.operations import SIGNED_UPLOADS
from functions.query.handle import router as query_router
from functions.query.operations import OPERATIONS as QUERY
from tests.integration.one_machine import BASE, OneMachine, content

ALL = {**QUERY, **MANAGE, **SIGNED_UPLOADS, **EVERYWHERE}
OTHER = "globex"
NOTES = (
    "---\ncategory: guides\nid: g-1\ntags: [a]\nlevel: 3\n---\n\n# Notes\n\nSee [um](um.md) and [nothing](none.md).\n"
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    opened = OneMachine(tmp_path_factory.mktemp("openapi"), parser=document_parser())
    opened.runtime.manage.upload(BASE, "um.md", content("um", 1, 2), "")
    opened.runtime.manage.upload(BASE, "guides/notes.md", NOTES.encode(), "")
    opened.runtime.manage.upload(BASE, "empty.md", b"  ", "")
    opened.runtime.manage.upload(OTHER, "um.md", content("um", 1, 1), "")
    opened.settle()
    yield opened
    opened.runtime.close()


@pytest.fixture(scope="module")
def client(machine):
    return Client(application(machine.runtime))


@pytest.fixture(scope="module")
def routers(machine):
    return {"query": query_router(machine.runtime), "manage": manage_router(machine.runtime)}


def ask(router, path, **headers):
    return router(Request.from_values(path, base_url="http://localhost", headers=headers))


def published(document):
    return {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}


@pytest.mark.parametrize(("name", "operations"), [("query", QUERY), ("manage", MANAGE)])
def test_every_route_is_written_about_and_no_other_is(routers, name, operations):
    """A route without an entry in `operations.py` makes the description fail, and one without a route would lie."""
    routes = routers[name].routes
    assert set(routes) == set(operations)
    document = json.loads(ask(routers[name], "/openapi.json").get_data())
    assert published(document) == {as_route(*route) for route in routes} | set(PUBLIC)
    assert document["info"]["title"] == f"Fichário: {name}"


def test_a_route_that_nothing_is_written_about_has_no_description():
    with pytest.raises(KeyError):
        describe("x", [("GET", "/v1/nothing")], QUERY)


def test_one_machine_publishes_all_functions_as_one(client, routers):
    document = client.get("/openapi.json").json
    routes = [route for router in routers.values() for route in router.routes]
    assert published(document) == {as_route(*route) for route in (*routes, *SIGNED_UPLOADS)} | set(PUBLIC)
    for router in routers.values():
        for name, schema in router.description["components"]["schemas"].items():
            assert document["components"]["schemas"][name] == schema, name


@pytest.mark.parametrize("name", ["query", "manage", "machine"])
def test_the_description_is_valid(client, routers, name):
    document = client.get("/openapi.json").json if name == "machine" else dict(routers[name].description)
    OpenAPIV31SpecValidator(document).validate()
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    used = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert used == set(document["components"]["schemas"])


def test_anybody_may_read_it_and_only_read(machine):
    def nobody(_headers):
        raise Refused(401, "NO_IDENTITY", "Say who you are.")

    for router in (query_router, manage_router):
        made = router(replace(machine.runtime, authenticate=nobody))
        assert ask(made, "/openapi.json", Host="kb.example").status_code == 200
        assert ask(made, "/v1/bases", Host="kb.example").status_code == 401
        posted = made(Request.from_values("/openapi.json", method="POST", base_url="http://localhost"))
        assert posted.status_code == 401


def test_a_router_that_is_not_described_keeps_its_own_route():
    own = Route("GET", "/openapi.json", lambda _: answer({"mine": True}), None)
    assert ask(Router([own], lambda _: None, dict), "/openapi.json").json == {"mine": True}


def test_its_models_are_imported_only_for_whom_asks():
    script = (
        "import sys, functions.query.handle, functions.manage.handle, functions.local.app\n"
        "print([m for m in ('common.openapi', 'functions.query.schemas', 'functions.manage.schemas') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def form():
    return {"data": {"file": (io.BytesIO(content("dois", 1, 1)), "dois.md")}}


def json_body(**body):
    return {"json": body}


QUESTION = {"query": "docum part1of2", "threshold": None}
B = f"/v1/bases/{BASE}"
ASKED = {
    ("POST", "/v1/bases/<base>/search"): [
        (f"{B}/search", json_body(**QUESTION), 200),
        (f"{B}/search", json_body(**QUESTION), 200),
        (f"{B}/search", json_body(query="nada disso existe aqui"), 200),
        (f"{B}/search", json_body(query="docum", mode="lexical", rerank="mmr", fusion="rrf"), 200),
        (f"{B}/search", json_body(query="docum", threshold=0.1), 200),
        (f"{B}/search", json_body(query=""), 400),
        (f"{B}/search", {"data": b"x"}, 415),
        (f"{B}/search", {"data": b"x" * 300_000, "content_type": "application/json"}, 413),
        ("/v1/bases/nobody/search", json_body(query="x"), 404),
        ("/v1/bases/UPPER/search", json_body(query="x"), 400),
    ],
    ("POST", "/v1/search"): [
        ("/v1/search", json_body(**QUESTION, bases=[{"base": BASE}, {"base": OTHER, "weight": 2}]), 200),
        ("/v1/search", json_body(query="x", bases=[{"base": "nobody"}]), 404),
    ],
    ("POST", "/v1/bases/<base>/context"): [
        (f"{B}/context", json_body(**QUESTION, max_tokens=200), 200),
        (f"{B}/context", json_body(query="nada disso existe aqui", max_characters=500), 200),
        (f"{B}/context", json_body(**QUESTION), 400),
    ],
    ("POST", "/v1/context"): [
        ("/v1/context", json_body(**QUESTION, bases=[{"base": BASE}, {"base": OTHER}]), 200),
        ("/v1/context", json_body(query="x", bases=[{"base": "nobody"}]), 404),
    ],
    ("POST", "/v1/bases/<base>/prompt"): [
        (f"{B}/prompt", json_body(**QUESTION, max_characters=2000), 200),
        (f"{B}/prompt", json_body(**QUESTION, max_characters=0), 400),
    ],
    ("POST", "/v1/vector_stores/<base>/search"): [
        (f"/v1/vector_stores/{BASE}/search", json_body(query="docum", ranking_options={"score_threshold": 0}), 200),
        (f"/v1/vector_stores/{BASE}/search", json_body(query="x", max_num_results=0), 400),
    ],
    ("POST", "/mcp"): [
        ("/mcp", json_body(jsonrpc="2.0", id=1, method="tools/list"), 200),
        ("/mcp", json_body(jsonrpc="2.0", id=1, method="tools/call", params={"name": "list"}), 200),
        ("/mcp", json_body(jsonrpc="2.0", method="notifications/initialized"), 202),
        ("/mcp", {"json": [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]}, 200),
        ("/mcp", json_body(jsonrpc="1.0", id=1, method="ping"), 400),
        ("/mcp", {**json_body(jsonrpc="2.0", id=1, method="ping"), "headers": {"Accept": "text/html"}}, 406),
        ("/mcp", {"data": b"x"}, 415),
    ],
    ("GET", "/v1/bases"): [("/v1/bases", {}, 200)],
    ("GET", "/v1/bases/<base>/usage"): [(f"{B}/usage", {}, 200), ("/v1/bases/nobody/usage", {}, 404)],
    ("GET", "/v1/bases/<base>/card"): [(f"{B}/card", {}, 200), (f"{B}/card?max_tokens=0", {}, 400)],
    ("GET", "/v1/bases/<base>/toc"): [(f"{B}/toc?limit=1", {}, 200), (f"{B}/toc?limit=0", {}, 400)],
    ("GET", "/v1/bases/<base>/documents/<source:source>"): [
        (f"{B}/documents/guides/notes.md", {}, 200),
        (f"{B}/documents/um.md:1", {}, 200),
        (f"{B}/documents/none.md", {}, 404),
        (f"{B}/documents/um.md?offset=9999999", {}, 400),
    ],
    ("GET", "/v1/bases/<base>/documents/<source:source>/links"): [
        (f"{B}/documents/guides/notes.md/links", {}, 200),
        (f"{B}/documents/none.md/links", {}, 404),
    ],
    ("POST", "/v1/bases/<base>/documents"): [
        (f"{B}/documents", form, 202),
        (f"{B}/documents", {"data": content("um", 1, 2), "headers": {"X-Source": "um.md"}}, 200),
        (f"{B}/documents", {"data": b"x"}, 400),
    ],
    ("POST", "/v1/bases/<base>/uploads"): [
        (f"{B}/uploads", json_body(source="x.md", content_type="text/markdown", size=9), 200),
        (f"{B}/uploads", json_body(source="x.md", size=-1), 400),
    ],
    ("GET", "/v1/bases/<base>/documents"): [
        (f"{B}/documents", {}, 200),
        (f"{B}/documents?limit=1", {}, 200),
        ("/v1/bases/nobody/documents", {}, 404),
    ],
    ("GET", "/v1/bases/<base>/jobs"): [
        (f"{B}/jobs", {}, 200),
        (f"{B}/jobs?state=indexed&limit=1", {}, 200),
        (f"{B}/jobs?state=x", {}, 400),
    ],
    ("GET", "/v1/bases/<base>/jobs/<job_id>"): [(f"{B}/jobs/none", {}, 404)],
    ("POST", "/v1/bases/<base>/reconcile"): [
        (f"{B}/reconcile", {}, 200),
        (f"{B}/reconcile", json_body(repair=True), 200),
        (f"{B}/reconcile", json_body(repair=1), 400),
    ],
    ("POST", "/v1/reconcile"): [
        ("/v1/reconcile", {}, 200),
        ("/v1/reconcile", json_body(repair=True), 200),
        ("/v1/reconcile", json_body(yes="no"), 400),
    ],
    ("POST", "/v1/bases/<base>/calibrate"): [(f"{B}/calibrate", {}, 200)],
    ("GET", "/v1/bases/<base>/gaps"): [
        (f"{B}/gaps", {}, 200),
        (f"{B}/gaps?limit=1", {}, 200),
        (f"{B}/gaps?limit=0", {}, 400),
        ("/v1/bases/nobody/gaps", {}, 404),
    ],
    ("GET", "/v1/bases/<base>/questions"): [
        (f"{B}/questions", {}, 200),
        ("/v1/bases/nobody/questions", {}, 404),
    ],
    ("PUT", "/v1/bases/<base>/questions"): [
        (
            f"{B}/questions",
            {"json": [{"question": "Quem?", "source": "um.md"}, {"question": "x", "source": None}]},
            200,
        ),
        (f"{B}/questions", {"json": []}, 200),
        (f"{B}/questions", {"json": [{"question": "x"}]}, 400),
        (f"{B}/questions", json_body(question="x", source=None), 400),
        (f"{B}/questions", {"data": b"x"}, 415),
        (f"{B}/questions", {"data": b"x" * 2_200_000, "content_type": "application/json"}, 413),
        ("/v1/bases/nobody/questions", {"json": []}, 404),
    ],
    ("POST", "/v1/bases/<base>/reindex"): [
        (f"{B}/reindex", {}, 409),
        (f"{B}/reindex", json_body(model="none-such"), 409),
        (f"{B}/reindex", json_body(model=1), 400),
        (f"{B}/reindex", json_body(model="x", force=True), 400),
        ("/v1/bases/nobody/reindex", {}, 404),
    ],
    ("GET", "/v1/bases/<base>/reindex"): [(f"{B}/reindex", {}, 404)],
    ("GET", "/v1/bases/<base>/reindex/plan"): [
        (f"{B}/reindex/plan", {}, 409),
        (f"{B}/reindex/plan?model=none-such", {}, 409),
        (f"{B}/reindex/plan?other=1", {}, 400),
        ("/v1/bases/nobody/reindex/plan", {}, 404),
    ],
    ("GET", "/v1/bases/<base>/reindex/<reindex_id>"): [(f"{B}/reindex/none", {}, 404)],
    **{
        ("POST", f"/v1/bases/<base>/reindex/<reindex_id>/{command}"): [(f"{B}/reindex/none/{command}", {}, 404)]
        for command in ("switch", "rollback", "cancel", "retire")
    },
    ("PUT", "/v1/uploads/<token>"): [("/v1/uploads/none", {"data": b"x"}, 403)],
    ("DELETE", "/v1/bases/<base>/documents/<source:source>"): [
        (f"{B}/documents/dois.md", {}, 202),
        (f"{B}/documents/none.md", {}, 404),
    ],
    ("DELETE", "/v1/bases/<base>"): [(f"/v1/bases/{OTHER}", {}, 202), ("/v1/bases/nobody", {}, 404)],
    **{(method, rule): [(rule, {}, 200)] for method, rule in EVERYWHERE},
}


def check(route, response):
    """The answer is one of those written about its route, with every field that it has and no other."""
    operation, status = ALL[route], response.status_code
    if response.mimetype == PROBLEM:
        assert status in problems_of(route[1], operation), (route, response.json)
        Problem.model_validate_json(response.get_data(), strict=True)
        return
    body = operation.answers[status]
    if body is None:
        assert response.get_data() == b""
        return
    assert response.mimetype == body.media
    if isinstance(body.of, type) and issubclass(body.of, BaseModel):
        body.of.model_validate_json(response.get_data(), strict=True, extra="forbid")


def test_every_route_is_asked():
    assert set(ASKED) == set(ALL)


@pytest.mark.parametrize("route", list(ASKED), ids=" ".join)
def test_answers_are_as_they_are_written(client, route):
    for path, sent, status in ASKED[route]:
        response = client.open(path, method=route[0], **(sent() if callable(sent) else sent))
        assert response.status_code == status, response.get_data(as_text=True)
        check(route, response)


def test_a_job_and_a_signed_upload_are_as_they_are_written(machine, client):
    signed = client.post(f"{B}/uploads", json={"source": "s.md", "content_type": "text/markdown", "size": 4}).json
    stored = client.put(signed["url"], data=b"text", headers=signed["headers"])
    assert stored.status_code == 202
    check(("PUT", "/v1/uploads/<token>"), stored)
    for _ in range(2):
        job = client.get(f"{B}/jobs/{stored.json['job_id']}")
        assert job.status_code == 200
        check(("GET", "/v1/bases/<base>/jobs/<job_id>"), job)
        machine.settle()


def test_a_migration_is_as_it_is_written(tmp_path):
    """Words that meet otherwise are another space: no second model is needed for it."""
    moving = OneMachine(tmp_path, settings={"KB_NORMALIZE": "stem"})
    try:
        moving.runtime.manage.upload(BASE, "um.md", content("um", 1, 2), "")
        moving.settle()
        moving.settings = {"KB_NORMALIZE": "fold", "KB_REINDEX_TOLERANCE": "1"}
        moving.restart()
        one, own = Client(application(moving.runtime)), "/v1/bases/<base>/reindex"
        asked = [
            ("GET", f"{own}/plan", f"{B}/reindex/plan", 200),
            ("POST", own, f"{B}/reindex", 202),
            ("GET", own, f"{B}/reindex", 200),
            ("POST", f"{own}/<reindex_id>/cancel", f"{B}/reindex/last/cancel", 200),
            ("POST", own, f"{B}/reindex", 202),
            ("POST", own, f"{B}/reindex", 409),
            ("POST", f"{own}/<reindex_id>/switch", f"{B}/reindex/last/switch", 409),
            ("POST", f"{own}/<reindex_id>/switch", f"{B}/reindex/last/switch", 200),
            ("POST", f"{own}/<reindex_id>/rollback", f"{B}/reindex/last/rollback", 200),
            ("POST", f"{own}/<reindex_id>/retire", f"{B}/reindex/last/retire", 200),
            ("GET", f"{own}/<reindex_id>", f"{B}/reindex/last", 200),
        ]
        for method, rule, path, status in asked:
            response = one.open(path, method=method)
            assert response.status_code == status, (method, path, response.json)
            check((method, rule), response)
            if status == 409 and path.endswith("switch"):
                moving.settle()
    finally:
        moving.runtime.close()


def test_a_card_that_has_not_changed_is_as_it_is_written(client):
    card = client.get(f"{B}/card")
    again = client.get(f"{B}/card", headers={"If-None-Match": card.headers["ETag"]})
    assert again.status_code == 304
    assert QUERY["GET", "/v1/bases/<base>/card"].answers[304] is None
