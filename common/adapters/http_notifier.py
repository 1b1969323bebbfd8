"""The Notifier port over HTTP: https (http to this machine), only to hosts that settings name, no redirect followed,
bounded in time and size.
"""

import json
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR, socket
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from common.domain.errors import Misconfigured, Refused, Unavailable
from common.domain.writeback import Notice, NoticeReply
from common.identity import LOOPBACK

MAX_ANSWER: Final = 64 * 1024
Origin = tuple[str, str, int]


class HttpNotifier:
    """Sends notices to the origins of the configured addresses, given by the names of their settings."""

    def __init__(self, addresses: Mapping[str, str], context: ssl.SSLContext | None = None) -> None:
        """Raises Misconfigured with every address that cannot be used."""
        found = {name: _origin(address) for name, address in addresses.items()}
        wrong = [name for name, origin in found.items() if origin is None]
        if wrong:
            raise Misconfigured(
                "\n".join(
                    f"{name} is an https address with a fixed host and without user name; plain http is for names of "
                    "this machine only."
                    for name in wrong
                )
            )
        self._origins = frozenset(found.values())
        self._context = context or ssl.create_default_context()

    def send(self, notice: Notice, seconds: float) -> NoticeReply:
        """One request and its answer; see the port."""
        origin = _origin(notice.address)
        if origin is None or origin not in self._origins:
            raise Refused(422, "FOREIGN_ADDRESS", "no setting names its host.")
        exchange = _Exchange(notice, self._connection(origin, seconds))
        # A thread of its own bounds what no socket timeout does: name look-up and an answer that comes drop by drop.
        thread = threading.Thread(target=exchange.run, name="write-back", daemon=True)
        thread.start()
        thread.join(seconds)
        # Taken before the cut: a header that is broken off by it would read like a finished one.
        late, reply, failed = thread.is_alive(), exchange.reply, exchange.failed
        if late:
            exchange.cut()
        if reply is not None:
            return reply
        if late or isinstance(failed, TimeoutError):
            raise Unavailable(f"did not answer within {seconds:.1f} s")
        raise Unavailable(f"could not be reached ({type(failed).__name__})") from failed

    def _connection(self, origin: Origin, seconds: float) -> HTTPConnection:
        scheme, host, port = origin
        if scheme == "https":
            return HTTPSConnection(host, port, timeout=seconds, context=self._context)
        return HTTPConnection(host, port, timeout=seconds)


class _Exchange:
    """One request under way. A status that arrived counts, even when its body never ends."""

    def __init__(self, notice: Notice, connection: HTTPConnection) -> None:
        self._notice = notice
        self._connection = connection
        self._socket: socket | None = None
        self.reply: NoticeReply | None = None
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
        notice, connection = self._notice, self._connection
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "fichario"}
        if notice.token:
            headers["Authorization"] = f"Bearer {notice.token}"
        connection.connect()
        self._socket = connection.sock
        where = urlsplit(notice.address)
        target = (where.path or "/") + (f"?{where.query}" if where.query else "")
        connection.request(notice.method, target, json.dumps(notice.body).encode(), {**headers, "Connection": "close"})
        with connection.getresponse() as response:
            self.reply = NoticeReply(response.status)
            self.reply = NoticeReply(response.status, _json_object(response.read(MAX_ANSWER)))


def _json_object(body: bytes) -> Mapping[str, Any]:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    return parsed if isinstance(parsed, dict) else {}


def _origin(address: str) -> Origin | None:
    """Scheme, host and port of an address that may be asked, else None."""
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return None
    if not host or parts.username is not None or not address.isprintable() or " " in address or "{" in parts.netloc:
        return None
    return (parts.scheme, host, port or _default_port(parts)) if _is_secure(parts.scheme, host) else None


def _is_secure(scheme: str, host: str) -> bool:
    return scheme == "https" or (scheme == "http" and host in LOOPBACK)


def _default_port(parts: SplitResult) -> int:
    return 443 if parts.scheme == "https" else 80
