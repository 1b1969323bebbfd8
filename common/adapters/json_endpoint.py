"""An address that takes JSON with a bearer key and answers JSON, as model providers do. No error names the key or a
text. Shared by the adapters that ask such providers.
"""

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from common.adapters.http_exchange import Reply, Request, exchange, origin_of
from common.domain.errors import Misconfigured, Unavailable
from common.identity import LOOPBACK

OK: Final = 200


@dataclass(frozen=True, slots=True)
class Named:
    """What to call an endpoint: `who` in sentences, and the settings of its address and of its key."""

    who: str
    url: str
    key: str


class JsonEndpoint:
    """Asks `url`, which may or may not end in `path`, with `key` as bearer token unless it is empty."""

    def __init__(self, url: str, path: str, key: str, named: Named, context: ssl.SSLContext | None = None) -> None:
        """Raises Misconfigured for an address or a key that cannot be used."""
        origin = origin_of(url)
        if origin is None:
            raise Misconfigured(f"{named.url} is an http or https address with a fixed host and without user name.")
        if key and origin[0] == "http" and origin[1] not in LOOPBACK:
            raise Misconfigured(f"{named.key} goes out over https only, or to this machine: see {named.url}.")
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise Misconfigured(f"{named.key} is one word of ASCII characters.")
        self._who = named.who
        self._address = _ending_in(path, url)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._secure = origin[0] == "https"
        self._context = context

    def post(self, body: Mapping[str, Any], seconds: float, limit: int) -> Reply:
        """What came within `seconds`, of at most `limit` bytes, whatever its status. Raises Unavailable."""
        if self._secure and self._context is None:
            # Made by the first call: reading the machine's certificates takes longer than most starts have.
            self._context = ssl.create_default_context()
        request = Request("POST", self._address, self._headers, json.dumps(body).encode())
        try:
            return exchange(request, seconds, limit, "model", self._context)
        except Unavailable as error:
            raise Unavailable(f"{self._who} {error}") from None

    def answer(self, reply: Reply) -> Mapping[str, Any]:
        """The JSON object of a whole reply. Raises Unavailable."""
        if reply.body is None:
            raise Unavailable(f"{self._who}'s answer did not arrive whole, or is too large")
        return json_object(reply.body, self._who)


def json_object(data: bytes, who: str) -> Mapping[str, Any]:
    """The JSON object that these bytes are. Raises Unavailable."""
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise Unavailable(f"{who} answered something that is no JSON object")
    return answer


def _ending_in(path: str, url: str) -> str:
    where = urlsplit(url)
    given = where.path.rstrip("/")
    return urlunsplit((where.scheme, where.netloc, given if given.endswith(path) else given + path, where.query, ""))
