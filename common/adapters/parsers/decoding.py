"""Bytes of a format that may declare its encoding to letters; without a declaration as any text is read."""

import codecs

from common.adapters.parsers.sniff import wide_encoding
from common.adapters.parsers.text import decode


def decode_text(data: bytes, declared: str = "") -> str:
    """The text without its byte order mark: UTF-8 where the bytes are, else the `declared` charset where they fit it.

    Raises DocumentError BAD_ENCODING or UNSUPPORTED for bytes whose letters are not certain.
    """
    if wide_encoding(data) is None and b"\x00" not in data:
        for encoding in ("utf-8-sig", _known(declared)):
            try:
                if encoding:
                    return data.decode(encoding)
            except UnicodeDecodeError:
                continue
    return decode(data)


def _known(declared: str) -> str:
    """The codec of a declared charset; Latin-1 means its Windows superset, as in browsers."""
    try:
        name = codecs.lookup(declared.strip()).name if declared.strip() else ""
    except LookupError:
        return ""
    return "cp1252" if name in {"iso8859-1", "ascii"} else name
