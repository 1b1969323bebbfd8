"""One HTTP request to another system, over within its seconds whatever that system does: no redirect is followed, and
no more is read than wanted. Shared by the adapters that ask over HTTP; whom they may ask is theirs to decide.
"""

import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR, socket
from typing import Final
from urllib.parse import urlsplit

from common.domain.errors import Unavailable

Origin = tuple[str, str, int]
_PORTS: Final = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of `address`, which has an origin."""

    method: str
    address: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """The status that arrived; `body` is None when it did not arrive whole, or was larger than wanted."""

    status: int
    body: bytes | None = field(default=None, repr=False)
    retry_after: str = ""


def origin_of(address: str) -> Origin | None:
    """Scheme, host and port of an http or https address with a fixed host and without user name, else None."""
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return None
    if not host or parts.username is not None or not address.isprintable() or " " in address or "{" in parts.netloc:
        return None
    return (parts.scheme, host, port or _PORTS[parts.scheme]) if parts.scheme in _PORTS else None


def exchange(request: Request, seconds: float, limit: int, name: str, context: ssl.SSLContext | None = None) -> Reply:
    """The reply, its body of at most `limit` bytes. Raises Unavailable when no status came within `seconds`.

    A thread of its own, called `name`, bounds what no socket timeout does: the look-up of the host's name, and an
    answer that comes drop by drop.
    """
    under_way = _Exchange(request, _connection(request.address, seconds, context), limit)
    thread = threading.Thread(target=under_way.run, name=name, daemon=True)
    thread.start()
    thread.join(seconds)
    # Taken before the cut: a header that is broken off by it would read like a finished one.
    late, reply, failed = thread.is_alive(), under_way.reply, under_way.failed
    if late:
        under_way.cut()
    if reply is not None:
        return reply
    if late or isinstance(failed, TimeoutError):
        raise Unavailable(f"did not answer within {seconds:.1f} s")
    raise Unavailable(f"could not be reached ({type(failed).__name__})") from failed


def _connection(address: str, seconds: float, context: ssl.SSLContext | None) -> HTTPConnection:
    origin = origin_of(address)
    if origin is None:
        raise ValueError("the address has no origin")
    scheme, host, port = origin
    if scheme == "https":
        return HTTPSConnection(host, port, timeout=seconds, context=context)
    return HTTPConnection(host, port, timeout=seconds)


class _Exchange:
    """One request under way. A status that arrived counts, even when its body never ends."""

    def __init__(self, request: Request, connection: HTTPConnection, limit: int) -> None:
        self._request = request
        self._connection = connection
        self._limit = limit
        self._socket: socket | None = None
        self.reply: Reply | None = None
        self.failed: Exception | None = None

    def run(self) -> None:
        try:
            self._ask()
        except (OSError, HTTPException, ValueError) as error:
            self.failed = error
        finally:
            self._connection.close()

    def cut(self) -> None:
        """End the connection under the running request, which ends its thread."""
        if self._socket is not None:
            with suppress(OSError):  # it has just ended by itself
                socket.shutdown(self._socket, SHUT_RDWR)

    def _ask(self) -> None:
        request, connection = self._request, self._connection
        connection.connect()
        self._socket = connection.sock
        where = urlsplit(request.address)
        target = (where.path or "/") + (f"?{where.query}" if where.query else "")
        headers = {**request.headers, "User-Agent": "fichario", "Connection": "close"}
        connection.request(request.method, target, request.body, headers)
        with connection.getresponse() as response:
            told = Reply(response.status, retry_after=response.getheader("Retry-After", ""))
            self.reply = told
            body = response.read(self._limit + 1)
            if len(body) <= self._limit:
                self.reply = replace(told, body=body)
