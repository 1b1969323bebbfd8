"""KB_EMBED_PROVIDER=none from the command line, on a machine that has no model folder and never gets one."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from tests.e2e.conftest import ROOT, Fichario
from tests.integration.one_machine import content

TRAVEL = ROOT / "tests/corpus/travel"
ANSWERED = "qual o prazo do reembolso"
UNANSWERED = "fotossíntese clorofila mitocôndria"


@pytest.fixture
def fichario(tmp_path):
    nowhere = str(tmp_path / "no-models")
    return Fichario(tmp_path / "data", {"KB_EMBED_PROVIDER": "none", "KB_MODEL_DIR": nowhere})


@pytest.fixture
def filled(fichario):
    done = fichario.json("ingest", TRAVEL, "--base", "viagens")
    assert done["indexed"] > 10
    assert done["failed"] == 0
    return fichario


def test_words_alone_are_a_whole_product(filled):
    answer = filled.json("search", ANSWERED, "--base", "viagens")
    assert (answer["match"], answer["mode"], answer["degraded"]) == (True, "lexical", False)
    assert (answer["gate"]["method"], answer["gate"]["dense"]) == ("coverage", None)
    assert answer["passages"]
    assert answer["warnings"] == []
    refused = filled.run("search", UNANSWERED, "--base", "viagens", "--json", "-q")
    assert refused.returncode == 3
    gate = json.loads(refused.stdout)["gate"]
    assert (gate["decision"], gate["method"], gate["threshold"]) == ("no_match", "coverage", 0.5)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
@pytest.mark.parametrize("threshold", ["auto", "0.8", "off"])
def test_every_mode_and_threshold_is_answered(filled, mode, threshold):
    answer = filled.json("search", ANSWERED, "--base", "viagens", "--mode", mode, "--threshold", threshold)
    assert (answer["match"], answer["mode"], answer["degraded"]) == (True, "lexical", False)
    assert answer["gate"]["method"] == ("off" if threshold == "off" else "coverage")
    assert bool(answer["warnings"]) == (mode == "dense")


def test_a_second_ingest_changes_nothing_and_a_changed_file_is_read_again(fichario, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "um.md").write_bytes(content("um", 1, 3))
    assert fichario.json("ingest", folder, "--base", "acme")["embedded_passages"] == 3
    assert fichario.json("ingest", folder, "--base", "acme")["unchanged"] == 1
    (folder / "um.md").write_bytes(content("um", 1, 3) + b"\n\n" + content("dois", 7, 1))
    done = fichario.json("ingest", folder, "--base", "acme")
    assert (done["indexed"], done["passages"], done["embedded_passages"]) == (1, 4, 1)
    assert "version7" in fichario.json("search", "docdois version7", "--base", "acme")["passages"][0]["text"]


def test_nothing_is_counted_as_embedded_and_what_is_told_is_told_plainly(filled):
    usage = filled.json("usage", "--base", "viagens")
    assert all(count["tokens"] == 0 for count in usage["embeddings"].values())
    base = filled.json("bases")["bases"][0]
    assert (base["mode"], base["model"]) == ("lexical", "none")
    gate = filled.json("calibrate", "--base", "viagens")
    assert (gate["fitted"], gate["cut"]) == (False, 0.5)
    # What it was looked at with: it is due again when the base has doubled, not at once.
    assert gate["passages"] == base["passages"]
    assert "nothing to fit" in filled.run("calibrate", "--base", "viagens").stdout
    assert filled.json("doctor", "--port", "0")["ok"]
    assert filled.run("models", "verify").returncode == 0
    assert "needs none" in filled.run("models", "list").stdout
    assert "reembolso" in filled.run("context", ANSWERED, "--base", "viagens", "--max-tokens", 800).stdout.lower()
    assert not (filled.data.parent / "no-models").exists()


def test_the_server_is_ready_and_answers(filled, serve):
    server = serve()
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=60)
    connection.request("GET", "/readyz")
    response = connection.getresponse()
    assert (response.status, json.loads(response.read())["model"]) == (200, "none")
    connection.close()
    answer = filled.json("search", ANSWERED, "--base", "viagens")
    assert (answer["match"], answer["mode"]) == (True, "lexical")
