"""A collection that is not ours, under the name by which a base is read from outside: its points by document, and each
document as one of ours. Pure; what its objects' records say is adoption.py's.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from common.domain.documents import Block, JsonValue, ParsedDocument
from common.domain.objects import digest, ignored_name, source_problem
from common.domain.splitting import is_blank
from common.domain.titles import file_title, short_title

NAMED: Final = 100
"""How many points without text are named."""
_TEXT: Final = "text"
_PLACES: Final = ("ordinal", "chunk_index", "chunk", "position", "index")
"""Under which of these names a payload says where in its document it stands."""
_SEPARATOR: Final = "\n\n"
_LONGEST: Final = 1_000
_SCALARS: Final = (str, int, float, bool)

PointKey = str | int


@dataclass(frozen=True, slots=True)
class Foreign:
    """A collection that is not ours under the name that outside readers of a base know; `dimension` 0 where it has no
    default vector.
    """

    name: str
    points: int
    dimension: int

    def sentence(self, base: str) -> str:
        """What to say of a base that is not ours yet, with the command that makes it ours."""
        return (
            f"Base {base} is not ours yet: {self.name} is a collection of an unknown model ({self.points} points). "
            f"Adopt it with `fichario reindex start --base {base}`."
        )


@dataclass(frozen=True, slots=True)
class ForeignPoint:
    """One point of it."""

    id: PointKey
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ForeignDocument:
    """Points that belong together, in order; `name` is what their object is called, `external_id` what they call their
    document themselves.
    """

    name: str
    external_id: str
    points: tuple[PointKey, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """What such a collection holds: no text is kept but a sample's."""

    documents: tuple[ForeignDocument, ...]
    points: int
    without_text: tuple[PointKey, ...]
    sample: tuple[Mapping[str, Any], ...]


@dataclass(slots=True)
class _Group:
    """The points of one document while they are being collected."""

    external_id: str = ""
    sources: set[str] = field(default_factory=set)
    points: list[tuple[float, bool, PointKey]] = field(default_factory=list)


def text_of(payload: Mapping[str, Any]) -> str:
    """The passage's text, empty where there is none to read."""
    text = payload.get(_TEXT)
    if not isinstance(text, str) or is_blank(text):
        return ""
    return text.encode(errors="replace").decode()


def survey(points: Iterable[ForeignPoint], *, every: int = 1, most: int = 0) -> Survey:
    """One look at all points; each `every`th with text is kept as a sample, `most` of them."""
    groups: dict[tuple[str, PointKey], _Group] = {}
    without: list[PointKey] = []
    sample: list[Mapping[str, Any]] = []
    count = 0
    for point in points:
        readable = bool(text_of(point.payload))
        if not readable:
            without.append(point.id)
        elif count % max(1, every) == 0 and len(sample) < most:
            sample.append(point.payload)
        count += 1
        _collect(groups, point)
    return Survey(tuple(_documents(groups)), count, tuple(without), tuple(sample))


def _collect(groups: dict[tuple[str, PointKey], _Group], point: ForeignPoint) -> None:
    named, source = _name(point.payload.get("document_id")), _name(point.payload.get("source"))
    key: tuple[str, PointKey] = ("point", point.id)
    if named or source:
        key = ("document", named) if named else ("source", source)
    group = groups.setdefault(key, _Group(named))
    # A few tell whether they agree.
    if source and len(group.sources) < 2:  # noqa: PLR2004 - see above
        group.sources.add(source)
    group.points.append((_place(point.payload), isinstance(point.id, str), point.id))


def _documents(groups: Mapping[tuple[str, PointKey], _Group]) -> Iterable[ForeignDocument]:
    """The same names for the same points, in whatever order they came."""
    owners: dict[str, int] = {}
    for group in groups.values():
        for source in group.sources:
            owners[source] = owners.get(source, 0) + 1
    taken: set[str] = set()
    for key in sorted(groups, key=lambda key: (key[0], str(key[1]))):
        group = groups[key]
        source = next(iter(group.sources)) if len(group.sources) == 1 else ""
        unique = source if source and owners[source] == 1 else ""
        wished = (unique, group.external_id, f"foreign/{key[1]}")
        name = next((w for w in wished if w not in taken and _can_name(w)), f"foreign/{digest('foreign', *key)}")
        taken.add(name)
        yield ForeignDocument(name, group.external_id, tuple(point for *_, point in sorted(group.points)))


def _can_name(name: str) -> bool:
    return bool(name) and source_problem(name) is None and ignored_name(name) is None


def _name(value: object) -> str:
    """A document's id or source as a text; empty for what is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = str(value).encode(errors="replace").decode()
    return "" if is_blank(text) else text


def _place(payload: Mapping[str, Any]) -> float:
    values = (payload.get(name) for name in _PLACES)
    return next((float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool) and v == v), 0.0)  # noqa: PLR0124 - not for NaN


def adopted_document(document: ForeignDocument, points: Sequence[ForeignPoint]) -> ParsedDocument | None:
    """One of ours made of its texts, each of which stays a passage where it fits the model; None without any text."""
    texts = [text for text in (text_of(point.payload) for point in points) if text]
    if not texts:
        return None
    blocks, start = [], 0
    for text in texts:
        blocks.append(Block(start, start + len(text), whole=True, alone=True))
        start += len(text) + len(_SEPARATOR)
    payloads = [point.payload for point in points]
    first = payloads[0]
    title, category = first.get("title"), first.get("category")
    without = [str(point.id) for point in points if not text_of(point.payload)]
    warnings = (f"{len(without)} points without text were left out: {', '.join(without)}",) if without else ()
    return ParsedDocument(
        source=document.name,
        title=short_title(title) if isinstance(title, str) and not is_blank(title) else file_title(document.name),
        text=_SEPARATOR.join(texts),
        blocks=tuple(blocks),
        category=category if isinstance(category, str) else "",
        external_id=document.external_id,
        metadata=_metadata(payloads),
        warnings=warnings,
    )


def _metadata(payloads: Sequence[Mapping[str, Any]]) -> dict[str, JsonValue]:
    """What all points of the document say alike, as far as one could ask for it."""
    first = payloads[0]
    own = first.get("metadata") if isinstance(first.get("metadata"), Mapping) else {}
    shared = {key: value for key, value in first.items() if all(each.get(key) == value for each in payloads)}
    kept = {**(own if "metadata" in shared and own else {}), **shared}
    return {key: value for key, value in kept.items() if key not in {_TEXT, "metadata"} and _is_plain(value)}


def _is_plain(value: object) -> bool:
    values = value if isinstance(value, list) else [value]
    try:
        size = len(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return False
    return size <= _LONGEST and all(isinstance(each, _SCALARS) for each in values)
