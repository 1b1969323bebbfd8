"""The engine's filters and queries for a look-up."""

from collections.abc import Iterable

from qdrant_edge import (
    FieldCondition,
    Filter,
    HasIdCondition,
    HasVectorCondition,
    IsEmptyCondition,
    IsNullCondition,
    MatchAny,
    MatchValue,
    NestedCondition,
    Query,
    QueryRequest,
    RangeFloat,
    SparseVector,
)

from common.domain.index import Lookup
from common.domain.index_rules import LABELS, LEXICAL, conditions_of

Condition = (
    FieldCondition | IsEmptyCondition | IsNullCondition | HasIdCondition | HasVectorCondition | NestedCondition | Filter
)


def is_value(path: str, value: str | int) -> FieldCondition:
    return FieldCondition(path, match=MatchValue(value))


def version_filter(name: str, generation: int) -> Filter:
    return Filter(must=[is_value("object", name), is_value("generation", generation)])


def older_filter(name: str, below: int) -> Filter:
    return Filter(must=[is_value("object", name), FieldCondition("generation", range=RangeFloat(lt=below))])


def lookup_filter(lookup: Lookup) -> Filter | None:
    """What both lists are restricted to; None where every point may answer. Raises Refused (400)."""
    asked = conditions_of(lookup)
    must: list[Condition] = [FieldCondition(field, match=MatchAny(values)) for field, values in asked.fields.items()]
    must += [FieldCondition(LABELS, match=MatchAny(group)) for group in asked.labels]
    must_not: list[Condition] = [FieldCondition(LABELS, match=MatchAny(asked.without))] if asked.without else []
    return Filter(must=must or None, must_not=must_not or None) if must or must_not else None


def dense_query(question: Iterable[float], limit: int, condition: Filter | None) -> QueryRequest:
    return QueryRequest(limit=limit, query=Query.Nearest(list(question)), filter=condition, with_payload=False)


def lexical_query(lookup: Lookup, limit: int, condition: Filter | None) -> QueryRequest:
    question = SparseVector(list(lookup.lexical), list(lookup.lexical.values()))
    query = Query.Nearest(question, using=LEXICAL)
    return QueryRequest(limit=limit, query=query, filter=condition, with_payload=False)


def among(ids: Iterable[str]) -> Filter:
    return Filter(must=[HasIdCondition(set(ids))])
