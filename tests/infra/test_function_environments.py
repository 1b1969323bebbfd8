"""Each function from its own extra alone, as cloudbuild/Dockerfile installs it: in an empty environment, from the lock,
cut off from every network while it runs. When one fails, an image would not start, or holds what it must not.
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.e2e.conftest import Fichario

ROOT = Path(__file__).parents[2]
MODELS = Path(os.environ.get("KB_MODEL_DIR", ROOT / ".models")).resolve()
MODEL = "e5-small-enpt"
FUNCTIONS = sorted(
    {"ingest", "query", "reindex", "manage"} & {path.parent.name for path in ROOT.glob("functions/*/main.py")}
)
TORCH = re.compile(r"torch|transformers|sentence-transformers|tensorflow|spacy|nvidia.*|fastembed|unstructured")
PARSERS = re.compile(r"lxml|pypdfium2|python-calamine|python-oxmsg|olefile|selectolax|striprtf|tree-sitter.*")
NOWHERE = "127.0.0.1:9"
CLOUD = {
    "KB_MODE": "cloud",
    "KB_BUCKET": "documents",
    "GOOGLE_CLOUD_PROJECT": "fichario-test",
    "QDRANT_URL": f"http://{NOWHERE}",
    "KB_EMBEDDING_MODEL": MODEL,
    "FIRESTORE_EMULATOR_HOST": NOWHERE,
    "PUBSUB_EMULATOR_HOST": NOWHERE,
    "STORAGE_EMULATOR_HOST": f"http://{NOWHERE}",
}
HEALTH = {"method": "GET", "path": "/healthz"}
READY = {"method": "GET", "path": "/readyz"}
DESCRIBED = {"method": "GET", "path": "/openapi.json"}
QUESTION = {"query": "A que horas parte a van do aeroporto de Salvador?", "top_k": 1}
DOCUMENT = (
    "# Traslados\n\nA van compartilhada sai do aeroporto de Salvador às 7:00 do primeiro dia e custa 220 reais.\n"
)


@dataclass
class Installed:
    """What one function runs from: a Python of its own, and its sources."""

    function: str
    python: Path
    sources: Path
    distributions: list[str] = field(default_factory=list)

    def run(self, *command, **environment):
        """Run with nothing but loopback: no other network exists where the command runs."""
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        more = [environment.pop("beside")] if "beside" in environment else []
        path = os.pathsep.join(map(str, [self.sources, *more]))
        given = {**kept, "KB_MODEL_DIR": str(MODELS), "HF_HUB_OFFLINE": "1", "PYTHONPATH": path, **environment}
        shut = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "alone"]
        done = subprocess.run(
            [*shut, str(self.python), *map(str, command)],
            env=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def asked(self, *requests, **environment):
        """The answers to these requests, in their order."""
        script = ROOT / "tests/infra/asking.py"
        return json.loads(self.run(script, self.function, self.sources, json.dumps(requests), **environment))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A function by its name, installed when first asked for."""
    made = {}

    def install(function):
        if function not in made:
            made[function] = _install(function, tmp_path_factory.mktemp(function))
        return made[function]

    return install


def _install(function, place):
    lock, python = place / "locked.txt", place / "environment/bin/python"
    tools = ROOT / "cloudbuild"
    lock.write_text(_out(sys.executable, tools / "locked.py", function), "utf-8")
    _out(sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable, place / "environment")
    _out(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", lock)
    _out(sys.executable, "-m", "uv", "pip", "check", "--quiet", "--python", python)
    _out(sys.executable, tools / "sources.py", function, place / "app")
    listed = json.loads(_out(sys.executable, "-m", "uv", "pip", "list", "--python", python, "--format", "json"))
    return Installed(function, python, place / "app", sorted(row["name"] for row in listed))


def _out(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The data folder of one machine that has indexed a document."""
    if not (MODELS / MODEL / "manifest.json").exists():
        pytest.skip(f"model {MODEL} is not prepared")
    place = tmp_path_factory.mktemp("machine")
    (place / "docs").mkdir()
    (place / "docs/traslados.md").write_text(DOCUMENT, "utf-8")
    machine = Fichario(place / "data")
    assert machine.json("ingest", place / "docs", "--base", "viagens")["indexed"] == 1
    return place / "data"


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """One machine's engine, which stands in for the Qdrant server: laid beside an environment, never into it."""
    place = tmp_path_factory.mktemp("engine")
    (place / "qdrant_edge").symlink_to(Path(find_spec("qdrant_edge").origin).parent)
    return place


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_environment_holds_no_training_framework_and_only_ingest_holds_parsers(installed, function):
    names = installed(function).distributions
    assert [name for name in names if TORCH.fullmatch(name)] == []
    parsers = [name for name in names if PARSERS.fullmatch(name)]
    assert bool(parsers) == (function == "ingest"), parsers


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_cloud_side_starts_without_any_network(installed, function):
    """Every client is opened, none is asked anything: what an adapter imports is there."""
    access = {} if function in {"ingest", "reindex"} else {"KB_AUTH": "jwt", "KB_JWKS_URL": f"http://{NOWHERE}/keys"}
    refused = {"method": "GET", "path": "/v1/bases"}
    answers = installed(function).asked(HEALTH, refused, **CLOUD, **access)["answers"]
    assert answers[0] == {"status": 200, "body": {"status": "alive"}}
    assert answers[1]["status"] in {401, 404, 405}


@pytest.mark.model
def test_query_answers_with_a_citation(installed, data, engine):
    search = {"method": "POST", "path": "/v1/bases/viagens/search", "body": {**QUESTION, "threshold": None}}
    asked = installed("query").asked(READY, search, DESCRIBED, KB_DATA_DIR=str(data), beside=engine)
    ready, found, described = asked["answers"]
    assert (ready["status"], ready["body"]["model"]) == (200, MODEL)
    assert found["body"]["passages"][0]["citation"] == "traslados.md:1-3"
    assert found["body"]["usage"]["embedded"]
    assert "/v1/bases/{base}/search" in described["body"]["paths"]
    assert not set(asked["imported"]) & {"lxml", "pypdfium2", "selectolax", "tree_sitter", "torch", "transformers"}


@pytest.mark.model
def test_ingest_is_well_and_refuses_what_is_no_event(installed, data, engine):
    junk = {"method": "POST", "path": "/", "body": {"neither": "push nor event"}}
    answers = installed("ingest").asked(READY, junk, KB_DATA_DIR=str(data), beside=engine)["answers"]
    assert answers[0]["status"] == 200
    assert (answers[1]["status"], answers[1]["body"]["code"]) == (400, "NO_EVENT")


READ_ALL = """
import json, sys
from pathlib import Path
from common.domain.errors import DocumentError
from common.loading import WorkerParser

parser, read = WorkerParser("off"), set()
for path in sorted(file for file in Path(sys.argv[1]).rglob("*") if file.is_file()):
    try:
        if parser.parse(path.read_bytes(), path.name).documents:
            read.add(path.suffix)
    except DocumentError:
        pass
parser.close()
print(json.dumps(sorted(read)))
"""


def test_ingest_reads_every_type_with_what_its_extra_brings(installed):
    read = set(json.loads(installed("ingest").run("-c", READ_ALL, ROOT / "tests/corpus")))
    assert {".pdf", ".docx", ".xlsx", ".pptx", ".html", ".eml", ".md", ".json", ".py", ".java", ".tf"} - read == set()
    assert sum(name.startswith("tree-sitter-") for name in installed("ingest").distributions) == 14


@pytest.mark.model
def test_manage_lists_and_refuses_a_foreign_name(installed, data, engine):
    listing = {"method": "GET", "path": "/v1/bases/viagens/documents"}
    foreign = {**listing, "headers": {"Host": "kb.example.com"}}
    asked = installed("manage").asked(HEALTH, listing, foreign, DESCRIBED, KB_DATA_DIR=str(data), beside=engine)
    answers = asked["answers"]
    assert [row["source"] for row in answers[1]["body"]["documents"]] == ["traslados.md"]
    assert (answers[2]["status"], answers[2]["body"]["code"]) == (403, "FOREIGN_HOST")
    assert "/v1/bases/{base}/documents" in answers[3]["body"]["paths"]
