"""The running server: its folder is its answers, also for what happened while it was down."""

import http.client
import json
import shutil
import threading
import time
from urllib.parse import urlsplit

import jwt

from tests.e2e.conftest import MODELS
from tests.integration.one_machine import content

DEADLINE = 60


def call(address, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    data = None if body is None else json.dumps(body)
    connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, json.loads(text), response.headers


def eventually(look):
    """What `look` answers once it is true."""
    until = time.monotonic() + DEADLINE
    pause = 0.05
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        threading.Event().wait(pause)
    raise AssertionError("it never came to be")


def sources(address):
    status, body, _ = call(address, "GET", "/v1/bases/acme/documents")
    return {row["source"]: row["state"] for row in body["documents"]} if status == 200 else {}


def test_the_folder_is_what_answers(fichario, serve):
    server = serve()
    folder = fichario.data / "bucket" / "acme"
    folder.mkdir(parents=True)
    (folder / "um.md").write_bytes(content("um", 1, 3))
    eventually(lambda: sources(server.address) == {"um.md": "indexed"})

    (folder / "um.md").write_bytes(content("um", 2, 2))
    ask = {"query": "docum", "threshold": None, "mode": "lexical", "top_k": 50}
    search = "/v1/bases/acme/search"
    eventually(lambda: "version2" in json.dumps(call(server.address, "POST", search, ask)[1]))
    assert "version1" not in json.dumps(call(server.address, "POST", search, ask)[1])

    (folder / "um.md").rename(folder / "dois.md")
    eventually(lambda: sources(server.address) == {"dois.md": "indexed"})
    jobs = call(server.address, "GET", "/v1/bases/acme/jobs")[1]["jobs"]
    assert {job["state"] for job in jobs} == {"indexed", "deleted"}
    assert server.stop() == 0

    (folder / "dois.md").unlink()
    (folder / "tres.md").write_bytes(content("tres", 3, 2))
    again = serve()
    eventually(lambda: sources(again.address) == {"tres.md": "indexed"})
    assert again.stop() == 0


def test_commands_go_through_a_running_server_and_a_second_one_is_refused(fichario, serve, tmp_path):
    server = serve()
    (tmp_path / "a b+c%25.md").write_bytes(content("um", 1, 2))
    summary = fichario.json("ingest", tmp_path / "a b+c%25.md", "--base", "acme")
    assert summary["indexed"] == 1
    assert sources(server.address) == {"a b+c%25.md": "indexed"}
    assert fichario.json("search", "docum", "--base", "acme", "--threshold", "off")["passages"]
    second = fichario.run("up", "--port", "0")
    assert (second.returncode, "in use" in second.stderr) == (2, True)
    assert fichario.json("delete", "a b+c%25.md", "--base", "acme")["state"] == "deleted"
    assert fichario.run("doctor").returncode == 0


def test_health_and_what_a_stranger_on_this_machine_may_not_do(serve):
    server = serve()
    assert call(server.address, "GET", "/healthz")[0] == 200
    assert call(server.address, "GET", "/readyz")[1]["status"] == "ready"
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        assert call(server.address, "GET", "/v1/bases", headers=headers)[0] == 403
    status, _, answered = call(server.address, "GET", "/v1/bases")
    assert (status, answered["Access-Control-Allow-Origin"]) == (200, None)
    assert answered["X-Request-Id"]


def test_a_changed_model_stops_the_start_with_both_hashes(fichario, tmp_path):
    copy = tmp_path / "models" / "e5-small-enpt"
    shutil.copytree(MODELS / "e5-small-enpt", copy)
    with (copy / "config.json").open("ab") as file:
        file.write(b" ")
    done = fichario.run("up", "--port", "0", KB_MODEL_DIR=str(copy.parent))
    assert done.returncode == 1
    assert done.stderr.count("sha256") == 1
    assert len([word for word in done.stderr.replace(".", " ").replace(",", " ").split() if len(word) == 64]) == 2
    assert fichario.run("doctor", KB_MODEL_DIR=str(copy.parent)).returncode == 1


def test_a_damaged_data_folder_is_reported_and_never_made_anew(fichario, tmp_path):
    (tmp_path / "a.md").write_bytes(content("um", 1, 1))
    fichario.json("ingest", tmp_path / "a.md", "--base", "acme")
    catalog = fichario.data / "catalog.sqlite"
    whole = catalog.read_bytes()
    for damaged in (b"not a database at all" * 100, None):
        for path in fichario.data.glob("catalog.sqlite*"):
            path.unlink()
        if damaged is not None:
            catalog.write_bytes(damaged)
        done = fichario.run("search", "docum", "--base", "acme")
        assert done.returncode == 1
        assert "Restore" in done.stderr
        assert (catalog.read_bytes() if catalog.exists() else None) == damaged
        assert fichario.run("doctor").returncode == 1
    catalog.write_bytes(whole)
    (fichario.data / "bucket" / ".fichario-bucket").unlink()
    done = fichario.run("search", "docum", "--base", "acme")
    assert (done.returncode, "bucket" in done.stderr) == (1, True)


def test_tokens_are_asked_for_when_they_are_configured(fichario, serve):
    secret = "s" * 40
    fichario.extra = {"KB_AUTH": "jwt", "KB_JWT_SECRET": secret}
    server = serve()
    assert call(server.address, "GET", "/v1/bases")[0] == 401
    assert call(server.address, "GET", "/no/such/route")[0] == 401
    token = jwt.encode({"base": "acme", "exp": int(time.time()) + 60}, secret, algorithm="HS256")
    mine = {"Authorization": f"Bearer {token}"}
    assert call(server.address, "GET", "/v1/bases", headers=mine)[0] == 200
    ask = {"query": "x"}
    assert call(server.address, "POST", "/v1/bases/other/search", ask, mine)[0] == 403
    assert call(server.address, "POST", "/v1/bases/acme/search", ask, mine)[0] == 404
    assert call(server.address, "DELETE", "/v1/bases/acme", headers=mine)[0] == 403
    assert fichario.json("bases") == {"bases": []}
