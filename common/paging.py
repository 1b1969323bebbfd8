"""Pages of listings, as every function takes and answers them: `limit` and `cursor`."""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Final

from werkzeug.wrappers import Request

from common.domain.errors import Refused

MAX_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a listing: `cursor` is the last key of the page before, `limit` at most 1,000."""

    limit: int
    cursor: tuple[str, str] | None
    asked: bool


def decode_page(request: Request) -> Page:
    """`limit` and `cursor` of a listing; without them the whole list, up to 1,000. Raises Refused 400."""
    given, cursor = request.args.get("limit"), request.args.get("cursor")
    if given is None:
        return Page(MAX_PAGE, None if cursor is None else decode_cursor(cursor), asked=cursor is not None)
    if not given.isascii() or not given.isdigit() or not 1 <= int(given[:9]) <= MAX_PAGE:
        raise Refused(400, "BAD_REQUEST", f"limit is a whole number from 1 to {MAX_PAGE}.", "limit")
    return Page(int(given[:9]), None if cursor is None else decode_cursor(cursor), asked=True)


def encode_cursor(*parts: object) -> str:
    """A position of a listing as an opaque text."""
    return base64.urlsafe_b64encode(json.dumps([str(part) for part in parts]).encode()).decode()


def decode_cursor(text: str) -> tuple[str, str]:
    """The position that `encode_cursor` made of two texts. Raises Refused 400 for anything else."""
    try:
        parts = json.loads(base64.b64decode(text, altchars=b"-_", validate=True))
        json.dumps(parts, ensure_ascii=False).encode()
    except (binascii.Error, ValueError, RecursionError):
        parts = None
    if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(p, str) for p in parts):  # noqa: PLR2004
        raise Refused(400, "BAD_REQUEST", "cursor is not one of this listing.", "cursor")
    return parts[0], parts[1]
