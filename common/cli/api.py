"""How commands speak to the functions: the HTTP contract, beside a running server or inside this process."""

import http.client
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote, urlencode, urlsplit

import click

from common.settings import Settings


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: its status, its JSON object (empty where it is none) and its text."""

    status: int
    body: Mapping[str, Any]
    text: str = ""

    def checked(self) -> "Reply":
        """Itself, or the problem as the command's failure (exit code 1)."""
        if self.status >= http.client.BAD_REQUEST:
            raise click.ClickException(str(self.body.get("detail") or self.text or f"HTTP {self.status}"))
        return self


class Api(Protocol):
    """Sends one request of the HTTP contract."""

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,  # noqa: ANN401 - JSON-ready data
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply: ...


Connect = Callable[[Settings, Callable[[str], None]], AbstractContextManager[Api]]
"""Opens the data folder's server where one runs, else the machine itself; the callable shows a notice."""


@dataclass(frozen=True, slots=True)
class HttpApi:
    """A running server at `address`; `key` is the secret of its `server.json`."""

    address: str
    key: str = ""

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,  # noqa: ANN401 - JSON-ready data
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request and its answer. Raises click.ClickException when nobody answers."""
        where = urlsplit(self.address)
        sent = dict(headers or {})
        if self.key:
            sent["Authorization"] = f"Bearer {self.key}"
        if body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=120)
        try:
            connection.request(method, path, body=data, headers=sent)
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise click.ClickException(f"The server at {self.address} does not answer: {error}.") from error
        finally:
            connection.close()
        try:
            parsed = json.loads(text)
        except ValueError:
            parsed = {}
        return Reply(response.status, parsed if isinstance(parsed, dict) else {}, text)


def route(*parts: str, **query: object) -> str:
    """A path below /v1 with every part quoted, and the query parameters that are not None."""
    path = "/v1/" + "/".join(quote(part, safe="") for part in parts)
    given = {name: str(value) for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def header_text(text: str) -> str:
    """A header's value as the wire wants it: UTF-8 bytes in Latin-1's clothes."""
    return text.encode().decode("latin-1")


def rows(api: Api, path: Callable[[str | None], str], name: str) -> list[dict[str, Any]]:
    """Every row of a listing, page by page; `path` makes the address of the page behind a cursor."""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = api.call("GET", path(cursor)).checked().body
        found += page[name]
        cursor = page.get("next_cursor")
        if cursor is None:
            return found
