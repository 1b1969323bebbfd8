"""`fichario mcp`: the tools over standard input and output, for a model's runtime on this machine. They are answered by
the data folder's server, which is started here when none runs, so that other commands and runtimes can work beside it.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import click
from anyio import to_thread
from mcp.server.stdio import stdio_server

from common.adapters.data_folder import running_server
from common.cli.api import HttpApi, Reply
from common.domain.errors import FicharioError, Misconfigured
from common.settings import Settings
from functions.local.serve import Serving, serve
from functions.query.mcp_server import server_of
from functions.query.tools import Tool, ToolResult

START_SECONDS: Final = 120.0
PATH: Final = "/mcp"


def run(settings: Settings, say: Callable[[str], None]) -> None:
    """Answer until standard input ends. Raises what a server raises that cannot be started."""
    backend = Backend(settings, say)
    try:
        backend.address()
        anyio.run(_speak, backend)
    finally:
        backend.stop()


@dataclass(slots=True)
class Backend:
    """The server that answers: the data folder's own, or one that is started here once that one is gone."""

    settings: Settings
    say: Callable[[str], None]
    _stopping: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None
    _error: list[Exception] = field(default_factory=list)

    def address(self) -> HttpApi:
        """Where the server answers now. Raises what it could not be started by."""
        with self._lock:
            server = running_server(self.settings.data)
            if server is None:
                self._start()
                server = running_server(self.settings.data)
            if server is None:
                raise self._error[0] if self._error else Misconfigured("The server did not start in time.")
        return HttpApi(server.address, server.key)

    def post(self, method: str, params: Mapping[str, Any]) -> Reply:
        """One message and its answer. Raises click.ClickException when nobody answers."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.address().call("POST", PATH, body=body, headers={"Accept": "application/json"})

    def stop(self) -> None:
        """End the server that was started here; what it had begun is ended first."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _start(self) -> None:
        ready = threading.Event()

        def hear(line: str) -> None:
            self.say(line)
            if running_server(self.settings.data) is not None:
                ready.set()

        def work() -> None:
            try:
                serve(Serving(self.settings, 0, allow_mass_removal=False, say=hear), self._stopping)
            except (FicharioError, OSError) as error:
                self._error[:] = [error]
            finally:
                ready.set()

        self._thread = threading.Thread(target=work, name="server", daemon=True)
        self._thread.start()
        ready.wait(START_SECONDS)


async def _speak(backend: Backend) -> None:
    async def tools() -> Sequence[Tool]:
        result = await to_thread.run_sync(_result, backend, "tools/list", {})
        return [Tool(each["name"], each["title"], each["description"], each["inputSchema"]) for each in result["tools"]]

    async def call(name: str, arguments: Mapping[str, Any]) -> ToolResult:
        params = {"name": name, "arguments": dict(arguments)}
        try:
            result = await to_thread.run_sync(_result, backend, "tools/call", params)
        except (click.ClickException, FicharioError) as error:
            told = error.message if isinstance(error, click.ClickException) else str(error)
            return ToolResult((told,), {"detail": told}, failed=True)
        texts = [part["text"] for part in result["content"]]
        return ToolResult(texts, result["structuredContent"], failed=result["isError"])

    server = server_of(tools, call)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _result(backend: Backend, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the server answers to a message. Raises click.ClickException for an error of any kind."""
    body = backend.post(method, params).checked().body
    if "result" not in body:
        raise click.ClickException(str(body.get("error", {}).get("message", "The server answered with no result.")))
    result: Mapping[str, Any] = body["result"]
    return result
