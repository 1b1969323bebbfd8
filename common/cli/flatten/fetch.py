"""One page over http or https: connects to the very address that was checked, follows redirects through the same check,
and reads no more than it was allowed to.
"""

import http.client
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol
from urllib.parse import urljoin, urlsplit

from common.cli.flatten.addresses import Resolve, checked, resolve
from common.cli.flatten.plan import MIB, FlattenFailed

AGENT: Final = "fichario"
MAX_PAGE_BYTES: Final = 5 * MIB
MAX_REDIRECTS: Final = 5
SECONDS: Final = 20.0
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_PIECE: Final = 1 << 16
_PORTS: Final = {"http": 80, "https": 443}

Connect = Callable[[str, int, float], socket.socket]


class FetchFailed(FlattenFailed):
    """One page could not be fetched; others may."""


@dataclass(frozen=True, slots=True)
class Page:
    """What the server answered under `url`, redirects followed. `redirect` is one that was not; `truncated` tells that
    the body was too large to keep.
    """

    url: str
    status: int
    content_type: str = ""
    body: bytes = b""
    truncated: bool = False
    redirect: str = ""


class Fetch(Protocol):
    def __call__(self, url: str, allowed: Callable[[str], str | None] = ...) -> Page:
        """The page. `allowed` says of each redirect's target why it is not to be followed; such an answer is returned
        as the redirect it is. Raises FetchFailed, AddressRefused.
        """


def connect(address: str, port: int, seconds: float) -> socket.socket:
    return socket.create_connection((address, port), seconds)


@dataclass(frozen=True, slots=True)
class HttpFetch:
    """Fetches with a time limit of 20 seconds a page and no state between pages."""

    allow_private: bool = False
    resolver: Resolve = resolve
    connect: Connect = connect

    def __call__(self, url: str, allowed: Callable[[str], str | None] = lambda _: None) -> Page:
        """See Fetch."""
        for _ in range(MAX_REDIRECTS + 1):
            page, location = self._once(url)
            if location is None:
                return page
            target = urljoin(url, location)
            if allowed(target):
                return replace(page, redirect=target)
            url = target
        raise FetchFailed(f"{url} redirects more than {MAX_REDIRECTS} times.")

    def _once(self, url: str) -> tuple[Page, str | None]:
        try:
            parts = urlsplit(url)
            port = parts.port or _PORTS.get(parts.scheme, 0)
        except ValueError as error:
            raise FetchFailed(f"{url} is no address.") from error
        if not port or not parts.hostname or parts.username is not None:
            raise FetchFailed(f"{url} is not fetched: only http and https addresses without a password are.")
        address = checked(parts.hostname, port, allow_private=self.allow_private, resolver=self.resolver)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            return self._ask(url, parts.scheme, parts.hostname, address, port, path)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise FetchFailed(f"{url} cannot be fetched: {error or type(error).__name__}.") from error

    def _ask(self, url: str, scheme: str, host: str, address: str, port: int, path: str) -> tuple[Page, str | None]:
        deadline = time.monotonic() + SECONDS
        connection = http.client.HTTPConnection(host, port, timeout=SECONDS)
        plain = self.connect(address, port, SECONDS)
        try:
            secure = scheme == "https"
            connection.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=host) if secure else plain
            headers = {"User-Agent": AGENT, "Accept": "text/html,text/plain,text/markdown;q=0.9", "Connection": "close"}
            connection.request("GET", path, headers={**headers, "Host": _host_header(host, port, scheme)})
            answer = connection.getresponse()
            location = answer.getheader("Location") if answer.status in _REDIRECTS else None
            body, truncated = (b"", False) if location else _body(answer, deadline)
            if answer.getheader("Content-Encoding", "identity").lower() != "identity":
                raise FetchFailed(f"{url} answers in an encoding that was not asked for.")
            return Page(url, answer.status, answer.getheader("Content-Type", ""), body, truncated), location
        finally:
            connection.close()
            plain.close()


def _host_header(host: str, port: int, scheme: str) -> str:
    name = f"[{host}]" if ":" in host else host.encode("idna").decode() if not host.isascii() else host
    return name if port == _PORTS[scheme] else f"{name}:{port}"


def _body(answer: http.client.HTTPResponse, deadline: float) -> tuple[bytes, bool]:
    pieces: list[bytes] = []
    size = 0
    while piece := answer.read1(_PIECE):
        size += len(piece)
        if size > MAX_PAGE_BYTES:
            return b"", True
        if time.monotonic() > deadline:
            raise TimeoutError("it takes longer than 20 seconds")
        pieces.append(piece)
    return b"".join(pieces), False
