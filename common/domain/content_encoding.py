"""The content of an object that is stored compressed, as its Content-Encoding says (case GZP-01)."""

import zlib
from typing import Final

from common.domain.limits import too_large

_MAGIC: Final = b"\x1f\x8b"


def content_of(stored: bytes, encoding: str, limit: int) -> bytes:
    """What people put in: `stored` itself unless it was stored with gzip.

    Raises DocumentError TOO_LARGE when the content has more than `limit` bytes (0: no limit), having unfolded no more.
    Bytes that are no whole gzip stay as they are: whoever reads them names what they are.
    """
    codings = {coding.strip().lower() for coding in encoding.split(",")}
    return _unfolded(stored, limit) if codings & {"gzip", "x-gzip"} else stored


def _unfolded(stored: bytes, limit: int) -> bytes:
    pieces: list[bytes] = []
    room, rest = limit + 1, stored
    while rest.startswith(_MAGIC):
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            piece = member.decompress(rest, room if limit else 0)
        except zlib.error:
            return stored
        room -= len(piece)
        if limit and room <= 0:
            raise too_large(max(limit + 1, _said(stored)), limit)
        if not member.eof:
            return stored
        pieces.append(piece)
        rest = member.unused_data
    return b"".join(pieces) if pieces else stored


def _said(stored: bytes) -> int:
    """How long the content is by the gzip's own trailer (RFC 1952, ISIZE)."""
    return int.from_bytes(stored[-4:], "little")
