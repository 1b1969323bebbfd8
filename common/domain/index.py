"""What the vector index is given and answers: points, look-ups and hits. Pure data, equal on every adapter."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from common.domain.documents import JsonValue
from common.domain.objects import ObjectRef

_NAMESPACE: Final = uuid.UUID("6b1f3c1e-94d0-4b7e-9a61-0d5f6f1c2a77")
MAX_FILTER_KEYS: Final = 10
MAX_FILTER_VALUES: Final = 100


@dataclass(frozen=True, slots=True)
class Point:
    """One stored passage: `vector` (None: lexical only), `lexical` as term hash -> weight, and the payload."""

    id: str
    vector: tuple[float, ...] | None
    lexical: Mapping[int, float]
    payload: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class IndexFilter:
    """Conditions that all hold; within one key any of the values. `documents` are document ids, None for all."""

    documents: tuple[str, ...] | None = None
    categories: tuple[str, ...] = ()
    metadata: Mapping[str, tuple[JsonValue, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lookup:
    """One question: a unit vector, the question's terms as hash -> idf, and how many of each list are wanted.

    `dead` are (object, generation) pairs to leave out.
    """

    dense: tuple[float, ...] | None
    lexical: Mapping[int, float]
    limit: int
    filter: IndexFilter = IndexFilter()
    dead: frozenset[tuple[str, int]] = frozenset()


# Not frozen, though nothing changes one: a hundred are made per question and read ten times each. A frozen dataclass
# takes four times as long to make, a named tuple twice as long to read.
@dataclass(slots=True)
class Hit:
    """A candidate with both true scores: cosine (None without a dense question or vector) and BM25 (0 for no term).

    `dense_rank` and `lexical_rank` are its 1-based places in the two lists, None where it was not listed.
    """

    id: str
    object: str
    generation: int
    document_id: str
    ordinal: int
    dense: float | None
    lexical: float
    dense_rank: int | None = None
    lexical_rank: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The union of both lists; `full` is True when a list held as many as were asked for, so more may exist."""

    hits: tuple[Hit, ...]
    full: bool


def point_id(ref: ObjectRef, generation: int, source: str, ordinal: int) -> str:
    """A UUID made of object, generation and position, so writing again overwrites."""
    return str(uuid.uuid5(_NAMESPACE, f"{ref.base}\x1f{ref.name}\x1f{generation}\x1f{source}\x1f{ordinal}"))
