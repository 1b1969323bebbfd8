"""A question and its answer as the query function knows them: what is asked, and everything that is said back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from common.domain.documents import JsonValue
from common.domain.fusion import Fused, Method, Mode
from common.domain.gate import GateDecision, Threshold

NO_MATCH: Final = "NO_KB_MATCH"
MAX_QUERY: Final = 4000
MAX_TOP_K: Final = 50
LEAST_POOL: Final = 50
Rerank = Literal["off", "mmr", "llm"]
Scalar = str | int | float | bool
CacheState = Literal["hit", "miss", "shared"]


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Conditions on documents: a prefix of their source, their category, any key of their metadata."""

    source_prefix: str = ""
    categories: tuple[str, ...] = ()
    metadata: tuple[tuple[str, tuple[JsonValue, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Search:
    """One question, checked: 1 to 4,000 characters, `top_k` 1 to 50."""

    query: str
    top_k: int = 5
    mode: Mode = "hybrid"
    threshold: Threshold = "auto"
    filter: SearchFilter = SearchFilter()
    rerank: Rerank = "off"
    fusion: Method = "sum"
    measuring: bool = field(default=False, compare=False)
    """True for one that measures the base: answered as any other, and not kept as a real question."""

    def __hash__(self) -> int:
        # Of the words alone: a question is hashed six times on its way, and equal ones are told apart by all fields.
        return hash(self.query)

    @property
    def pool(self) -> int:
        """How many candidates each list is asked for (RULES 12)."""
        return max(LEAST_POOL, 2 * self.top_k)

    @property
    def key(self) -> tuple["Search", tuple[str, ...]]:
        """What caches know it by: 1, 1.0 and True are equal and are not the same condition."""
        return self, tuple(type(value).__name__ for _, values in self.filter.metadata for value in values)


# A tuple: made by place it takes a ninth of the time of a frozen dataclass.
class AnswerPassage(NamedTuple):
    """One passage of an answer, with its scores and what it cites."""

    id: str
    text: str
    score: float
    dense_score: float | None
    lexical_score: float
    terms: tuple[str, ...]
    base: str
    source: str
    title: str
    headings: tuple[str, ...]
    page: int | None
    lines: tuple[int, int] | None
    document_id: str
    generation: int
    object: str
    ordinal: int
    before: str
    """What stands between the document's passage before this one and this one."""
    stale: bool
    absolute: float
    """The score under fusion by absolute terms, whichever fusion was asked for: comparable between bases."""
    category: str = ""
    metadata: tuple[tuple[str, Scalar], ...] = ()
    """Of the document's metadata what is one value."""

    @property
    def citation(self) -> str:
        return cited(self.source, self.lines, self.page)


@dataclass(frozen=True, slots=True)
class Related:
    """A document that was not hit but stands near those that were, and why."""

    base: str
    source: str
    title: str
    reason: str


@dataclass(frozen=True, slots=True)
class BaseShare:
    """What one of several bases said to a question."""

    base: str
    weight: float
    gate: GateDecision
    mode: Mode
    degraded: bool
    cache: CacheState
    fingerprint: str
    epoch: int


class Answer(NamedTuple):
    """What a base, or several, answer to one question. `timings_ms` holds epoch, embed, index, rank and total;
    `settled` is False for one that a moment later may be better and that no cache keeps.
    """

    passages: tuple[AnswerPassage, ...]
    gate: GateDecision
    mode: Mode
    degraded: bool = False
    cache: CacheState = "miss"
    collection: str = ""
    fingerprint: str = ""
    epoch: int = 0
    query_tokens: int = 0
    embedded: bool = False
    timings_ms: Mapping[str, float] = MappingProxyType({})
    warnings: tuple[str, ...] = ()
    rerank_tokens: tuple[int, int] | None = None
    settled: bool = True
    bases: tuple[BaseShare, ...] = ()
    related: tuple[Related, ...] = ()

    @property
    def match(self) -> bool:
        return self.gate.decision == "match"

    def again(self, timings_ms: Mapping[str, float]) -> "Answer":
        """The same out of a cache: nothing was embedded for it, nor put in order by a model."""
        return self._replace(cache="hit", embedded=False, rerank_tokens=None, timings_ms=timings_ms)


def cited(source: str, lines: tuple[int, int] | None, page: int | None) -> str:
    """`source:first-last` for lines, `source#page=N` for pages."""
    if page is not None:
        return f"{source}#page={page}"
    return f"{source}:{lines[0]}-{lines[1]}" if lines else source


def passage_of(
    payload: Mapping[str, Any], hit: Fused, terms: tuple[str, ...], *, stale: bool, absolute: float
) -> AnswerPassage:
    """The stored payload of a hit as a passage of an answer."""
    lines, metadata = payload.get("lines"), payload.get("metadata")
    # By place, in the order of the fields: twenty names take six times as long.
    return AnswerPassage(
        hit.id,
        payload["text"],
        hit.score,
        hit.dense,
        hit.lexical,
        terms,
        payload["base"],
        payload["source"],
        payload["title"],
        tuple(payload["headings"]),
        payload.get("page"),
        (lines[0], lines[1]) if lines else None,
        payload["document_id"],
        payload["generation"],
        payload["object"],
        payload["ordinal"],
        payload["before"],
        stale,
        absolute,
        payload.get("category") or "",
        _scalars(metadata) if metadata else (),
    )


def _scalars(metadata: Mapping[str, Any]) -> tuple[tuple[str, Scalar], ...]:
    return tuple((name, value) for name, value in metadata.items() if isinstance(value, Scalar))
