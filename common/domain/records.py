"""What the catalog keeps: a record per base, collection, object, document and job; frozen data with a JSON form."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, TypeVar

from common.domain.codes import TERMINAL, FailureCode, JobState
from common.domain.documents import JsonValue, LinkKind
from common.domain.objects import ObjectRef
from common.domain.reindex import Reindex, reindex_from_json
from common.domain.space import VectorSpace, space_from_json

T = TypeVar("T")
WARNINGS_KEPT = 50
WARNING_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Gate:
    """The fitted gate of one collection (RULES 16): med and sd of cosines, the cut, and its error rates when fitted."""

    med: float
    sd: float
    cut: float
    fitted: bool = False
    passages: int = 0
    rates: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BaseRecord:
    """One tenant. `live` answers, `writes_to` is what ingest fills; both change together with `gates` and the last
    migration (`reindex`) in one write. `reconciled_at` is when a run over all bases last came to it.
    """

    base: str
    live: str | None = None
    writes_to: tuple[str, ...] = ()
    gates: Mapping[str, Gate] = field(default_factory=dict)
    enabled: bool = True
    written_back: str = ""
    reconciled_at: float = 0.0
    created_at: float = 0.0
    reindex: Reindex | None = None


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """One vector space of one base, with 8 texts and the vectors its model gave them (canaries)."""

    name: str
    base: str
    space: VectorSpace
    canaries: tuple[tuple[str, tuple[float, ...]], ...] = ()
    created_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on one object until `expires_at` (seconds since the epoch); `token` names the holder."""

    job_id: str
    token: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class Counts:
    """What an object or a document comes to in one collection: how it is cut and counted is the vector space's."""

    passages: int
    tokens_in_source: int
    tokens_embedded: int

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.passages + other.passages,
            self.tokens_in_source + other.tokens_in_source,
            self.tokens_embedded + other.tokens_embedded,
        )


@dataclass(frozen=True, slots=True)
class Pending:
    """Why a collection lacks what answers, and how often it was tried."""

    reason: str
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """One object of the bucket as the index knows it.

    `newest` is the newest generation ever begun, `state`, `code` and `reason` its outcome; `live` is the generation
    that answers (None: nothing does); `tombstone` the newest generation known to be removed; `holds` says which
    generation each collection carries, `pending` why one does not carry `live`. Counts are those of `live` in the
    collection that answered when it was published; `counts` has those of others. `rebuilding` is the lease of whoever
    brings it into another collection: it holds up no upload.
    """

    ref: ObjectRef
    newest: int = 0
    state: JobState = "queued"
    code: FailureCode | None = None
    reason: str = ""
    live: int | None = None
    live_job: str = ""
    tombstone: int = -1
    removed_at: float = 0.0
    holds: Mapping[str, int] = field(default_factory=dict)
    lease: Lease | None = None
    documents: int = 0
    passages: int = 0
    tokens: int = 0
    size: int = 0
    updated_at: float = 0.0
    pending: Mapping[str, Pending] = field(default_factory=dict)
    counts: Mapping[str, Counts] = field(default_factory=dict)
    rebuilding: Lease | None = None

    def carried_by(self, collection: str) -> bool:
        """Whether that collection has all that answers of this object."""
        return self.live is None or not self.passages or self.holds.get(collection) == self.live

    def passages_in(self, collection: str) -> int:
        known = self.counts.get(collection)
        return known.passages if known else self.passages

    @property
    def leased(self) -> bool:
        """Whether somebody works on it, or did when the process died."""
        return self.lease is not None or self.rebuilding is not None

    @property
    def stale(self) -> bool:
        """An older generation answers because the newest one failed by our fault (RULES 4)."""
        return self.state == "failed" and self.live is not None and self.live < self.newest


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """One document of one generation of an object; listed while that generation is live."""

    base: str
    object: str
    generation: int
    source: str
    document_id: str
    title: str
    passages: int
    tokens_in_source: int
    tokens_embedded: int
    characters: int
    kind: str = "text"
    category: str = ""
    keywords: tuple[str, ...] = ()
    pinned: bool = False
    external_id: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    links: tuple[tuple[str, str, int, LinkKind], ...] = ()
    warnings: tuple[str, ...] = ()
    updated_at: float = 0.0
    counts: Mapping[str, Counts] = field(default_factory=dict)

    def within(self, collection: str) -> "DocumentRecord":
        """The document as it stands in that collection."""
        known = self.counts.get(collection)
        return replace(self, **asdict(known)) if known else self

    def also_within(self, live: str, collection: str, counts: Counts) -> "DocumentRecord":
        """The document with what it comes to in one more collection; `live` is the one that answers now."""
        now = self.within(live)
        return replace(now, counts={live: now.own_counts, collection: counts})

    @property
    def own_counts(self) -> Counts:
        return Counts(self.passages, self.tokens_in_source, self.tokens_embedded)


@dataclass(frozen=True, slots=True)
class JobRecord:
    """The record of bringing one (object, generation) into the index, or of removing it."""

    job_id: str
    ref: ObjectRef
    generation: int
    removal: bool = False
    state: JobState = "queued"
    code: FailureCode | None = None
    reason: str = ""
    next_step: str = ""
    attempts: int = 0
    passages: int = 0
    new_passages: int = 0
    tokens_in_source: int = 0
    tokens_embedded: int = 0
    embedded_tokens: int = 0
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    progress: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    replaced: bool = False
    swept: bool = False
    notified: bool = False
    writeback_status: str | None = None
    writeback_error: str | None = None
    created_at: float = 0.0
    updated_at: float = 0.0

    @property
    def terminal(self) -> bool:
        return self.state in TERMINAL

    @property
    def finished(self) -> bool:
        """Terminal with nothing left to sweep or to tell."""
        return self.terminal and self.swept and self.notified


@dataclass(frozen=True, slots=True)
class Held:
    """The records one decision reads and writes together; None where nothing is stored yet."""

    base: BaseRecord | None
    object: ObjectRecord | None
    job: JobRecord | None


@dataclass(frozen=True, slots=True)
class Decision(Generic[T]):
    """What a pure decision answers: its `value`, the records to store, whether an answer may change by it, and the few
    documents of the live generation that are stored in the same transaction.
    """

    value: T
    held: Held
    raise_epoch: bool = False
    documents: tuple[DocumentRecord, ...] = ()


def capped(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """Warnings short enough for a job to stay under 64 KB, with the count of those left out."""
    kept = tuple(w[:WARNING_CHARACTERS] for w in warnings[:WARNINGS_KEPT])
    rest = len(warnings) - len(kept)
    return (*kept, f"and {rest} more warnings") if rest else kept


def to_json(record: Any) -> dict[str, Any]:  # noqa: ANN401 - any record of this module
    """The record as JSON-ready data."""
    return asdict(record)


def base_from_json(data: Mapping[str, Any]) -> BaseRecord:
    gates = {name: Gate(**gate) for name, gate in data["gates"].items()}
    reindex = reindex_from_json(data["reindex"]) if data.get("reindex") else None
    return BaseRecord(**{**data, "writes_to": tuple(data["writes_to"]), "gates": gates, "reindex": reindex})


def collection_from_json(data: Mapping[str, Any]) -> CollectionRecord:
    return CollectionRecord(
        **{
            **data,
            "space": space_from_json(data["space"]),
            "canaries": tuple((text, tuple(vector)) for text, vector in data["canaries"]),
        }
    )


def object_from_json(data: Mapping[str, Any]) -> ObjectRecord:
    leases = {name: Lease(**data[name]) if data.get(name) else None for name in ("lease", "rebuilding")}
    pending = {name: Pending(**each) for name, each in data.get("pending", {}).items()}
    return ObjectRecord(
        **{**data, **leases, "ref": ObjectRef(**data["ref"]), "pending": pending, "counts": _counts(data)}
    )


def document_from_json(data: Mapping[str, Any]) -> DocumentRecord:
    tuples = ("keywords", "aliases", "tags", "headings", "warnings")
    links = tuple(tuple(link) for link in data["links"])
    named = {name: tuple(data[name]) for name in tuples}
    return DocumentRecord(**{**data, **named, "links": links, "counts": _counts(data)})


def _counts(data: Mapping[str, Any]) -> dict[str, Counts]:
    return {name: Counts(**each) for name, each in data.get("counts", {}).items()}


def job_from_json(data: Mapping[str, Any]) -> JobRecord:
    return JobRecord(**{**data, "ref": ObjectRef(**data["ref"]), "warnings": tuple(data["warnings"])})


R = TypeVar("R", ObjectRecord, JobRecord)


def touched(record: R, now: float, **changes: Any) -> R:  # noqa: ANN401
    """The record with `changes` and its time of update."""
    return replace(record, updated_at=now, **changes)
