"""`fichario up`: one process, one port, the folder watched and the queue worked, until it is told to stop."""

import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from hmac import compare_digest
from os import getpid
from typing import Any, Final

from common.adapters.data_folder import Server
from common.cli.stopping import until_signalled
from common.domain.errors import Misconfigured
from common.identity import Authenticate, Headers, Identity
from common.release import RELEASE
from common.runtime import LocalRuntime
from common.settings import Settings
from functions.local.app import application
from functions.local.machine import machine
from functions.local.watch import Watcher

LOOPBACK: Final = "127.0.0.1"
THREADS: Final = 8
MAX_BODY: Final = 2**30


@dataclass(frozen=True, slots=True)
class Serving:
    """Where to serve; `say` shows a line to whoever started the server."""

    settings: Settings
    port: int
    allow_mass_removal: bool
    say: Callable[[str], None]


def serve(asked: Serving, stopping: threading.Event | None = None) -> None:
    """Serve until a signal (or `stopping`) ends it; what was begun is ended first.

    Raises DataFolderError when the folder is locked or damaged, Misconfigured for a model or port that cannot be used.
    """
    stopping = stopping or until_signalled()
    key = secrets.token_urlsafe(32)
    listening = _listen(asked.port)
    try:
        with machine(
            asked.settings, patience=0, allow_mass_removal=asked.allow_mass_removal, operator=_operator(key)
        ) as opened:
            runtime = opened.runtime
            runtime.ready()
            for problem in _other_models(runtime):
                asked.say(problem)
            for base, count in opened.found.held_back.items():
                asked.say(f"{count} files of base {base} are gone from the bucket and still answer; start with --yes.")
            _run(asked, runtime, listening, key, stopping)
    finally:
        listening.close()


def _run(asked: Serving, runtime: LocalRuntime, listening: socket.socket, key: str, stopping: threading.Event) -> None:
    from waitress.server import create_server  # noqa: PLC0415 - only a server needs one

    server: Any = create_server(
        application(runtime), sockets=[listening], threads=THREADS, max_request_body_size=MAX_BODY, ident=None
    )
    serving = threading.Thread(target=server.run, name="http", daemon=True)
    watcher = Watcher(runtime.settings.bucket, runtime.scan, runtime.clock)
    serving.start()
    watcher.start()
    address = f"http://{LOOPBACK}:{listening.getsockname()[1]}"
    runtime.folder.announce(Server(address, getpid(), key, RELEASE))
    asked.say(f"Fichário answers at {address}; the bucket is {runtime.settings.bucket.resolve()}")
    try:
        stopping.wait()
    finally:
        watcher.stop()
        server.close()
        server.task_dispatcher.shutdown()
        serving.join(timeout=5)


def _listen(port: int) -> socket.socket:
    """A loopback socket on that port. Raises Misconfigured when it is taken."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
    except OSError as error:
        listening.close()
        raise Misconfigured(
            f"Port {port} cannot be used ({error.strerror}). Choose another one with --port."
        ) from error
    return listening


def _operator(key: str) -> Callable[[Authenticate], Authenticate]:
    """Lets commands of the user who owns the data folder in by the secret of its `server.json`."""

    def around(authenticate: Authenticate) -> Authenticate:
        def check(headers: Headers) -> Identity:
            given = (headers.get("Authorization") or "").removeprefix("Bearer ")
            if compare_digest(given.encode(), key.encode()):
                return Identity(None, {"*": "admin"})
            return authenticate(headers)

        return check

    return around


def _other_models(runtime: LocalRuntime) -> list[str]:
    """What to say of bases whose live collection was built with another model than the configured one (RULES 18)."""
    found = [runtime.spaces.refusal(record.base) for record in runtime.catalog.bases()]
    return [problem for problem in found if problem]
