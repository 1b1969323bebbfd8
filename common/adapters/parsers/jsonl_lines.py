"""The lines of a JSONL file, one at a time: what each says, or why it cannot be used."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from common.domain.documents import JsonValue
from common.domain.errors import DocumentError
from common.domain.splitting import is_blank

_BOM: Final = b"\xef\xbb\xbf"
_WIDE: Final = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_SPACE: Final = b" \t\r\n\x0b\x0c"
_PROVENANCE: Final = ("repoUrl", "commit")


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is skipped; `empty` tells one that is in order but holds no text."""

    number: int
    reason: str
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One object: its number in the file, its fields, and what a reader of the job should know about it."""

    number: int
    fields: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def content(self) -> str | None:
        """The text of the line; `text` stands in for `content`."""
        value = self.fields.get("content", self.fields.get("text"))
        return value if isinstance(value, str) else None

    @property
    def is_empty(self) -> bool:
        return self.content is not None and is_blank(self.content)

    @property
    def problem(self) -> str:
        """Why the content cannot be used, `""` when it can."""
        if "content" not in self.fields and "text" not in self.fields:
            return "it has no `content`"
        content = self.content
        if content is None:
            return "its `content` is not a text"
        if self.is_empty:
            return "its `content` is empty"
        if "\x00" in content:
            return "its `content` holds NUL characters"
        return "" if _is_unicode(content) else "its `content` holds half of a surrogate pair"

    @property
    def first_line(self) -> int | None:
        """The line of the source on which this part of it begins, counted from 1; None for one that does not say."""
        value = self.fields.get("firstLine")
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

    @property
    def external_id(self) -> str:
        value = self.fields.get("id")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return ""
        return str(value).strip() if _is_unicode(str(value)) else ""

    @property
    def metadata(self) -> dict[str, JsonValue]:
        given = self.fields.get("metadata")
        own = {name: self.text_field(name) for name in _PROVENANCE if self.text_field(name)}
        return {**(given if isinstance(given, dict) else {}), **own}

    def text_field(self, name: str) -> str:
        value = self.fields.get(name)
        return " ".join(value.split()) if isinstance(value, str) and _is_unicode(value) else ""


def read_lines(data: bytes) -> tuple[list[Line], list[BadLine]]:
    """The objects and the lines that are none, in order. Only a line feed ends a line."""
    lines: list[Line] = []
    bad: list[BadLine] = []
    for number, raw in _raw_lines(_utf8(data)):
        read = _read(number, raw)
        if isinstance(read, Line):
            lines.append(read)
        else:
            bad.append(BadLine(number, read))
    return lines, bad


def _utf8(data: bytes) -> bytes:
    encoding = _WIDE.get(data[:2])
    if encoding is None:
        return data
    try:
        return data.decode(encoding).encode()
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise DocumentError(
            "BAD_ENCODING", "The file begins like UTF-16 but is not.", "Save it as UTF-8 and upload it again."
        ) from error


def _raw_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Every line that is not blank, with its number; one at a time, so that only one is held twice."""
    number, start = 0, len(_BOM) if data.startswith(_BOM) else 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        number += 1
        raw = data[start:end].strip(_SPACE)
        if raw:
            yield number, raw
        start = end + 1


@dataclass(slots=True)
class _Reader:
    """Builds one line's objects; remembers the keys that stood twice."""

    repeated: list[str] = field(default_factory=list)

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) < len(pairs):
            seen: set[str] = set()
            self.repeated += [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
        return built


def _number(written: str) -> float | None:
    value = float(written)
    return value if math.isfinite(value) else None


def _read(number: int, raw: bytes) -> Line | str:
    reader = _Reader()
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=reader.pairs,
            parse_constant=lambda _: None,
            parse_float=_number,
        )
    except json.JSONDecodeError as error:
        return f"it is not valid JSON ({error.msg} at character {error.pos + 1})"
    except UnicodeDecodeError:
        return "it is not valid UTF-8"
    except ValueError:
        return "it holds a number that is too long"
    except RecursionError:
        return "it is nested too deeply"
    if not isinstance(value, dict):
        return "it is not an object"
    notes = [f"line {number}: the key `{key[:40]}` is repeated; its last value counts" for key in reader.repeated[:1]]
    if "metadata" in value and not isinstance(value["metadata"], dict | None):
        notes.append(f"line {number}: `metadata` is not an object and was ignored")
    return Line(number, value, tuple(notes))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
