"""A function whose configuration is wrong does not start, and says all that is wrong; one whose configuration is right
starts without asking anybody anything. When one fails, a bad release takes requests until the first one breaks.
"""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from tests.contract.emulators import free_port

ROOT = Path(__file__).parents[2]
FUNCTIONS = ("ingest", "query", "manage")
SOUND = {
    "KB_MODE": "cloud",
    "KB_BUCKET": "s3://agency-docs",
    "QDRANT_URL": "http://127.0.0.1:9",
    "GOOGLE_CLOUD_PROJECT": "fichario-test",
    "KB_AUTH": "jwt",
    "KB_JWT_SECRET": "a secret that only this test knows",
}
WRONG = {**SOUND, "KB_TOP_K": "many", "KB_BUCKET": "ftp://agency-docs", "QDRANT_URL": "", "KB_JWKS_URL": "http://keys"}
GRANTS = {
    "KB_AUTH": "iam",
    "KB_IAM_AUDIENCE": "https://manage.example",
    "KB_IAM_BASES": '{"nobody": {"bases": ["*"]}, "bot@agency.example": {"bases": []}}',
}
WRITE_BACK = {
    "KB_WRITEBACK_ENABLED": "true",
    "KB_WRITEBACK_URL": "http://app.example/{affiliate_id}",
    "KB_WRITEBACK_TOKEN_URL": "https://user@app.example/token",
    "KB_WRITEBACK_EMAIL": "bot@agency.example",
    "KB_WRITEBACK_PASSWORD": "hush-hush",
}
CLIENTS = (
    "google.cloud.firestore",
    "google.cloud.pubsub",
    "google.cloud.storage",
    "boto3",
    "qdrant_client",
    "onnxruntime",
)
IMPORTS = """
import sys
{before}
import functions.{name}.main
print([module for module in sys.modules if module.startswith({clients})])
"""


def given(environment):
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG", "PYTHONPATH") if name in os.environ}
    return {**kept, **environment}


def run(command, environment):
    return subprocess.run(
        command, env=given(environment), cwd=ROOT, capture_output=True, text=True, check=False, timeout=100
    )


def framework(name, port):
    script = str(Path(sys.executable).with_name("functions-framework"))
    source = str(ROOT / "functions" / name / "main.py")
    return [script, "--target", name, "--source", source, "--host", "127.0.0.1", "--port", str(port)]


def started(name, environment):
    """functions-framework, which is expected to end by itself."""
    return run(framework(name, free_port()), environment)


@contextmanager
def serving(name, environment, port):
    """functions-framework for as long as the block lasts; it ends with the pipe to it, however that ends."""
    command = ["sh", "-c", '"$@" & read _; kill $!; wait $!', "guard", *framework(name, port)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=given(environment), cwd=ROOT, stdin=subprocess.PIPE, **quiet) as process:
        try:
            yield
        finally:
            process.stdin.close()


def imported(name, environment, before=""):
    return run([sys.executable, "-c", IMPORTS.format(name=name, before=before, clients=CLIENTS)], environment)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_configuration_ends_the_start_with_every_problem(name):
    done = started(name, WRONG)
    assert done.returncode not in {0, -15, -9}
    assert "Misconfigured" in done.stderr
    told = done.stderr.partition("Misconfigured: ")[2]
    for problem in (
        "KB_TOP_K is a whole number",
        "KB_BUCKET is gs://name or s3://name",
        "KB_MODE=cloud needs QDRANT_URL",
        "KB_AUTH=jwt takes exactly one of KB_JWKS_URL and KB_JWT_SECRET",
    ):
        assert problem in told, done.stderr
    assert SOUND["KB_JWT_SECRET"] not in done.stderr


@pytest.mark.parametrize("name", FUNCTIONS)
def test_settings_that_contradict_their_own_form_end_the_start_too(name):
    done = imported(name, {**SOUND, **GRANTS, **WRITE_BACK})
    assert done.returncode == 1
    assert "KB_IAM_BASES, 'nobody': this is no e-mail" in done.stderr
    assert "KB_IAM_BASES, 'bot@agency.example': bases is a list" in done.stderr
    for setting in ("KB_WRITEBACK_URL", "KB_WRITEBACK_TOKEN_URL"):
        assert (f"{setting} is an https address" in done.stderr) is (name != "query")
    assert "hush-hush" not in done.stderr


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_provider_that_could_not_be_asked_ends_the_start_beside_all_else(name):
    provider = {"KB_EMBED_PROVIDER": "openai", "KB_EMBEDDING_MODEL": "m", "KB_EMBED_API_KEY": "hush-hush"}
    done = imported(name, {**SOUND, **GRANTS, **provider, "KB_EMBED_URL": "http://models.example/v1"})
    assert done.returncode == 1
    assert "KB_EMBED_API_KEY goes out over https only" in done.stderr
    assert "KB_IAM_BASES, 'nobody': this is no e-mail" in done.stderr
    assert "hush-hush" not in done.stderr
    bedrock = {"KB_EMBED_PROVIDER": "bedrock", "KB_EMBEDDING_MODEL": "cohere.embed-multilingual-v3"}
    done = imported(name, {**SOUND, **bedrock, "KB_BUCKET": "gs://agency-docs"}, "sys.modules['boto3'] = None")
    assert done.returncode == 1
    assert "KB_EMBED_PROVIDER=bedrock needs boto3: pip install 'fichario[aws]'" in done.stderr


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_bucket_of_s3_without_its_library_ends_the_start_of_what_needs_it(name):
    done = imported(name, SOUND, before="sys.modules['boto3'] = None")
    assert (done.returncode == 1 and "fichario[aws]" in done.stderr) is (name != "query"), done.stderr
    assert imported(name, {**SOUND, "KB_BUCKET": "gs://agency-docs"}, "sys.modules['boto3'] = None").returncode == 0


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "query"])
def test_a_sound_configuration_is_read_without_opening_anything(name):
    done = imported(name, SOUND)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_the_query_function_imports_what_models_run_on_and_nothing_that_a_first_question_does_not_need():
    """Before the fork, behind which the same import takes twice as long; not at all where no model's files are used."""
    done = imported("query", SOUND)
    assert done.returncode == 0, done.stderr
    assert "'onnxruntime'" in done.stdout
    assert "qdrant_client" not in done.stdout
    done = imported("query", {**SOUND, "KB_EMBED_PROVIDER": "none"})
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
    stages = ("common.stages.context", "common.stages.several", "common.stages.listing", "common.stages.reading")
    others = (*stages, "common.domain.redaction", "common.domain.foreign", "pydantic", "cryptography")
    script = f"import sys, functions.query.main; print([m for m in {others} if m in sys.modules])"
    done = run([sys.executable, "-c", script], {"KB_MODE": "local"})
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_what_models_run_on_neither_writes_nor_tells_anything_and_ends_behind_a_fork(tmp_path):
    """onnxruntime has a thread that sends telemetry; a process that is forked from one with that thread never ends."""
    forked = "import os\nchild = os.fork()\nif not child:\n    raise SystemExit(7)\nprint(os.waitpid(child, 0)[1] >> 8)"
    script = IMPORTS.format(name="query", before="", clients=CLIENTS) + forked
    done = run([sys.executable, "-c", script], {**SOUND, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})
    assert "'onnxruntime'" in done.stdout
    assert done.stdout.split()[-1] == "7", done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_started_function_answers(name, tmp_path):
    """functions-framework imports a function and then forks the process that serves it: what was opened or locked
    before that is of no use behind it, and a request waits for ever.
    """
    port = free_port()
    nowhere = {"FIRESTORE_EMULATOR_HOST": "127.0.0.1:9", "PUBSUB_EMULATOR_HOST": "127.0.0.1:9"}
    environment = {**SOUND, **nowhere, "KB_BUCKET": "s3://agency-docs", "KB_MODEL_DIR": str(tmp_path)}
    with serving(name, environment, port):
        patience = urllib3.Retry(total=None, connect=300, read=0, backoff_factor=0.01, backoff_max=0.2)
        answer = urllib3.request("GET", f"http://127.0.0.1:{port}/readyz", retries=patience, timeout=60)
    assert (answer.status, answer.json()["code"]) == (503, "MISCONFIGURED")
    assert "models prepare" in answer.json()["detail"]
