"""What the catalog keeps: a record per base, collection, object, document and job; frozen data with a JSON form."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, TypeVar

from common.domain.codes import TERMINAL, FailureCode, JobState
from common.domain.documents import JsonValue, LinkKind
from common.domain.objects import ObjectRef
from common.domain.space import Chunking, EmbeddingSpace, LexicalSpace, VectorSpace

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
    """One tenant. `live` answers, `writes_to` is what ingest fills; both change together with `gates` in one write.
    `reconciled_at` is when a run over all bases last came to it.
    """

    base: str
    live: str | None = None
    writes_to: tuple[str, ...] = ()
    gates: Mapping[str, Gate] = field(default_factory=dict)
    enabled: bool = True
    written_back: str = ""
    reconciled_at: float = 0.0
    created_at: float = 0.0


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
class ObjectRecord:
    """One object of the bucket as the index knows it.

    `newest` is the newest generation ever begun, `state`, `code` and `reason` its outcome; `live` is the generation
    that answers (None: nothing does); `tombstone` the newest generation known to be removed; `holds` says which
    generation each collection carries. Counts are those of `live`.
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
    return BaseRecord(**{**data, "writes_to": tuple(data["writes_to"]), "gates": gates})


def collection_from_json(data: Mapping[str, Any]) -> CollectionRecord:
    space = data["space"]
    return CollectionRecord(
        **{
            **data,
            "space": VectorSpace(
                EmbeddingSpace(**space["embedding"]), Chunking(**space["chunking"]), LexicalSpace(**space["lexical"])
            ),
            "canaries": tuple((text, tuple(vector)) for text, vector in data["canaries"]),
        }
    )


def object_from_json(data: Mapping[str, Any]) -> ObjectRecord:
    lease = Lease(**data["lease"]) if data["lease"] else None
    return ObjectRecord(**{**data, "ref": ObjectRef(**data["ref"]), "lease": lease})


def document_from_json(data: Mapping[str, Any]) -> DocumentRecord:
    tuples = ("keywords", "aliases", "tags", "headings", "warnings")
    links = tuple(tuple(link) for link in data["links"])
    return DocumentRecord(**{**data, **{name: tuple(data[name]) for name in tuples}, "links": links})


def job_from_json(data: Mapping[str, Any]) -> JobRecord:
    return JobRecord(**{**data, "ref": ObjectRef(**data["ref"]), "warnings": tuple(data["warnings"])})


R = TypeVar("R", ObjectRecord, JobRecord)


def touched(record: R, now: float, **changes: Any) -> R:  # noqa: ANN401
    """The record with `changes` and its time of update."""
    return replace(record, updated_at=now, **changes)
