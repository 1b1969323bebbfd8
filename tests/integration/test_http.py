"""The HTTP contract at its edge: every bad request is a 4xx that names the field, before anything is embedded."""

import io
import json

import pytest
from werkzeug.test import Client

from functions.local.app import application
from tests.integration.one_machine import BASE, OneMachine, content
from tests.integration.test_search import CountingEmbedder

SEARCH = f"/v1/bases/{BASE}/search"
DOCUMENTS = f"/v1/bases/{BASE}/documents"
LONG = "a" * 4001
DEEP = "[" * 100_000


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    opened = OneMachine(tmp_path_factory.mktemp("http"), embedder=CountingEmbedder())
    opened.runtime.manage.upload(BASE, "um.md", content("um", 1, 3), "")
    opened.settle()
    yield opened
    opened.runtime.close()


@pytest.fixture(scope="module")
def client(machine):
    return Client(application(machine.runtime))


BODIES = [
    ({"query": ""}, "query"),
    ({"query": "   \n\t"}, "query"),
    ({"query": "\u200b\u2060"}, "query"),
    ({"query": "\u00ad\x00"}, "query"),
    ({}, "query"),
    ({"query": None}, "query"),
    ({"query": 42}, "query"),
    ({"query": True}, "query"),
    ({"query": ["a"]}, "query"),
    ({"query": {"a": 1}}, "query"),
    ({"query": LONG}, "query"),
    ({"query": "ok", "top_k": 0}, "top_k"),
    ({"query": "ok", "top_k": -1}, "top_k"),
    ({"query": "ok", "top_k": 51}, "top_k"),
    ({"query": "ok", "top_k": 100_000}, "top_k"),
    ({"query": "ok", "top_k": 10**30}, "top_k"),
    ({"query": "ok", "top_k": 1.5}, "top_k"),
    ({"query": "ok", "top_k": "5"}, "top_k"),
    ({"query": "ok", "top_k": "5; DROP TABLE"}, "top_k"),
    ({"query": "ok", "top_k": True}, "top_k"),
    ({"query": "ok", "mode": "magic"}, "mode"),
    ({"query": "ok", "mode": None}, "mode"),
    ({"query": "ok", "threshold": "high"}, "threshold"),
    ({"query": "ok", "threshold": "NaN"}, "threshold"),
    ({"query": "ok", "threshold": True}, "threshold"),
    ({"query": "ok", "threshold": []}, "threshold"),
    ({"query": "ok", "score_threshold": "NaN"}, "score_threshold"),
    ({"query": "ok", "fusion": "best"}, "fusion"),
    ({"query": "ok", "rerank": "yes"}, "rerank"),
    ({"query": "ok", "filter": "a"}, "filter"),
    ({"query": "ok", "filter": []}, "filter"),
    ({"query": "ok", "filter": {"source_prefix": 5}}, "filter.source_prefix"),
    ({"query": "ok", "filter": {"source_prefix": ["a", "b"]}}, "filter.source_prefix"),
    ({"query": "ok", "filter": {"category": 5}}, "filter.category"),
    ({"query": "ok", "filter": {"k": {"nested": 1}}}, "filter"),
    ({"query": "ok", "filter": {"k": None}}, "filter"),
    ({"query": "ok", "filter": {str(i): 1 for i in range(11)}}, "filter"),
    ({"query": "ok", "filter": {"k": list(range(101))}}, "filter"),
    ([], "body"),
    ("text", "body"),
    (None, "body"),
]


@pytest.mark.parametrize(("body", "field"), BODIES)
def test_a_bad_body_is_refused_by_its_field_before_anything_is_embedded(machine, client, body, field):
    before = machine.embedder.asked
    response = client.post(SEARCH, data=json.dumps(body), content_type="application/json")
    assert response.status_code == 400
    assert response.mimetype == "application/problem+json"
    assert response.json["field"] == field
    assert response.json["detail"]
    assert machine.embedder.asked == before


RAW = [
    ("POST", SEARCH, b"{bad json", "application/json", 400),
    ("POST", SEARCH, b"", "application/json", 400),
    ("POST", SEARCH, b'{"query": "ok", "threshold": NaN}', "application/json", 400),
    ("POST", SEARCH, b'{"query": "ok", "threshold": Infinity}', "application/json", 400),
    ("POST", SEARCH, b'{"query": "\xff\xfe"}', "application/json", 400),
    ("POST", SEARCH, b'{"query": "\\ud800"}', "application/json", 400),
    ("POST", SEARCH, DEEP.encode(), "application/json", 400),
    ("POST", SEARCH, b'{"query": "ok"}', "text/plain", 415),
    ("POST", SEARCH, b'{"query": "ok"}', "", 415),
    ("POST", SEARCH, b"query=ok", "application/x-www-form-urlencoded", 415),
    ("POST", SEARCH, b'{"query": "' + b"a" * 300_000 + b'"}', "application/json", 413),
    ("GET", SEARCH, None, "", 405),
    ("PUT", SEARCH, b"{}", "application/json", 405),
    ("POST", "/v1/bases//search", b'{"query": "ok"}', "application/json", 404),
    ("POST", "/v1/bases/UPPER/search", b'{"query": "ok"}', "application/json", 400),
    ("POST", "/v1/bases/-x/search", b'{"query": "ok"}', "application/json", 400),
    ("POST", "/v1/bases/" + "a" * 64 + "/search", b'{"query": "ok"}', "application/json", 400),
    ("POST", "/v1/bases/a%00b/search", b'{"query": "ok"}', "application/json", 400),
    ("POST", "/v1/bases/nobody/search", b'{"query": "ok"}', "application/json", 404),
    ("GET", "/v1/bases/nobody/documents", None, "", 404),
    ("GET", "/v1/bases/nobody/jobs", None, "", 404),
    ("GET", "/v2/bases", None, "", 404),
    ("GET", "/", None, "", 404),
    ("GET", f"{DOCUMENTS}?limit=0", None, "", 400),
    ("GET", f"{DOCUMENTS}?limit=many", None, "", 400),
    ("GET", f"{DOCUMENTS}?limit=1001", None, "", 400),
    ("GET", f"{DOCUMENTS}?limit=%C2%B2", None, "", 400),
    ("GET", f"{DOCUMENTS}?cursor=nonsense", None, "", 400),
    ("GET", f"/v1/bases/{BASE}/jobs?cursor=WyJhIiwiYiJd", None, "", 400),
    ("GET", f"/v1/bases/{BASE}/jobs?state=done", None, "", 400),
    ("GET", f"/v1/bases/{BASE}/jobs/none", None, "", 404),
    ("DELETE", f"{DOCUMENTS}/none", None, "", 404),
    ("POST", DOCUMENTS, b"text", "text/plain", 400),
    ("POST", DOCUMENTS, b"", "multipart/form-data; boundary=x", 400),
    ("POST", "/v1/bases/UPPER/documents", b"text", "text/plain", 400),
]


@pytest.mark.parametrize(("method", "path", "data", "kind", "status"), RAW)
def test_a_bad_request_is_a_problem_never_a_trace(machine, client, method, path, data, kind, status):
    before = machine.embedder.asked
    response = client.open(path, method=method, data=data, headers={"Content-Type": kind} if kind else {})
    assert response.status_code == status
    assert response.mimetype == "application/problem+json"
    assert {"type", "title", "status", "code", "detail"} <= response.json.keys()
    assert response.headers["X-Request-Id"]
    assert machine.embedder.asked == before


@pytest.mark.parametrize(
    "source", ["/etc/passwd", "../x.md", "a/../b.md", "a//b.md", "", "a\tb.md", "x" * 1025, "~$a.docx"]
)
def test_a_source_that_cannot_be_is_refused(client, source):
    data = {"file": (io.BytesIO(b"text"), "a.md"), "source": source} if source else {"file": (io.BytesIO(b"t"), "")}
    response = client.post(DOCUMENTS, data=data)
    assert response.status_code == 400


def test_an_answer_has_the_shape_of_the_contract(client):
    answer = client.post(SEARCH, json={"query": "docum part1of3"}).json
    wanted = (
        "match sentinel passages related gate mode degraded cache fingerprint epoch usage timings_ms took_ms warnings"
    )
    assert set(wanted.split()) <= answer.keys()
    assert set(answer["timings_ms"]) == {"epoch", "embed", "index", "rank", "total"}
    assert {"decision", "method", "threshold", "value", "dense", "coverage", "nearest"} <= answer["gate"].keys()
    passage = client.post(SEARCH, json={"query": "docum part1of3", "threshold": None}).json["passages"][0]
    fields = (
        "id text score dense_score lexical_score terms base source title headings page lines citation document_id "
        "generation"
    )
    assert set(fields.split()) <= passage.keys()
    assert "stale" not in passage


def test_upload_list_and_delete(machine, client):
    accepted = client.post(DOCUMENTS, data={"file": (io.BytesIO(content("dois", 1, 2)), "dois.md")})
    assert (accepted.status_code, accepted.json["source"]) == (202, "dois.md")
    job = client.get(f"/v1/bases/{BASE}/jobs/{accepted.json['job_id']}").json
    assert job["state"] == "queued"
    machine.settle()
    job = client.get(f"/v1/bases/{BASE}/jobs/{accepted.json['job_id']}").json
    assert (job["state"], job["document_id"]) == ("indexed", accepted.json["document_id"])
    first = client.get(f"{DOCUMENTS}?limit=1").json
    second = client.get(f"{DOCUMENTS}?limit=1&cursor={first['next_cursor']}").json
    assert [row["source"] for row in (*first["documents"], *second["documents"])] == ["dois.md", "um.md"]
    jobs = client.get(f"/v1/bases/{BASE}/jobs?limit=1").json
    assert jobs["jobs"][0]["source"] == "dois.md"
    removed = client.delete(f"{DOCUMENTS}/{accepted.json['document_id']}")
    assert (removed.status_code, removed.json["state"]) == (202, "queued")
    machine.settle()
    assert client.get(f"/v1/bases/{BASE}/jobs/{removed.json['job_id']}").json["state"] == "deleted"
    assert [row["source"] for row in client.get(DOCUMENTS).json["documents"]] == ["um.md"]


def test_a_signed_upload_stores_one_file_once(machine, client):
    asked = {"source": "tres.md", "content_type": "text/markdown", "size": 5000}
    signed = client.post(f"/v1/bases/{BASE}/uploads", json=asked).json
    assert signed["method"] == "PUT"
    path = signed["url"].removeprefix("http://localhost")
    stored = client.put(path, data=content("tres", 1, 1), headers=signed["headers"])
    assert (stored.status_code, stored.json["source"]) == (202, "tres.md")
    assert client.put(path, data=b"again", headers=signed["headers"]).status_code == 403
    machine.settle()
    assert machine.seen("tres") == (1, 1)
    machine.runtime.manage.delete(BASE, "tres.md")
    machine.settle()


def test_a_signed_upload_is_refused_when_it_is_forged_too_large_or_too_old(machine, client):
    asked = {"source": "tres.md", "content_type": "text/markdown", "size": 10}
    url = client.post(f"/v1/bases/{BASE}/uploads", json=asked).json["url"].removeprefix("http://localhost")
    assert client.put(url[:-1] + ("0" if url[-1] != "0" else "1"), data=b"x").status_code == 403
    assert client.put(url, data=b"x" * 11, headers={"Content-Type": "text/markdown"}).status_code == 413
    url = client.post(f"/v1/bases/{BASE}/uploads", json=asked).json["url"].removeprefix("http://localhost")
    machine.clock.advance(15 * 60)
    assert client.put(url, data=b"x").status_code == 403
    assert client.put("/v1/uploads/nonsense", data=b"x").status_code == 403


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"content_type": "text/plain", "size": 1}, 400, "source"),
        ({"source": "a.md", "content_type": 5, "size": 1}, 400, "content_type"),
        ({"source": "a.md", "content_type": "text/plain", "size": "1"}, 400, "size"),
        ({"source": "a.md", "content_type": "text/plain", "size": -1}, 400, "size"),
        ({"source": "../a.md", "content_type": "text/plain", "size": 1}, 400, "source"),
        ({"source": "a.md", "content_type": "text/plain", "size": 2**40}, 413, None),
    ],
)
def test_an_upload_that_cannot_be_is_not_signed(client, body, status, field):
    response = client.post(f"/v1/bases/{BASE}/uploads", json=body)
    assert response.status_code == status
    assert response.json.get("field") == field
