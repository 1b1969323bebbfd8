"""YAML as it is written: cut into its documents (`Deployment/web`) and, where these are long, by key. The text is never
loaded, so templates, tags and anchors of any dialect survive.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from common.adapters.parsers.code_blocks import SMALL, Unit, code_document, signature
from common.domain.documents import ParsedDocument

_LINE: Final = re.compile(r"(?P<indent> *)(?P<rest>[^\n]*)(?:\n|\Z)")
_MARKER: Final = re.compile(r"(?:---|\.\.\.)(?:\s|$)")
_KEY: Final = re.compile(r"""(?:"(?P<double>[^"\n]{1,200})"|'(?P<single>[^'\n]{1,200})'|(?P<plain>[^\s"'#\n][^\n]{0,200}?))\s*:(?=\s|$)""")
_SCALAR: Final = re.compile(r"[|>][-+0-9]*[ \t]*(?:#[^\n]*)?$")
_OPENING: Final = re.compile(r"\{\{-?\s*(?:if|range|with|define|block|/\*)")
_KIND: Final = re.compile(r"^kind:[ \t]*([^\s#][^\n#]*)", re.MULTILINE)
_NAME: Final = re.compile(r"^metadata:[ \t]*(?:\{[^\n]*?\bname:[ \t]*([^\s,}]+)|(?:#[^\n]*)?\r?$)", re.MULTILINE)
_NAMES: Final = ("name", "generateName")
_ITEM_NAMES: Final = ("name", "id", "title", "hosts", "alert", "job_name", "uses", "run")
_DEEPEST: Final = 4
_FEW_LINES: Final = 3
_LONGEST: Final = 80
_ASIDE: Final = -1


def parse_yaml(source: str, text: str) -> ParsedDocument:
    """The document of a YAML file or template. What has no keys stays plain blocks; never fails."""
    lines = list(_lines(text))
    return code_document(source, text, list(_units(text, lines)))


@dataclass(frozen=True, slots=True)
class _Line:
    """`indent` is -1 where the line says nothing about structure: blank, a comment, a template's instruction."""

    start: int
    indent: int
    rest: str

    @property
    def is_item(self) -> bool:
        return self.rest == "-" or self.rest.startswith("- ")

    @property
    def key(self) -> str:
        match = _KEY.match(self.rest.removeprefix("- ").lstrip())
        return (match["double"] or match["single"] or match["plain"] or "") if match else ""

    @property
    def is_scalar(self) -> bool:
        return bool(_SCALAR.search(self.rest))


def _lines(text: str) -> Iterator[_Line]:
    for match in _LINE.finditer(text):
        if match.start() == match.end():
            break
        rest = match["rest"].rstrip()
        aside = not rest or rest[0] == "#" or rest.startswith(("{{", "%")) or rest[0] == "\t"
        yield _Line(match.start(), _ASIDE if aside else len(match["indent"]), rest)


def _units(text: str, lines: Sequence[_Line]) -> Iterator[Unit]:
    cuts = [number for number, line in enumerate(lines) if line.indent == 0 and _MARKER.match(line.rest)]
    for first, last in zip([0, *cuts], [*cuts, len(lines)], strict=True):
        if first < last:
            yield from _document(text, lines, first, last)


@dataclass(frozen=True, slots=True)
class _Span:
    """Lines `first` to `last` (exclusive) under their titles; the structure begins at line `inner`."""

    first: int
    last: int
    inner: int
    headings: tuple[str, ...]


def _document(text: str, lines: Sequence[_Line], first: int, last: int) -> Iterator[Unit]:
    start, end = lines[first].start, _end(text, lines, last)
    inner = first + (1 if lines[first].indent == 0 and _MARKER.match(lines[first].rest) else 0)
    if not any(line.indent >= 0 for line in lines[inner:last]):
        yield Unit(start, end, loose=True)
        return
    title = _identity(text[start:end])
    yield from _open(text, lines, _Span(first, last, inner, (title,) if title else ()))


def _identity(document: str) -> str:
    """`Kind/name` of a Kubernetes object, `Kind` of one without a name, `""` for anything else."""
    kind = _KIND.search(document)
    if not kind:
        return ""
    name = _NAME.search(document)
    given = ""
    if name:
        given = name[1] or _child(document[name.end() :], _NAMES)
    return "/".join(part for part in (_value(kind[1]), _value(given)) if part)


def _child(below: str, names: Sequence[str]) -> str:
    """The value of the first of the keys that stands directly under the line above."""
    level = _ASIDE
    found: dict[str, str] = {}
    for line in _lines(below.removeprefix("\r").removeprefix("\n")):
        if line.indent == 0:
            break
        level = line.indent if level < 0 else level
        if line.indent == level >= 0 and line.key in names:
            found.setdefault(line.key, line.rest.split(":", 1)[1])
    return next((found[name] for name in names if name in found), "")


def _value(written: str) -> str:
    return written.split(" #", 1)[0].strip().strip("\"'")[:_LONGEST]


def _open(text: str, lines: Sequence[_Line], root: _Span) -> Iterator[Unit]:
    """The span as one unit where it is small, else by its keys, and those again."""
    waiting = [root]
    while waiting:
        span = waiting.pop()
        start, end = lines[span.first].start, _end(text, lines, span.last)
        parts = _parts(lines, span) if end - start > SMALL and len(span.headings) < _DEEPEST else []
        if not parts:
            yield Unit(start, end, span.headings)
            continue
        position = span.first
        for part in parts:
            if part.first > position:
                yield Unit(lines[position].start, lines[part.first].start, span.headings, loose=True)
            position = part.last
        if position < span.last:
            yield Unit(lines[position].start, end, span.headings, loose=True)
        waiting += reversed(parts)


def _parts(lines: Sequence[_Line], span: _Span) -> list[_Span]:
    """The entries of a mapping or sequence that are long enough to be units; the short ones stay between them."""
    starts = _entries(lines, span)
    parts = []
    for number, start in enumerate(starts):
        last = starts[number + 1] if number + 1 < len(starts) else span.last
        first = _lead(lines, start, max(starts[number - 1] + 1 if number else span.inner, span.inner))
        parts.append((first, start, last))
    spans = []
    for number, (first, start, last) in enumerate(parts):
        last = parts[number + 1][0] if number + 1 < len(parts) else last  # noqa: PLW2901 - the next one's comments
        if last - start >= _FEW_LINES:
            begin = span.first if number == 0 else first
            inner = start if lines[start].is_item else start + 1
            spans.append(_Span(begin, last, last if lines[start].is_scalar else inner, (*span.headings, _name(lines, start, last))))
    return spans
