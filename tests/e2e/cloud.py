"""The deployed shape on this machine: a bucket whose notifications Pub/Sub pushes to ingest, Firestore, the REST
surface of a Qdrant server, and the functions as processes of functions-framework. They speak HTTP and gRPC only.
"""

import base64
import json
import re
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
from google.cloud import storage
from werkzeug.wrappers import Request, Response

from common.domain.objects import ObjectRef, job_id, removal_job_id
from tests.contract.emulators import firestore_address, new_project, pubsub_address
from tests.contract.qdrant_rest import RestQdrant
from tests.e2e.conftest import MODELS
from tests.e2e.processes import (
    Answer,
    Function,
    bucket_at,
    in_front_of,
    send,
    served,
    started,
    storage_of,
    topic_pushed_to,
    wait_ready,
)

SECRET: Final = "only-for-these-tests-and-long-enough-for-hs256"
DEADLINE: Final = 60.0
TERMINAL: Final = frozenset({"indexed", "empty", "skipped", "failed", "superseded", "deleted"})


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
    under_way: set[object] = field(default_factory=set)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        request = Request(environ)
        body = request.get_data()
        message = json.loads(body)["message"]
        self.under_way.add(request)
        try:
            status = send(self.target, "POST", "/", body).status
        except urllib3.exceptions.HTTPError:
            status = 503
        finally:
            self.under_way.discard(request)
        self.pushes.append(Delivered(message["messageId"], message.get("attributes") or {}, status))
        return Response(status=status)(environ, start_response)

    def of(self, message: str) -> list[int]:
        """The answers to one message."""
        return [push.status for push in self.pushes if push.message == message]


@dataclass(frozen=True)
class Held:
    """A request that is kept waiting until its test has looked around."""

    arrived: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)


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
        """How many points the base's collections hold, whether they answer or not, when ingest has nothing to do."""
        self.at_rest()
        names = [name for name in self.collections() if name.startswith(f"{base}_kb__")]
        with self.qdrant.lock:
            return sum(self.qdrant.engine.count(name).count for name in names)

    def collections(self) -> set[str]:
        with self.qdrant.lock:
            return {known.name for known in self.qdrant.engine.get_collections().collections}

    def bases_of(self, base: str) -> list[str]:
        """The bases that a caller with a token for `base` is shown."""
        token = {"Authorization": bearer(base)}
        answer = send(self.functions["query"].address, "GET", "/v1/bases", None, token)
        return [row["base"] for row in answer.body["bases"]]

    @contextmanager
    def held_upsert(self, base: str) -> Iterator[Held]:
        """The base's next upsert waits at the Qdrant server until the block ends."""
        held = Held()

        def wait(request: httpx.Request) -> None:
            if request.method == "PUT" and re.search(f"/{base}_kb__[^/]+/points$", request.url.path):
                held.arrived.set()
                held.released.wait(DEADLINE)

        self.qdrant.fail = wait
        try:
            yield held
        finally:
            held.released.set()
            self.qdrant.fail = lambda _: None

    def restart(self, name: str) -> None:
        """A new process in the place of one that ended."""
        self.functions[name] = self.start(name)
        wait_ready(self.functions[name])
        if name == "ingest":
            self.tap.target = self.functions[name].address

    def at_rest(self) -> None:
        """A job is over when it is published; what it leaves behind is swept before its event is acknowledged."""
        eventually(lambda: not self.tap.under_way, "ingest at rest")

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
def opened(*, reindex: bool = False) -> Iterator[Cloud]:
    """Everything started, and everything of it stopped at the end; who moves bases only where it is asked for."""
    with ThreadPoolExecutor(2) as both, ExitStack() as stack:
        starting = [both.submit(firestore_address), both.submit(pubsub_address)]
        firestore, pubsub = (address.result() for address in starting)
        project, tap, qdrant = new_project(), Tap(), RestQdrant()
        stack.callback(qdrant.engine.close)
        publish = stack.enter_context(topic_pushed_to(stack.enter_context(served(tap)), project))
        gcs = stack.enter_context(storage_of(project, pubsub))
        bucket = stack.enter_context(bucket_at(project, gcs))
        environment = {
            "KB_MODE": "cloud",
            "KB_BUCKET": bucket.name,
            "GOOGLE_CLOUD_PROJECT": project,
            "QDRANT_URL": stack.enter_context(served(in_front_of(qdrant))),
            "KB_EMBEDDING_MODEL": "e5-small-enpt",
            "KB_MODEL_DIR": str(MODELS),
            "KB_AUTH": "jwt",
            "KB_JWT_SECRET": SECRET,
            "FIRESTORE_EMULATOR_HOST": firestore,
            "PUBSUB_EMULATOR_HOST": pubsub,
            "STORAGE_EMULATOR_HOST": gcs,
        }

        def start(name: str) -> Function:
            return stack.enter_context(started(name, environment))

        functions = {name: start(name) for name in ("ingest", "query", "manage", *(["reindex"] if reindex else []))}
        if reindex:
            stack.enter_context(topic_pushed_to(functions["reindex"].address, project, "kb-reindex"))
        tap.target = functions["ingest"].address
        for function in functions.values():
            wait_ready(function)
        yield Cloud(bucket, tap, qdrant, functions, publish, start)
