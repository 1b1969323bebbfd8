"""What is refused by its kind, each with what to do instead; and gzip, whose single file is read as what it holds."""

import zlib
from typing import Final

from common.adapters.parsers.limits import MIB, Limits
from common.adapters.parsers.refusals import corrupt, encrypted, limit, no_text, unsupported
from common.domain.errors import DocumentError

_UNPACK: Final = "Unpack it and upload the files that it holds."
_CONVERT: Final = "Export its text as PDF, DOCX or Markdown and upload that."
_REFUSED: Final = {
    "zip": ("A ZIP archive", _UNPACK),
    "7z": ("A 7z archive", _UNPACK),
    "rar": ("A RAR archive", _UNPACK),
    "tar": ("A TAR archive", _UNPACK),
    "bzip2": ("A bzip2 file", _UNPACK),
    "xz": ("An xz file", _UNPACK),
    "zstd": ("A Zstandard file", _UNPACK),
    "media": ("A sound or video file", "Upload its transcript as text or subtitles."),
    "program": ("A program", "Upload its documentation instead."),
    "database": ("A database file", "Export the tables that matter as CSV and upload those."),
    "font": ("A font", "Leave it out."),
    "signature": ("A detached signature or certificate", "Upload the signed document itself."),
    "visio": ("A Visio drawing", _CONVERT),
    "doc": ("A Word 97-2003 document (.doc)", "Save it as DOCX or PDF and upload that."),
    "ppt": ("A PowerPoint 97-2003 presentation (.ppt)", "Save it as PPTX or PDF and upload that."),
    "ole": ("This kind of Office container", _CONVERT),
    "binary": ("This kind of file", _CONVERT),
}
REFUSED: Final = frozenset(_REFUSED) - {"binary", "doc", "ppt"} | {"encrypted", "pgp", "image"}
"""Kinds that are refused whatever they hold."""


def refusal(kind: str) -> DocumentError:
    """The reason why a file of this kind is not read."""
    if kind == "encrypted":
        return encrypted("Office document")
    if kind == "pgp":
        return encrypted("PGP message")
    if kind == "image":
        return no_text("picture", "only an image")
    what, next_step = _REFUSED.get(kind, _REFUSED["binary"])
    return unsupported(what, next_step)


def gunzipped(data: bytes, limits: Limits) -> bytes:
    """The one file in a gzip. Raises DocumentError CORRUPT, PARSER_LIMIT."""
    bound = min(limits.expanded, max(limits.ratio_from, limits.ratio * len(data)))
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(data, bound + 1)
    except zlib.error as error:
        raise corrupt("gzip file") from error
    if len(unpacked) > bound:
        raise limit("gzip file", f"it would unfold into more than {bound // MIB} MiB")
    if not unpacker.eof:
        raise corrupt("gzip file", "its end is missing")
    return unpacked
