"""The ports: what the stages need of the outside world. Every adapter of a port passes the same contract suite."""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from common.domain.documents import Parsed
from common.domain.index import Found, Lookup, Point
from common.domain.objects import ObjectRef, ObjectStat
from common.domain.records import (
    BaseRecord,
    CollectionRecord,
    Decision,
    DocumentRecord,
    Held,
    JobRecord,
    ObjectRecord,
)
from common.domain.usage import Usage
from common.ports.embedding import Embedder as Embedder
from common.ports.foreign import ForeignCollections as ForeignCollections
from common.ports.questions import Questions as Questions
from common.ports.queue import Delivery as Delivery
from common.ports.queue import Message as Message
from common.ports.queue import PullQueue as PullQueue
from common.ports.queue import Queue as Queue

T = TypeVar("T")


class ObjectStore(Protocol):
    """The bucket. Its own word on what is current is final; events are hints (RULES 2)."""

    def stat(self, ref: ObjectRef) -> ObjectStat | None:
        """The current version, or None when the object does not exist. Raises Unavailable."""

    def read(self, ref: ObjectRef, generation: int, limit: int) -> bytes:
        """The bytes of exactly that generation.

        Raises Superseded when it is not the current one (also when it changed while being read), ObjectGone when the
        object does not exist, DocumentError TOO_LARGE when it has more than `limit` bytes (0: no limit), Unavailable.
        """

    def write(self, ref: ObjectRef, data: bytes, content_type: str = "") -> ObjectStat:
        """Store a new version and emit its finalize event. Raises Refused for a name outside the bucket."""

    def delete(self, ref: ObjectRef, generation: int) -> bool:
        """Remove that generation and emit its delete event. False when it was already gone; raises Superseded when
        another generation is current.
        """

    def list(self, base: str) -> Iterator[ObjectStat]:
        """Every object of the base by name. Raises Unavailable rather than answering an incomplete list (RULES 5)."""

    def bases(self) -> Sequence[str]:
        """The bases that hold at least one object, sorted. Folders that are no base id are left out."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the live generations of one base."""

    objects: int = 0
    documents: int = 0
    passages: int = 0
    tokens: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Live:
    """The generation of an object that answers; `stale` when its newest one failed by our fault."""

    generation: int
    stale: bool = False


class Catalog(Questions, Protocol):
    """The truth about bases, objects, documents and jobs (DESIGN, 3). All methods raise Unavailable when it is out of
    reach; the base is an argument of every one but those over all bases.
    """

    def transact(self, ref: ObjectRef, job_id: str, decide: Callable[[Held], Decision[T]]) -> T:
        """Read base, object and job, decide, store what changed and raise the epoch, all in one transaction.

        `decide` is pure and may run more than once; records equal to what was read are not written, none is deleted.
        Documents that come with the decision are stored with it, as `put_documents` would.
        """

    def update_base(
        self, base: str, decide: Callable[[BaseRecord | None], tuple[BaseRecord | None, T]], *, raise_epoch: bool
    ) -> T:
        """One compare-and-set of the base's record (None: leave it), the epoch raised in it when asked."""

    def base(self, base: str) -> BaseRecord | None: ...

    def bases(self) -> Sequence[BaseRecord]:
        """All bases by id."""

    def put_collection(self, record: CollectionRecord) -> CollectionRecord:
        """Store it unless one of this name exists; answers the one that is stored."""

    def collection(self, base: str, name: str) -> CollectionRecord | None: ...

    def drop_collection(self, base: str, name: str) -> None: ...

    def epoch(self, base: str) -> int:
        """An integer that only grows; 0 for an unknown base."""

    def live(self, base: str, names: Collection[str]) -> tuple[Mapping[str, Live], int]:
        """In one consistent read: what answers for each named object that has a live generation, and the epoch."""

    def object(self, ref: ObjectRef) -> ObjectRecord | None: ...

    def objects(self, base: str) -> Iterator[ObjectRecord]:
        """Every object record of the base by name, removed ones too."""

    def put_documents(self, ref: ObjectRef, generation: int, documents: Sequence[DocumentRecord]) -> None:
        """Store (again) the documents of one generation; they are listed only while it is live."""

    def drop_documents(self, ref: ObjectRef, below: int, since: int = 0) -> None:
        """Forget the documents of all generations from `since` to under `below`. Repeatable."""

    def documents(
        self, base: str, *, prefix: str = "", after: tuple[str, str] = ("", ""), limit: int = 0
    ) -> Sequence[DocumentRecord]:
        """Live documents whose source starts with `prefix`, by (source, object), behind that pair; limit 0 is all."""

    def documents_of(self, ref: ObjectRef, generation: int) -> Sequence[DocumentRecord]:
        """The documents stored with that generation of one object by source, whether or not it is live."""

    def documents_named(self, base: str, name: str) -> Sequence[DocumentRecord]:
        """Live documents whose source, document id, external id or source without extension is `name`."""

    def job(self, base: str, job_id: str) -> JobRecord | None: ...

    def jobs(
        self, base: str, *, state: str | None = None, after: tuple[float, str] | None = None, limit: int = 0
    ) -> Sequence[JobRecord]:
        """Jobs newest first by (created_at, job_id), those behind `after`; `limit` 0 means all."""

    def totals(self, base: str) -> Totals: ...

    def add_usage(self, base: str, spent: Usage) -> None:
        """Add the counts to the base's. Whoever else adds at the same time is added too."""

    def usage(self, base: str) -> Usage:
        """All that was ever added; a kind of which nothing was is absent."""

    def void_leases(self) -> int:
        """Drop every lease: only right where the caller proves that all holders are dead. Answers how many."""


class Generations(Protocol):
    """Numbers for stores that have none of their own (RULES 2): assigned in one place, one transaction."""

    def assign(self, ref: ObjectRef, identity: str) -> int:
        """The generation of the object's current identity: the last one when it is unchanged, else the next."""

    def known(self, base: str | None = None) -> Mapping[ObjectRef, tuple[str, int]]:
        """Every object believed present: identity and generation."""

    def absent(self, ref: ObjectRef, generation: int) -> bool:
        """Record that this generation is gone; False when another one was assigned meanwhile."""


@dataclass(frozen=True, slots=True)
class CollectionShape:
    """What a collection is created with: `dimension` 0 stands for a collection without dense vectors."""

    dimension: int


class VectorIndex(Protocol):
    """Points by collection. An adapter refuses (ValueError) a collection of another base; Unavailable: out of reach."""

    def create(self, base: str, collection: str, shape: CollectionShape) -> None:
        """Create it, or accept one that exists with this shape; Misconfigured when it has another one."""

    def drop(self, base: str, collection: str) -> None:
        """Remove it with all its points. Repeatable."""

    def collections(self, base: str) -> Sequence[str]: ...

    outside: bool
    """Whether others read the collections by the base's alias."""
    foreign: ForeignCollections

    def set_alias(self, base: str, collection: str) -> None:
        """Let the base's alias name this collection, atomically. Misconfigured: a collection has the alias's name."""

    def alias(self, base: str) -> str | None:
        """The collection that the base's alias names, None when there is no such alias."""

    def upsert(self, base: str, collection: str, points: Sequence[Point]) -> None:
        """Write points, durable on return. Raises, and stores none of them, DocumentError for one that no request can
        carry and EmbeddingInvalid for a vector that holds NaN or infinity.
        """

    def sweep(self, base: str, collection: str, name: str, below: int) -> None:
        """Delete the object's points of all generations under `below`. Repeatable; newer ones are never touched."""

    def discard(self, base: str, collection: str, name: str, generation: int) -> None:
        """Delete the object's points of exactly that generation. Repeatable."""

    def stored(self, base: str, collection: str, name: str, generation: int) -> Iterator[Point]:
        """The object's points of that generation with vectors and payload, ordered by (source, ordinal)."""

    def lookup(self, base: str, collection: str, lookup: Lookup) -> Found:
        """Both lists in one batch, and the other side's true score for candidates that one side alone found."""

    def frequencies(self, base: str, collection: str, terms: Sequence[int]) -> tuple[int, Mapping[int, int]]:
        """How many points there are, and how many carry each term (payload `terms`)."""

    def payloads(self, base: str, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """The payloads of those points that exist."""

    def passages(
        self, base: str, collection: str, document_id: str, generation: int, ordinals: Collection[int] | None = None
    ) -> Sequence[Mapping[str, Any]]:
        """Payloads of one document's passages in order, all or those ordinals."""

    def vocabulary(self, base: str, collection: str) -> Iterator[str]:
        """What the points say under `words` in their payload, dead ones too."""

    def generations(self, base: str, collection: str) -> Mapping[tuple[str, int], int]:
        """How many points each (object, generation) has."""

    def optimise(self, base: str, collection: str) -> None:
        """Compact now rather than later; a no-op where the engine does so by itself."""

    def flush(self) -> None:
        """Everything written so far survives the loss of the machine."""

    def close(self) -> None: ...


class Parser(Protocol):
    """Bytes to documents, chosen by content. Touches neither network nor files."""

    def parse(self, data: bytes, name: str, content_type: str = "") -> Parsed:
        """The documents of one object. Raises DocumentError."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """`order` holds each position of the texts once, best first; the tokens are what the model counted."""

    order: tuple[int, ...]
    prompt_tokens: int
    completion_tokens: int


class Reranker(Protocol):
    """A model that orders passages by how well they answer. What a passage says is never an instruction to it."""

    def rerank(self, question: str, texts: Sequence[str], deadline: float) -> Reranked:
        """The texts' order, asked for in one call that ends by `deadline` (of `time.monotonic`). Raises Unavailable
        for every failure.
        """


class AnswerCache(Protocol):
    """What may be lost at any time without changing an answer. Safe between threads."""

    def get(self, key: Hashable) -> Any | None:  # noqa: ANN401 - what was put
        """The value put under this key, unless it is too old or was dropped."""

    def put(self, key: Hashable, value: Any, size: int) -> None:  # noqa: ANN401
        """Keep the value, which takes about `size` bytes, for as long as the cache's bounds allow."""


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""
