"""What every vector index refuses before it writes, and how it makes hits of its engine's lists, so that all answer
alike. Pure; conditions and requests in an engine's own terms belong to its adapter.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from common.domain.documents import JsonValue
from common.domain.errors import EmbeddingInvalid, Refused
from common.domain.index import Found, Hit, Lookup, Point

LEXICAL: Final = "lexical"
"""The sparse vector's name; the dense one is the unnamed default (CONTRACT, Stored point)."""
LABELS: Final = "_labels"
"""The payload field that adapters add for their filters, and take away again from what they answer."""
WORDS: Final = "words"
"""The payload field with the distinct words of a document, on its first passage."""
MAX_GENERATION: Final = 2**53
"""Engines compare ranges as doubles, which are exact up to here."""
_COMPARED: Final = (str, int, float)
_SHORTEST: Final = 1e-6
_LONGEST: Final = 1e18
_COLLECTION: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")

Scored = tuple[str, float]


class Place(NamedTuple):
    """Where a point stands; it never changes, because its id is made of it."""

    object: str
    generation: int
    document_id: str
    ordinal: int


PLACE_FIELDS: Final = Place._fields


def place_of(payload: Mapping[str, Any]) -> Place:
    """Raises ValueError when the payload does not say where its point stands."""
    try:
        return Place(*(payload[name] for name in PLACE_FIELDS))
    except KeyError as error:
        raise ValueError(f"the payload has no {error.args[0]!r}") from error


def without_labels(payload: Mapping[str, Any] | None) -> dict[str, Any]:
    """The payload as it was given to `upsert`."""
    return {key: value for key, value in (payload or {}).items() if key != LABELS}


def check_collection(name: str) -> str:
    """The name itself; raises ValueError for one that is not safe as a folder's name and in an address."""
    if not _COLLECTION.fullmatch(name):
        raise ValueError(f"{name!r} cannot name a collection")
    return name


def check_points(points: Sequence[Point], base: str, dimension: int) -> list[int]:
    """The bytes of each point's payload as JSON, after everything that would be stored has been looked at.

    Raises EmbeddingInvalid (with the position in `points`) for a vector that is not a direction, ValueError for another
    base's point or a wrong dimension, generation or lexical weight, TypeError for a payload that JSON cannot carry.
    """
    return [_check_point(position, point, base, dimension) for position, point in enumerate(points)]


def _check_point(position: int, point: Point, base: str, dimension: int) -> int:
    if point.payload.get("base") != base:
        raise ValueError(f"point {point.id} is of base {point.payload.get('base')!r}, not {base!r}")
    if point.vector is not None:
        _check_vector(position, point.vector, dimension)
    for code, weight in point.lexical.items():
        if not 0 <= code < 1 << 32 or not 0 < weight < math.inf:
            raise ValueError(f"point {point.id} has the lexical weight {weight} at {code}")
    if not 0 <= place_of(point.payload).generation <= MAX_GENERATION:
        raise ValueError(f"point {point.id} has generation {point.payload['generation']}")
    return _payload_bytes(point)


def _check_vector(position: int, vector: Sequence[float], dimension: int) -> None:
    if len(vector) != dimension:
        raise ValueError(f"a vector has {len(vector)} dimensions, the collection {dimension}")
    length = math.hypot(*vector)
    if not math.isfinite(length):
        raise EmbeddingInvalid(position, "its vector holds NaN or infinity")
    if not _SHORTEST < length < _LONGEST:
        raise EmbeddingInvalid(position, f"its vector has length {length:g}, which is no direction")


def _payload_bytes(point: Point) -> int:
    if LABELS in point.payload:
        raise ValueError(f"the payload of point {point.id} holds {LABELS!r}, which is the index's own")
    try:
        return len(json.dumps(point.payload, ensure_ascii=False, allow_nan=False).encode())
    except ValueError as error:
        raise TypeError(f"the payload of point {point.id} is no JSON: {error}") from error


def check_lookup(lookup: Lookup, dimension: int) -> None:
    """Raises ValueError for a question of another dimension, or one that is not finite."""
    if lookup.dense is not None and len(lookup.dense) != dimension:
        raise ValueError(f"the question has {len(lookup.dense)} dimensions, the collection {dimension}")
    if not math.isfinite(math.hypot(*(lookup.dense or ()), *lookup.lexical.values())):
        raise ValueError("the question holds NaN or infinity")


def asks_for_nothing(lookup: Lookup) -> bool:
    """True when no point can be found: no list is wanted, or the filter allows no value at all."""
    none_allowed = lookup.filter.documents == () or any(not values for values in lookup.filter.metadata.values())
    return lookup.limit <= 0 or none_allowed or (lookup.dense is None and not lookup.lexical)


def labels_of(payload: Mapping[str, Any]) -> list[int]:
    """What filters look for, as numbers under which a point is indexed: its version and each metadata value.

    A condition on the metadata itself would read every payload (140 ms at 14,000 passages on Edge, against 1 ms).
    """
    labels = {version_label(payload["object"], payload["generation"])}
    if WORDS in payload:
        labels.add(WITH_WORDS)
    for key, held in (payload.get("metadata") or {}).items():
        values = held if isinstance(held, list | tuple) else [held]
        labels.update(_value_label(key, value) for value in values if isinstance(value, _COMPARED))
    return sorted(labels)


def metadata_passes(metadata: Mapping[str, Any], wanted: Mapping[str, Sequence[JsonValue]]) -> bool:
    """Whether a document's metadata meets a filter's conditions, as the index would judge it."""
    held = frozenset(labels_of({"object": "", "generation": 0, "metadata": metadata}))
    return all(any(_wanted_label(key, value) in held for value in values) for key, values in wanted.items())


def version_label(name: str, generation: int) -> int:
    return _label("version", name, generation)


def _value_label(key: str, value: str | float) -> int:
    """Numbers are equal by value (1 and 1.0), and differ from texts and bools."""
    return _label("metadata", key, int(value) if isinstance(value, float) and value.is_integer() else value)


def _label(*parts: str | float) -> int:
    """63 bits of a hash: two of a million labels meet with odds of 1 in 18 million."""
    text = json.dumps(parts).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1


WITH_WORDS: Final = _label("words")
"""The label of points that carry WORDS."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a look-up demands: of each payload field in `fields` one of the values, of each group in `labels` one, and
    none of `without`.
    """

    fields: Mapping[str, list[str]]
    labels: list[list[int]]
    without: list[int]


def conditions_of(lookup: Lookup) -> Conditions:
    """Raises Refused (400) for a filter's value that is neither a text nor a number nor a bool."""
    wanted = lookup.filter
    fields = {} if wanted.documents is None else {"document_id": list(wanted.documents)}
    if wanted.categories:
        fields["category"] = list(wanted.categories)
    labels = [[_wanted_label(key, value) for value in values] for key, values in wanted.metadata.items()]
    return Conditions(fields, labels, sorted(version_label(*version) for version in lookup.dead))


def _wanted_label(key: str, value: JsonValue) -> int:
    if not isinstance(value, _COMPARED) or (isinstance(value, float) and not math.isfinite(value)):
        raise Refused(400, "BAD_FILTER", f"The filter's values for {key!r} are texts, numbers or bools.", "filter")
    return _value_label(key, value)


def in_order(scored: Iterable[Scored]) -> list[Scored]:
    """Best first, equal scores by id."""
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


@dataclass(frozen=True, slots=True)
class Lists:
    """The two lists of one look-up, each in order and at most `limit` long; None for one that was not asked for."""

    dense: list[Scored] | None
    lexical: list[Scored] | None

    @property
    def without_dense(self) -> list[str]:
        """Candidates whose cosine is still to be asked for."""
        return [] if self.dense is None else _missing(self.lexical or [], self.dense)

    @property
    def without_lexical(self) -> list[str]:
        """Candidates whose BM25 is still to be asked for."""
        return [] if self.lexical is None else _missing(self.dense or [], self.lexical)


def ordered_lists(dense: Iterable[Scored] | None, lexical: Iterable[Scored] | None) -> Lists:
    """The engine's lists put in order; the lexical one holds only what shares a term with the question."""
    return Lists(
        None if dense is None else in_order(dense),
        None if lexical is None else in_order(lexical),
    )


def _missing(these: Sequence[Scored], those: Sequence[Scored]) -> list[str]:
    known = {point for point, _ in those}
    return [point for point, _ in these if point not in known]


def found(
    lists: Lists,
    more_dense: Iterable[Scored],
    more_lexical: Iterable[Scored],
    place: Callable[[str], Place | None],
    limit: int,
) -> Found:
    """The union: first the dense list in order, then what the lexical list alone holds.

    `more_dense` and `more_lexical` are the scores asked for afterwards. A point whose `place` is gone by then was
    deleted meanwhile and is left out.
    """
    dense, lexical = lists.dense or [], lists.lexical or []
    dense_rank = {point: rank for rank, (point, _) in enumerate(dense, 1)}
    lexical_rank = {point: rank for rank, (point, _) in enumerate(lexical, 1)}
    cosines, weights = dict(dense) | dict(more_dense), dict(lexical) | dict(more_lexical)
    hits = []
    for point in dense_rank | lexical_rank:
        where = place(point)
        if where is not None:
            ranks = dense_rank.get(point), lexical_rank.get(point)
            hits.append(Hit(point, *where, cosines.get(point), weights.get(point, 0.0), *ranks))
    return Found(tuple(hits), full=len(dense) >= limit or len(lexical) >= limit)
