"""YAML as it is written: cut into its documents (`Deployment/web`) and, where these are long, by key. The text is never
loaded, so templates, tags and anchors of any dialect survive.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from common.adapters.parsers.code_blocks import SMALL, Unit, code_document, signature
from common.domain.documents import ParsedDocument

MAX_CHARACTERS: Final = 4 << 20
"""Longer documents are written by programs, for programs: they are cut by their lines alone."""
_MARKER: Final = re.compile(r"^(?:---|\.\.\.)(?=\s|\Z)", re.MULTILINE)
_CONTENT: Final = re.compile(r"^(?:---[ \t])?[ \t]*(?!---|\.\.\.)[^\s#]", re.MULTILINE)
_LINE: Final = re.compile(r"(?P<indent> *)(?P<rest>[^\n]*)\n?")
_KEY: Final = re.compile(
    r"""(?:"(?P<double>[^"\n]{1,200})"|'(?P<single>[^'\n]{1,200})'|(?P<plain>[^\s"'#\n][^\n]{0,200}?))[ \t]*:(?=\s|$)"""
)
_SCALAR: Final = re.compile(r"[|>][-+0-9]{0,3}[ \t]*(?:#[^\n]*)?$")
_OPENING: Final = re.compile(r"#|\{\{-?[ ]*(?:if|range|with|define|block|/\*)")
_KIND: Final = re.compile(r"^kind:[ \t]*([^\s#][^\n#]*)", re.MULTILINE)
_METADATA: Final = re.compile(r"^metadata:[ \t]*(?:\{[^\n]*?\bname:[ \t]*([^\s,}]+)|(?:#[^\n]*)?\r?\n)", re.MULTILINE)
_OBJECT_NAMES: Final = ("name", "generateName")
_ITEM_NAMES: Final = ("name", "id", "title", "hosts", "alert", "job_name", "uses")
_DEEPEST: Final = 4
_FEW_LINES: Final = 3
_LOOK_AHEAD: Final = 40
_LONGEST: Final = 80
_ASIDE: Final = -1


def parse_yaml(source: str, text: str) -> ParsedDocument:
    """The document of a YAML file or template. What has no keys stays plain blocks; never fails."""
    cuts = [match.start() for match in _MARKER.finditer(text)]
    units = [
        unit
        for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)
        if start < end
        for unit in _document(text, start, end)
    ]
    return code_document(source, text, units)


def _document(text: str, start: int, end: int) -> list[Unit]:
    written = text[start:end]
    if not _CONTENT.search(written) or end - start > MAX_CHARACTERS:
        return [Unit(start, end, loose=True)]
    title = _identity(written)
    headings = (title,) if title else ()
    if end - start <= SMALL:
        return [Unit(start, end, headings)]
    lines = list(_lines(text, start, end))
    first = 1 if _MARKER.match(written) else 0
    units = _opened(lines, _Span(0, len(lines), first, headings), end)
    return sorted(units, key=lambda unit: unit.start)


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
    def entry(self) -> tuple[str, str]:
        """Key and value as written, both empty where the line has none."""
        match = _KEY.match(self.rest.removeprefix("- ").lstrip())
        if not match:
            return "", ""
        return match["double"] or match["single"] or match["plain"], match.string[match.end() :]


def _lines(text: str, start: int, end: int) -> Iterator[_Line]:
    for match in _LINE.finditer(text, start, end):
        if match.start() == match.end():
            break
        rest = match["rest"].rstrip()
        aside = not rest or rest[0] in "#\t" or rest.startswith("{{")
        yield _Line(match.start(), _ASIDE if aside else len(match["indent"]), rest)


def _identity(written: str) -> str:
    """`Kind/name` of a Kubernetes object, `Kind` of one without a name, `""` for anything else."""
    kind = _KIND.search(written)
    if not kind:
        return ""
    metadata = _METADATA.search(written)
    name = ""
    if metadata:
        name = metadata[1] or _child(written, metadata.end())
    return "/".join(part for part in (_value(kind[1]), _value(name)) if part)


def _child(written: str, start: int) -> str:
    """The name among the keys that stand directly under the line before `start`."""
    level = _ASIDE
    found: dict[str, str] = {}
    for line in _lines(written, start, len(written)):
        if line.indent == 0:
            break
        level = line.indent if level < 0 else level
        if line.indent == level > 0:
            found.setdefault(*line.entry)
    return next((found[name] for name in _OBJECT_NAMES if name in found), "")


def _value(written: str) -> str:
    return written.split(" #", 1)[0].strip().strip("\"'")[:_LONGEST]


@dataclass(frozen=True, slots=True)
class _Span:
    """Lines `first` to `last` (exclusive) under their titles; the entries inside begin at line `inner`."""

    first: int
    last: int
    inner: int
    headings: tuple[str, ...]


def _opened(lines: Sequence[_Line], root: _Span, end: int) -> Iterator[Unit]:
    """The span as one unit where it is small, else by its entries, and those again; in no order."""

    def position(line: int) -> int:
        return lines[line].start if line < len(lines) else end

    waiting = [root]
    while waiting:
        span = waiting.pop()
        start, stop = position(span.first), position(span.last)
        parts = _parts(lines, span) if stop - start > SMALL and len(span.headings) < _DEEPEST else []
        if not parts:
            yield Unit(start, stop, span.headings)
            continue
        waiting += parts
        edges = [span.first, *(edge for part in parts for edge in (part.first, part.last)), span.last]
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            if first < last:
                yield Unit(position(first), position(last), span.headings, loose=True)


def _parts(lines: Sequence[_Line], span: _Span) -> list[_Span]:
    """The entries that are long enough to be units of their own; the short ones stay between them."""
    entries = _entries(lines, span)
    leads = [
        _lead(lines, entry, entries[number - 1] + 1 if number else span.first) for number, entry in enumerate(entries)
    ]
    parts = []
    for number, entry in enumerate(entries):
        first = leads[number] if number else span.first
        last = leads[number + 1] if number + 1 < len(entries) else span.last
        if last - entry >= _FEW_LINES:
            leaf = _SCALAR.search(lines[entry].rest)
            parts.append(_Span(first, last, last if leaf else entry + 1, (*span.headings, _name(lines, entry, last))))
    return parts


def _entries(lines: Sequence[_Line], span: _Span) -> list[int]:
    """The lines on which the entries of the outermost mapping or sequence begin."""
    inside = [number for number in range(span.inner, span.last) if lines[number].indent >= 0]
    if not inside:
        return []
    level, is_item = lines[inside[0]].indent, lines[inside[0]].is_item
    return [
        number
        for number in inside
        if lines[number].indent == level and lines[number].is_item == is_item and (is_item or lines[number].entry[0])
    ]


def _lead(lines: Sequence[_Line], entry: int, floor: int) -> int:
    """The first of the comments and opening template instructions right above an entry."""
    while entry > floor and lines[entry - 1].indent < 0 and _OPENING.match(lines[entry - 1].rest):
        entry -= 1
    return entry


def _name(lines: Sequence[_Line], entry: int, last: int) -> str:
    """The key of an entry, or what an item of a sequence calls itself."""
    line = lines[entry]
    if not line.is_item:
        return line.entry[0][:_LONGEST]
    own = [
        line,
        *(other for other in lines[entry + 1 : min(last, entry + _LOOK_AHEAD)] if other.indent == line.indent + 2),
    ]
    found = dict(reversed([other.entry for other in own]))
    name = next((_value(found[key]) for key in _ITEM_NAMES if _value(found.get(key, ""))), "")
    return name or signature(line.rest.removeprefix("- "))[:_LONGEST] or "-"
