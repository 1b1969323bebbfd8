"""The Notifier port over HTTP: https (http to this machine), only to hosts that settings name, no redirect followed,
bounded in time and size.
"""

import json
import ssl
from collections.abc import Mapping
from typing import Any, Final

from common.adapters.http_exchange import Origin, Request, exchange, origin_of
from common.domain.errors import Misconfigured, Refused
from common.domain.writeback import Notice, NoticeReply
from common.identity import LOOPBACK

MAX_ANSWER: Final = 64 * 1024


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
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if notice.token:
            headers["Authorization"] = f"Bearer {notice.token}"
        request = Request(notice.method, notice.address, headers, json.dumps(notice.body).encode())
        reply = exchange(request, seconds, MAX_ANSWER, "write-back", self._context)
        return NoticeReply(reply.status, _json_object(reply.body or b""))


def _json_object(body: bytes) -> Mapping[str, Any]:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    return parsed if isinstance(parsed, dict) else {}


def _origin(address: str) -> Origin | None:
    """Scheme, host and port of an address that may be asked, else None."""
    origin = origin_of(address)
    return origin if origin and (origin[0] == "https" or origin[1] in LOOPBACK) else None
