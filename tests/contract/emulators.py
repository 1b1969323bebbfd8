"""Google's own emulators of Firestore and Pub/Sub, started once per test run on free ports and stopped at its end.

A test that asks for one is skipped only where Java or the emulator's jar is not installed.
"""

import atexit
import functools
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore, pubsub_v1

SECONDS_TO_START = 120
JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

# The shell ends the emulator when the pipe to it closes, so that no kind of death of the tests leaves one behind.
GUARD = '"$@" & read _; kill $!'


def new_project() -> str:
    """The id of a project that nobody else uses: what one test stores, no other one sees."""
    return f"fichario-{uuid.uuid4().hex[:12]}"


@contextmanager
def firestore_client(project: str, *, address: str = "") -> Iterator[firestore.Client]:
    """A client of the emulator, or of what is (not) at another address."""
    with _environment("FIRESTORE_EMULATOR_HOST", address or firestore_address()):
        client = firestore.Client(project=project, credentials=AnonymousCredentials())
    yield client
    client.close()


@dataclass
class Tapped:
    """The API below a Firestore client: `before` sees each call's name and request, and may raise in its place."""

    api: Any
    before: Callable[[str, Any], None]

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.api, name)
        if not callable(method):
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            self.before(name, kwargs.get("request"))
            return method(*args, **kwargs)

        return call


def tap(client: firestore.Client, before: Callable[[str, Any], None]) -> None:
    """Let `before` see, or refuse, what the client asks of Firestore from now on."""
    client._firestore_api_internal = Tapped(client._firestore_api, before)


@dataclass
class Meter:
    """What was asked of a Firestore client that it taps: calls by name, and the writes of each commit. Each write is
    one document set, changed or deleted, which is what Firestore bills and bounds.
    """

    calls: Counter[str] = field(default_factory=Counter)
    commits: list[list[Any]] = field(default_factory=list)

    def __call__(self, name: str, request: Any) -> None:
        self.calls[name] += 1
        if name == "commit":
            self.commits.append(list(request["writes"]))

    def reset(self) -> None:
        self.calls.clear()
        self.commits.clear()

    @property
    def writes(self) -> list[Any]:
        return [write for commit in self.commits for write in commit]

    def collections(self) -> Counter[str]:
        """How many documents were written by the collection they stand in."""
        return Counter((write.update.name or write.delete).split("/")[-2] for write in self.writes)


def cut_off(client: firestore.Client) -> None:
    """From now on nothing answers, at once rather than after all patience."""

    def refuse(name: str, request: Any) -> None:
        raise exceptions.ServiceUnavailable(f"{name}: out of reach")

    tap(client, refuse)


def pubsub_publisher() -> pubsub_v1.PublisherClient:
    with _environment("PUBSUB_EMULATOR_HOST", pubsub_address()):
        return pubsub_v1.PublisherClient()


def pubsub_subscriber() -> pubsub_v1.SubscriberClient:
    with _environment("PUBSUB_EMULATOR_HOST", pubsub_address()):
        return pubsub_v1.SubscriberClient()


@functools.cache
def firestore_address() -> str:
    """`host:port` of the Firestore emulator."""
    jar = _jar("cloud-firestore-emulator/cloud-firestore-emulator.jar")
    return _started("-cp", str(jar), "com.google.cloud.datastore.emulator.firestore.CloudFirestore")


@functools.cache
def pubsub_address() -> str:
    """`host:port` of the Pub/Sub emulator."""
    return _started("-jar", str(_jar("pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar")))


def _jar(pattern: str) -> Path:
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    found = sorted((_sdk() / "platform").glob(pattern))
    if not found:
        pytest.skip(f"the Google Cloud SDK has no {pattern.partition('/')[0]}")
    return found[-1]


@functools.cache
def _sdk() -> Path:
    installed = Path("/usr/lib/google-cloud-sdk")
    gcloud = shutil.which("gcloud")
    if installed.is_dir() or gcloud is None:
        return installed
    asked = subprocess.run(
        [gcloud, "info", "--format=value(installation.sdk_root)"], capture_output=True, text=True, check=True
    )
    return Path(asked.stdout.strip())


def _started(*command: str) -> str:
    port = free_port()
    log = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - lives as long as the emulator
    process = subprocess.Popen(
        ["sh", "-c", GUARD, "guard", "java", *JVM, *command, "--host=127.0.0.1", f"--port={port}"],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    atexit.register(_stop, process, log)
    deadline = time.monotonic() + SECONDS_TO_START
    while not _answers(port):
        if process.poll() is not None or time.monotonic() > deadline:
            log.seek(0)
            raise AssertionError(f"the emulator did not start: {log.read()[-2000:]}")
        time.sleep(0.1)
    return f"127.0.0.1:{port}"


def _stop(process: subprocess.Popen[bytes], log: IO[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait(timeout=30)
    log.close()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Google's clients learn of an emulator from the environment, and only while they are made."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
