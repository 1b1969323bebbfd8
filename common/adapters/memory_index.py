"""The vector index as exact plain Python in memory: the reference that the engines are compared with, and the index of
tests. Nothing outlives the process.
"""

import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import mul
from typing import Any

from common.adapters.memory_foreign import MemoryForeign
from common.domain.documents import JsonValue
from common.domain.errors import Misconfigured, Unavailable
from common.domain.index import Found, Lookup, Point
from common.domain.index_rules import (
    WORDS,
    Scored,
    asks_for_nothing,
    check_collection,
    check_lookup,
    check_points,
    conditions_of,
    found,
    in_order,
    labels_of,
    ordered_lists,
    place_of,
)
from common.domain.lexical import bm25
from common.ports import CollectionShape, ForeignCollections


@dataclass(slots=True)
class _Stored:
    base: str
    shape: CollectionShape
    points: dict[str, Point] = field(default_factory=dict)


class MemoryIndex:
    """VectorIndex (see the port) that scores every point, one call at a time."""

    outside = True

    def __init__(self) -> None:
        self._aliases: dict[str, str] = {}
        self.foreign: ForeignCollections = MemoryForeign(self._aliases)
        self._lock = threading.RLock()
        self._collections: dict[str, _Stored] = {}

    def create(self, base: str, collection: str, shape: CollectionShape) -> None:
        check_collection(collection)
        with self._lock:
            self._collections.setdefault(collection, _Stored(base, shape))
            stored = self._of(base, collection)
            if stored.shape != shape:
                raise Misconfigured(f"collection {collection} exists with {stored.shape}, asked for with {shape}")

    def drop(self, base: str, collection: str) -> None:
        with self._lock:
            if collection in self._collections:
                self._of(base, collection)
                del self._collections[collection]
                for of in [of for of, name in self._aliases.items() if name == collection]:
                    del self._aliases[of]

    def collections(self, base: str) -> Sequence[str]:
        with self._lock:
            return sorted(name for name, stored in self._collections.items() if stored.base == base)

    def set_alias(self, base: str, collection: str) -> None:
        with self._lock:
            self._of(base, collection)
            if (found := self.foreign.of(base)) is not None and found.name == base:
                raise Misconfigured(f"a collection is called {base}, which is this base's alias")
            self._aliases[base] = collection

    def alias(self, base: str) -> str | None:
        return self._aliases.get(base)

    def upsert(self, base: str, collection: str, points: Sequence[Point]) -> None:
        with self._lock:
            stored = self._of(base, collection)
            check_points(points, base, stored.shape.dimension)
            stored.points |= {point.id: _copy(point) for point in points}

    def sweep(self, base: str, collection: str, name: str, below: int) -> None:
        self._delete(base, collection, lambda key: key[0] == name and key[1] < below)

    def discard(self, base: str, collection: str, name: str, generation: int) -> None:
        self._delete(base, collection, lambda key: key == (name, generation))

    def stored(self, base: str, collection: str, name: str, generation: int) -> Iterator[Point]:
        with self._lock:
            points = [point for point in self._points(base, collection) if _version(point) == (name, generation)]
        points.sort(key=lambda point: (point.payload.get("source", ""), point.payload["ordinal"]))
        return map(_copy, points)

    def lookup(self, base: str, collection: str, lookup: Lookup) -> Found:
        with self._lock:
            stored = self._of(base, collection)
            check_lookup(lookup, stored.shape.dimension)
            allowed = _allows(lookup)
            if asks_for_nothing(lookup):
                return Found((), full=False)
            points = {point.id: point for point in stored.points.values() if allowed(point)}
        dense = _cosines(lookup, points.values())
        lexical = _weights(lookup, points.values())
        lists = ordered_lists(
            None if lookup.dense is None else in_order(dense)[: lookup.limit],
            in_order(lexical)[: lookup.limit] if lookup.lexical else None,
        )
        return found(lists, dense, lexical, lambda point: place_of(points[point].payload), lookup.limit)

    def frequencies(self, base: str, collection: str, terms: Sequence[int]) -> tuple[int, Mapping[int, int]]:
        with self._lock:
            points = self._points(base, collection)
            held = Counter(term for point in points for term in {*_terms(point)}.intersection(terms))
        return len(points), {term: held[term] for term in terms}

    def payloads(self, base: str, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        with self._lock:
            points = self._of(base, collection).points
            return {point: _plain(points[point].payload) for point in ids if point in points}

    def passages(
        self, base: str, collection: str, document_id: str, generation: int, ordinals: Collection[int] | None = None
    ) -> Sequence[Mapping[str, Any]]:
        with self._lock:
            payloads = [point.payload for point in self._points(base, collection)]
        of_document = [
            _plain(payload)
            for payload in payloads
            if payload["document_id"] == document_id
            and payload["generation"] == generation
            and (ordinals is None or payload["ordinal"] in ordinals)
        ]
        return sorted(of_document, key=lambda payload: payload["ordinal"])

    def vocabulary(self, base: str, collection: str) -> Iterator[str]:
        found = [point.payload.get(WORDS) for point in self._points(base, collection)]
        return (words for words in found if isinstance(words, str))

    def generations(self, base: str, collection: str) -> Mapping[tuple[str, int], int]:
        with self._lock:
            return Counter(map(_version, self._points(base, collection)))

    def optimise(self, base: str, collection: str) -> None:
        with self._lock:
            self._of(base, collection)

    def flush(self) -> None:
        """Nothing to do: nothing here survives the process."""

    def close(self) -> None:
        """Nothing to release."""

    def _of(self, base: str, collection: str) -> _Stored:
        stored = self._collections.get(collection)
        if stored is None:
            raise Unavailable(f"collection {collection} does not exist")
        if stored.base != base:
            raise ValueError(f"collection {collection} belongs to another base than {base}")
        return stored

    def _points(self, base: str, collection: str) -> list[Point]:
        return list(self._of(base, collection).points.values())

    def _delete(self, base: str, collection: str, gone: Callable[[tuple[str, int]], bool]) -> None:
        with self._lock:
            if collection in self._collections:
                stored = self._of(base, collection)
                stored.points = {key: point for key, point in stored.points.items() if not gone(_version(point))}


def _version(point: Point) -> tuple[str, int]:
    place = place_of(point.payload)
    return place.object, place.generation


def _plain(payload: Mapping[str, JsonValue]) -> dict[str, Any]:
    """A copy as JSON would carry it, so that nothing stored is shared with the caller."""
    copy: dict[str, Any] = json.loads(json.dumps(payload))
    return copy


def _copy(point: Point) -> Point:
    """The point as an engine keeps it: the vector as a direction, nothing shared with the caller."""
    length = math.hypot(*(point.vector or ()))
    vector = None if point.vector is None else tuple(value / length for value in point.vector)
    return Point(point.id, vector, dict(point.lexical), _plain(point.payload))


def _terms(point: Point) -> Iterable[int]:
    terms: Any = point.payload.get("terms", ())
    return terms  # type: ignore[no-any-return]


def _cosines(lookup: Lookup, points: Iterable[Point]) -> list[Scored]:
    if lookup.dense is None:
        return []
    question, length = lookup.dense, math.hypot(*lookup.dense) or 1.0
    return [(point.id, sum(map(mul, question, point.vector)) / length) for point in points if point.vector is not None]


def _weights(lookup: Lookup, points: Iterable[Point]) -> list[Scored]:
    scored = ((point.id, bm25(lookup.lexical, point.lexical)) for point in points)
    return [pair for pair in scored if pair[1] > 0]


def _allows(lookup: Lookup) -> Callable[[Point], bool]:
    """Raises Refused (400) for a filter that cannot be looked up."""
    conditions = conditions_of(lookup)

    def allowed(point: Point) -> bool:
        labels = set(labels_of(point.payload))
        return (
            all(point.payload.get(field) in values for field, values in conditions.fields.items())
            and all(labels.intersection(group) for group in conditions.labels)
            and labels.isdisjoint(conditions.without)
        )

    return allowed
