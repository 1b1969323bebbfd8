"""YAML front matter, with values as they were written: only null, true, false and plain whole numbers get a type."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from common.domain.documents import JsonValue

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LONGEST: Final = 1 << 16
_DEEPEST: Final = 20
_MOST_NODES: Final = 5_000
_SAFE_INTEGER: Final = 1 << 53

_OPENING: Final = re.compile(r"---[ \t]*(?=[\r\n])")
_CLOSING: Final = re.compile(r"(?:\r\n|\n|\r)(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE: Final = frozenset({"true", "True", "TRUE"})
_FALSE: Final = frozenset({"false", "False", "FALSE"})
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,15}")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands between the first two `---` lines; the body begins at `end` (0: there is no front matter)."""

    end: int = 0
    values: Mapping[str, JsonValue] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class _Unreadable(Exception):
    """The block is YAML that is not read; the message says why."""


def read_front_matter(text: str) -> FrontMatter:
    """The text's front matter. A block that is not closed within 64 KB or is no mapping is body; one that is broken, or
    grows without bounds by its aliases, is body too, with a warning.
    """
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end(), opening.end() + _LONGEST) if opening else None
    if opening is None or closing is None:
        return FrontMatter()
    builder = _Builder()
    try:
        values = builder.mapping(f"{text[opening.end() : closing.start()]}\n")
    except (yaml.YAMLError, _Unreadable) as error:
        return FrontMatter(warnings=(f"The front matter is read as text: {_reason(error)}.",))
    if values is None:
        return FrontMatter()
    return FrontMatter(closing.end(), values, tuple(builder.warnings))


def _reason(error: Exception) -> str:
    problem = getattr(error, "problem", None) or str(error) or "it is no valid YAML"
    mark = getattr(error, "problem_mark", None)
    return f"{problem} (line {mark.line + 1})" if mark else str(problem)


@dataclass(slots=True)
class _Builder:
    """Values from YAML's events, so that no tag, date or alias does more than it says."""

    nodes: int = 0
    anchors: dict[str, tuple[JsonValue, int]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def mapping(self, source: str) -> dict[str, JsonValue] | None:
        """The mapping that `source` is, None when it is something else."""
        events = yaml.parse(source, Loader=_LOADER)
        found: JsonValue = {}
        for event in events:
            if isinstance(event, yaml.NodeEvent):
                found = self._value(event, events, 0)
                break
        for event in events:
            if isinstance(event, yaml.NodeEvent):
                raise _Unreadable("it holds more than one YAML document")
        return found if isinstance(found, dict) else None

    def _value(self, event: yaml.NodeEvent, events: Iterator[Any], depth: int) -> JsonValue:
        before = self.nodes
        self._count(1)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(str(event.anchor))
        if depth > _DEEPEST:
            raise _Unreadable(f"it is nested more than {_DEEPEST} levels deep")
        value: JsonValue
        if isinstance(event, yaml.SequenceStartEvent):
            value = [self._value(item, events, depth + 1) for item in _until(yaml.SequenceEndEvent, events)]
        elif isinstance(event, yaml.MappingStartEvent):
            value = self._pairs(events, depth)
        elif isinstance(event, yaml.ScalarEvent):
            value = _scalar(event)
        else:
            raise _Unreadable("it holds something that is no value")
        if event.anchor:
            self.anchors[event.anchor] = value, self.nodes - before
        return value

    def _pairs(self, events: Iterator[Any], depth: int) -> dict[str, JsonValue]:
        pairs: dict[str, JsonValue] = {}
        for key in _until(yaml.MappingEndEvent, events):
            if not isinstance(key, yaml.ScalarEvent):
                raise _Unreadable("a key is not a plain word")
            name = _text(key.value)
            if name in pairs:
                self.warnings.append(f"The front matter names `{name[:100]}` twice; the last value counts.")
            pairs[name] = self._value(next(events), events, depth + 1)
        return pairs

    def _alias(self, anchor: str) -> JsonValue:
        if anchor not in self.anchors:
            raise _Unreadable(f"nothing is named `&{anchor}`")
        value, size = self.anchors[anchor]
        self._count(size)
        return value

    def _count(self, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > _MOST_NODES:
            raise _Unreadable(f"it holds more than {_MOST_NODES:,} values")


def _until(end: type[yaml.Event], events: Iterator[Any]) -> Iterator[Any]:
    for event in events:
        if isinstance(event, end):
            return
        yield event


def _scalar(event: yaml.ScalarEvent) -> JsonValue:
    written = _text(event.value)
    if event.style or event.tag:
        return written
    if written in _NULLS:
        return None
    if written in _TRUE or written in _FALSE:
        return written in _TRUE
    if _INTEGER.fullmatch(written) and abs(int(written)) < _SAFE_INTEGER:
        return int(written)
    return written


def _text(written: str) -> str:
    """The scalar, if it can be stored: an escape may name half of a character."""
    try:
        written.encode()
    except UnicodeEncodeError as error:
        raise _Unreadable("it escapes a character that does not exist") from error
    return written
