"""The Model Context Protocol over the tools, by the official SDK: which versions there are, how they are negotiated and
what a message may be is its affair alone. Imported only when somebody speaks the protocol.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from werkzeug.wrappers import Request, Response

from common.json_bodies import MAX_JSON
from common.release import RELEASE
from functions.query.tools import INSTRUCTIONS, Tool, Toolbox, ToolResult

BATCHING: Final = ("2024-11-05", "2025-03-26")
MOST_MESSAGES: Final = 20
List = Callable[[], Awaitable[Sequence[Tool]]]
Run = Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]
_READ_ONLY: Final = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
# It announces each request's beginning and end as if it were a server's.
logging.getLogger("mcp").setLevel(logging.WARNING)


def server_of(tools: List, run: Run) -> Server[Any]:
    """A server whose tools are these."""

    async def on_list(
        _: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool) for tool in await tools()])

    async def on_call(_: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        return _called(await run(params.name, params.arguments or {}))

    return Server(
        "fichario",
        title="Fichário",
        version=RELEASE,
        instructions=INSTRUCTIONS,
        on_list_tools=on_list,
        on_call_tool=on_call,
    )


def answer_message(toolbox: Toolbox, request: Request, data: bytes) -> Response:
    """The answer to one POST, alone: nothing is kept between two of them."""

    async def tools() -> Sequence[Tool]:
        return toolbox.tools()

    async def run(name: str, arguments: Mapping[str, Any]) -> ToolResult:
        return toolbox.call(name, arguments)

    messages = _batch(request, data)
    server = server_of(tools, run)
    if messages is None:
        return anyio.run(_exchange, server, request, data)
    answers = [anyio.run(_exchange, server, request, message) for message in messages]
    told = b",".join(each.get_data() for each in answers if each.get_data())
    if not told:
        return Response(status=HTTPStatus.ACCEPTED)
    return Response(b"[" + told + b"]", mimetype="application/json")


def _batch(request: Request, data: bytes) -> Sequence[bytes] | None:
    """The messages of a batch, which only versions up to 2025-03-26 know; None where the SDK judges the body alone."""
    if request.headers.get("MCP-Protocol-Version", BATCHING[-1]) not in BATCHING or not data.lstrip().startswith(b"["):
        return None
    try:
        messages = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not 0 < len(messages) <= MOST_MESSAGES:
        return None
    return [json.dumps(message).encode() for message in messages]


async def _exchange(server: Server[Any], request: Request, data: bytes) -> Response:
    """One request through the SDK's own HTTP transport, in the form in which it takes one (ASGI)."""
    sent: list[MutableMapping[str, Any]] = []
    body = [{"type": "http.request", "body": data, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if body:
            return body.pop()
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=MAX_JSON)
    async with manager.run():
        await manager.handle_request(_scope(request), receive, send)
    start, *parts = sent
    response = Response(b"".join(part.get("body", b"") for part in parts), start["status"])
    for name, value in start["headers"]:
        response.headers[name.decode("latin-1")] = value.decode("latin-1")
    return response


def _scope(request: Request) -> dict[str, Any]:
    """What the transport looks at of a request. Who accepts nothing by name accepts everything."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    headers.setdefault("accept", "*/*")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": b"",
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
        "client": None,
        "server": None,
    }


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=dict(tool.schema),
        annotations=_READ_ONLY,
    )


def _called(result: ToolResult) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text) for text in result.texts],
        structured_content=dict(result.data),
        is_error=result.failed,
    )
