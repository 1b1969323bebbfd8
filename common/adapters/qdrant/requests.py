"""The client's filters, queries and points for what the port asks; each filter holds to one base."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from qdrant_client import models

from common.domain.errors import DocumentError
from common.domain.index import Lookup, Point
from common.domain.index_rules import LABELS, LEXICAL, PLACE_FIELDS, Scored, conditions_of, labels_of, without_labels

# The longest a double, and the longest pair of a term and its weight, can be in JSON with their separators.
_NUMBER: Final = 26
_WEIGHT: Final = 38
_AROUND: Final = 200


def is_value(path: str, value: str | int) -> models.FieldCondition:
    return models.FieldCondition(key=path, match=models.MatchValue(value=value))


def any_of(path: str, values: list[str] | list[int]) -> models.FieldCondition:
    return models.FieldCondition(key=path, match=models.MatchAny(any=values))


def of_base(base: str, *conditions: models.Condition) -> models.Filter:
    """All of the conditions, among the base's points."""
    return models.Filter(must=[is_value("base", base), *conditions])


def of_version(base: str, name: str, generation: int) -> models.Filter:
    return of_base(base, is_value("object", name), is_value("generation", generation))


def older(base: str, name: str, below: int) -> models.Filter:
    below_it = models.FieldCondition(key="generation", range=models.Range(lt=below))
    return of_base(base, is_value("object", name), below_it)


def of_document(base: str, document_id: str, generation: int, ordinals: Collection[int] | None) -> models.Filter:
    conditions = [is_value("document_id", document_id), is_value("generation", generation)]
    if ordinals is not None:
        conditions.append(any_of("ordinal", list(ordinals)))
    return of_base(base, *conditions)


def among(base: str, ids: Iterable[str]) -> models.Filter:
    return of_base(base, models.HasIdCondition(has_id=list(ids)))


def lookup_filter(base: str, lookup: Lookup) -> models.Filter:
    """What both lists are restricted to. Raises Refused (400)."""
    asked = conditions_of(lookup)
    condition = of_base(
        base,
        *(any_of(field, values) for field, values in asked.fields.items()),
        *(any_of(LABELS, group) for group in asked.labels),
    )
    condition.must_not = [any_of(LABELS, asked.without)] if asked.without else None
    return condition


def dense_query(lookup: Lookup, limit: int, condition: models.Filter) -> models.QueryRequest:
    return models.QueryRequest(
        query=list(lookup.dense or ()), limit=limit, filter=condition, with_payload=list(PLACE_FIELDS)
    )


def lexical_query(lookup: Lookup, limit: int, condition: models.Filter) -> models.QueryRequest:
    question = models.SparseVector(indices=list(lookup.lexical), values=list(lookup.lexical.values()))
    return models.QueryRequest(
        query=question, using=LEXICAL, limit=limit, filter=condition, with_payload=list(PLACE_FIELDS)
    )


def packed(points: Sequence[Point], payload_bytes: Sequence[int], limit: int, count: int) -> list[list[Point]]:
    """The points in order, in requests of at most `limit` bytes and `count` points.

    Raises DocumentError TOO_LARGE for a point that no request can carry.
    """
    requests: list[list[Point]] = [[]]
    filled = 0
    for point, payload in zip(points, payload_bytes, strict=True):
        numbers = len(point.vector or ()) + len(labels_of(point.payload))
        size = payload + _NUMBER * numbers + _WEIGHT * len(point.lexical) + _AROUND
        if size + _AROUND > limit:
            raise DocumentError(
                "TOO_LARGE",
                f"One passage of the file takes {size:,} bytes with its metadata; the index stores up to {limit:,}.",
                "Shorten the metadata or split the file, then upload it again.",
            )
        if filled + size + _AROUND > limit or len(requests[-1]) == count:
            requests.append([])
            filled = 0
        requests[-1].append(point)
        filled += size
    return [request for request in requests if request]


def stored_point(point: Point) -> models.PointStruct:
    vectors: dict[str, Any] = {} if point.vector is None else {"": list(point.vector)}
    if point.lexical:
        weights = models.SparseVector(indices=list(point.lexical), values=list(point.lexical.values()))
        vectors[LEXICAL] = weights
    return models.PointStruct(id=point.id, vector=vectors, payload={**point.payload, LABELS: labels_of(point.payload)})


def read_point(record: models.Record) -> Point:
    vectors: Any = record.vector or {}
    if isinstance(vectors, list):
        vectors = {"": vectors}
    dense, lexical = vectors.get(""), vectors.get(LEXICAL)
    return Point(
        id=str(record.id),
        vector=None if dense is None else tuple(dense),
        lexical={} if lexical is None else dict(zip(lexical.indices, lexical.values, strict=True)),
        payload=without_labels(record.payload),
    )


def scores(hits: Iterable[models.ScoredPoint] | None) -> list[Scored] | None:
    return None if hits is None else [(str(hit.id), hit.score) for hit in hits]


def source_and_ordinal(record: models.Record) -> tuple[str, int]:
    payload = record.payload or {}
    return payload.get("source", ""), payload["ordinal"]


def dimension_of(params: models.CollectionParams) -> int | None:
    """The size of the default vector (0: there is none), None for a collection that is not as ours are."""
    vectors, lexical = params.vectors or {}, (params.sparse_vectors or {}).get(LEXICAL)
    dense = vectors.get("") if isinstance(vectors, dict) else vectors
    if lexical is None or lexical.modifier not in {None, models.Modifier.NONE}:
        return None
    if dense is None:
        return None if vectors else 0
    return dense.size if dense.distance == models.Distance.COSINE and dense.multivector_config is None else None
