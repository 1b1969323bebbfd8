"""Bytes to text, never with wrong letters: what cannot be decided is refused. And plain text to its document."""

import codecs
import re
from typing import Final

from common.adapters.parsers.letters import find_code_page
from common.domain.documents import Parsed, ParsedDocument
from common.domain.errors import DocumentError
from common.domain.plaintext import paragraphs
from common.domain.splitting import is_blank
from common.domain.titles import default_keywords, file_title

# UTF-32 first: its little-endian mark begins like that of UTF-16.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE: Final = {"utf-32-le": (1, 2, 3), "utf-32-be": (0, 1, 2), "utf-16-le": (1, 3), "utf-16-be": (0, 2)}
_HEAD: Final = 1 << 12
_MANY: Final = 0.6
_FEW: Final = 0.05
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\v\f\r\x08\x1b"))
_BINARY_SHARE: Final = 0.02
_ESCAPED_JAPANESE: Final = re.compile(rb"\x1b\$[@B]")
_SEQUENCE: Final = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


def parse_text(data: bytes, name: str) -> Parsed:
    """One plain-text document of paragraphs; none when it is blank. Raises DocumentError as `decode` does."""
    text = decode(data)
    if is_blank(text):
        return Parsed(())
    title = file_title(name)
    document = ParsedDocument(
        source=name,
        title=title,
        text=text,
        blocks=paragraphs(text),
        keywords=default_keywords(title, ()),
        external_id=without_extension(name),
    )
    return Parsed((document,))


def without_extension(name: str) -> str:
    """The path with the file's extension taken off."""
    folder, slash, file = name.rpartition("/")
    return f"{folder}{slash}{file_title(file)}"


def decode(data: bytes) -> str:
    """The text without its byte order mark. Raises DocumentError BAD_ENCODING for text whose letters are not certain,
    UNSUPPORTED for bytes that are no text.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _strict(data[len(mark) :], encoding)
    if b"\x00" in data:
        wide = _wide_encoding(data)
        if wide is None:
            raise _not_text(data)
        return _strict(data, wide)
    if _ESCAPED_JAPANESE.search(data):
        return _strict(data, "iso2022_jp")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _by_code_page(data, error)


def _strict(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise _bad_encoding(f"It says that it is {encoding.upper()}, but byte {error.start + 1} is not") from error
    if "\x00" in text:
        raise _bad_encoding("It holds NUL characters")
    return text


def _wide_encoding(data: bytes) -> str | None:
    """UTF-16 or UTF-32 by the bytes that are zero in Latin text."""
    head = data[: min(_HEAD, len(data)) // 4 * 4]
    if not head:
        return None
    zeros = [head[offset::4].count(0) * 4 / len(head) for offset in range(4)]
    for encoding, empty in _WIDE.items():
        full = [zeros[offset] for offset in range(4) if offset not in empty]
        if min(zeros[offset] for offset in empty) >= _MANY and max(full) <= _FEW:
            return encoding
    return None


def _by_code_page(data: bytes, error: UnicodeDecodeError) -> str:
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if controls > _BINARY_SHARE * len(data):
        raise _not_text(data) from error
    sequences = len(_SEQUENCE.findall(data))
    rest = _SEQUENCE.sub(b"", data)
    if sequences > len(rest) - len(rest.translate(None, bytes(range(128, 256)))):
        raise _bad_encoding(f"It is UTF-8 text with a damaged character at byte {error.start + 1}") from error
    codec = find_code_page(data)
    if codec is None:
        raise _bad_encoding("It is no UTF-8, and no other encoding fits its letters with certainty") from error
    return data.decode(codec)


def _not_text(data: bytes) -> DocumentError:
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if controls - data.count(0) <= _BINARY_SHARE * len(data) and data.count(0) * 4 <= len(data):
        return _bad_encoding("It holds NUL bytes")
    return DocumentError(
        "UNSUPPORTED",
        "The file is binary data, not text.",
        "Upload it in the format of the program that made it, or export it as text, Markdown or PDF.",
    )


def _bad_encoding(detail: str) -> DocumentError:
    return DocumentError(
        "BAD_ENCODING",
        f"The letters of the file cannot be read with certainty. {detail}.",
        "Save the file as UTF-8 and upload it again.",
    )
