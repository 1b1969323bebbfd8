"""Passages into collections: cut, embed what is new, write. Nothing written here is seen before the publish."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, ParamSpec, TypeVar

from common.domain.chunking import ChunkSettings, chunk
from common.domain.coverage import coverage
from common.domain.documents import JsonValue, Parsed
from common.domain.errors import DocumentError, EmbeddingInvalid, Misconfigured, Transient, Unavailable
from common.domain.index import Point
from common.domain.objects import ObjectChange
from common.domain.records import Counts, DocumentRecord
from common.domain.usage import Count, Spend, uncounted
from common.ports import Catalog, Clock, VectorIndex
from common.stages.embedding import in_requests, without_vectors
from common.stages.points import Draft, document_record, drafts
from common.stages.spaces import Target, Writing

P = ParamSpec("P")
T = TypeVar("T")
Vector = tuple[float, ...] | None
BATCH: Final = 32
"""Points per upsert; between two of them the lease is read again."""
SLOW_SECONDS: Final = 10.0
"""Requests to a provider that take longer than this together have the lease read between them too."""


@dataclass(frozen=True, slots=True)
class Filled:
    """What one collection got of the object."""

    documents: tuple[DocumentRecord, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilledAll:
    """What all collections of a base got: the documents as the one that answers has them, what they come to in each of
    the others (`counts`), which were written, and why the rest was not.
    """

    documents: tuple[DocumentRecord, ...]
    warnings: tuple[str, ...]
    wrote: tuple[str, ...]
    counts: Mapping[str, Counts]
    lacking: Mapping[str, str]


@dataclass(slots=True)
class Filling:
    """One attempt at writing one object's passages, with what it has measured so far.

    `keep_lease(done, total)` is called before every write and raises LeaseLost; `end_slice(done, total)` after every
    write but the last, and raises SliceOver: a slice writes something, and all that it embedded.
    """

    change: ObjectChange
    index: VectorIndex
    catalog: Catalog
    clock: Clock
    keep_lease: Callable[[int, int], None]
    end_slice: Callable[[int, int], None]
    step: Callable[[str], None]
    spend: Spend = uncounted
    words_first: bool = False
    """A stored point without a vector is still to get one: its words were brought in before."""
    flushes: bool = True
    """Whether what was written is to outlast the machine before anything is said of it."""
    before: int = 0
    """Passages that earlier collections of the same attempt took: progress counts on from there."""
    new_passages: int = 0
    embedded_tokens: int = 0
    timings_ms: dict[str, float] = field(default_factory=dict)
    """By stage; what is done for the sake of writing, the lease read before it included, counts as `write`."""

    def took(self, name: str, since: float) -> None:
        self.timings_ms[name] = round(self.timings_ms.get(name, 0.0) + (time.perf_counter() - since) * 1000, 2)

    def timed(self, name: str, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """The work's result; what it took is added to that stage, also where it refuses."""
        since = time.perf_counter()
        try:
            return work(*args, **named)
        finally:
            self.took(name, since)

    def fill_all(self, parsed: Parsed, writing: Writing) -> FilledAll:
        """Write every passage into every collection. Only what hinders the one that answers is raised: the failure of
        another holds up nobody (RULES 19).
        """
        filled: dict[str, Filled] = {}
        lacking = dict(writing.lacking)
        self.before = 0
        for target in writing.targets:
            try:
                filled[target.collection] = self.fill(parsed, target)
            except (DocumentError, Unavailable, Misconfigured) as error:
                if not filled:
                    raise
                lacking[target.collection] = str(error)
        first = next(iter(filled.values()))
        documents = _with_counts(filled)
        return FilledAll(documents, first.warnings, tuple(filled), sums_by_collection(documents), lacking)

    def fill(self, parsed: Parsed, target: Target) -> Filled:
        """Write every passage of the object into one collection; nobody sees it before the publish."""
        since = time.perf_counter()
        ref, generation = self.change.ref, self.change.generation
        settings = chunk_settings(target)
        made: list[Draft] = []
        listed = []
        for document in parsed.documents:
            passages = chunk(document, settings, target.embedder.token_ends)
            covered = coverage(document, passages, target.embedder.token_ends)
            made += drafts(document, passages, ref, generation, self.change.job_id, target.space.lexical.mode)
            listed.append(document_record(document, passages, covered, ref, generation, self.clock.now()))
        self.took("chunk", since)
        self.step("chunk")
        listed = without_vectors(listed, self.write(made, target))
        return Filled(tuple(listed), tuple(w for record in listed for w in record.warnings))

    def write(
        self, made: list[Draft], target: Target, vectors_known: Mapping[str, Vector] | None = None
    ) -> list[Draft]:
        """Write what is not there yet; answers the passages that the model's provider refused. When the model fails,
        what it gave before is written first, so that nobody pays for it again. `vectors_known` are of this vector
        space, by passage identity.
        """
        vectors, stored = self._known(target) if made else ({}, {})
        vectors = {**(vectors_known or {}), **vectors}
        missing = [d for d in made if stored.get(d.id) != d.payload]
        done = len(made) - len(missing)
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            if start:
                self.end_slice(self.before + done, self.before + len(made))
            alive = partial(self.keep_lease, self.before + done, self.before + len(made))
            failed = self._embed([d for d in batch if d.identity not in vectors], vectors, target, alive)
            batch = [d for d in batch if d.identity in vectors]
            if failed is not None and not batch:
                raise failed
            since = time.perf_counter()
            alive()
            points = [Point(d.id, vectors.get(d.identity), d.lexical, d.payload) for d in batch]
            try:
                self.index.upsert(self.change.ref.base, target.collection, points)
            except EmbeddingInvalid as error:
                raise _named(batch[error.position]) from error
            done += len(batch)
            self.took("write", since)
            self.step("upsert")
            if failed is not None:
                raise failed
        since = time.perf_counter()
        self.keep_lease(self.before + done, self.before + len(made))
        if self.flushes:
            self.index.flush()
        self.before += len(made)
        self.took("write", since)
        return [d for d in made if vectors.get(d.identity) is None] if target.space.embedding.dimension else []

    def _known(self, target: Target) -> tuple[dict[str, Vector], dict[str, Mapping[str, JsonValue]]]:
        """Vectors of the live generation by passage identity, and what an earlier attempt already wrote of this one."""
        since = time.perf_counter()
        known = self.catalog.object(self.change.ref)
        held = known.holds.get(target.collection) if known else None
        vectors: dict[str, Vector] = {}
        stored: dict[str, Mapping[str, JsonValue]] = {}
        dimension = target.space.embedding.dimension
        for generation in {self.change.generation, held} - {None}:
            ref = self.change.ref
            for point in self.index.stored(ref.base, target.collection, ref.name, generation or 0):
                # A passage that was refused once is tried anew wherever it has to be written again.
                if point.vector is not None or not dimension:
                    vectors[str(point.payload.get("identity"))] = point.vector
                lacking = self.words_first and dimension and point.vector is None
                if generation == self.change.generation and not lacking:
                    stored[point.id] = point.payload
        self.took("embed", since)
        return vectors, stored

    def _embed(
        self, new: list[Draft], vectors: dict[str, Vector], target: Target, alive: Callable[[], None]
    ) -> Transient | Misconfigured | None:
        """Add the vectors of these passages, None for one that is refused; answers what kept the rest from coming.
        Between slow requests the lease is seen to by `alive`.
        """
        unique = list({d.identity: d for d in new}.values())
        if not unique:
            return None
        if not target.space.embedding.dimension:
            vectors |= dict.fromkeys((d.identity for d in unique), None)
            self.new_passages += len(unique)
            return None
        since = time.perf_counter()
        failed = None
        try:
            for start, answered in in_requests(target.embedder, [d.embedded for d in unique]):
                self._got(unique[start : start + len(answered or (None,))], answered, vectors)
                if time.perf_counter() - since >= SLOW_SECONDS:
                    alive()
        except EmbeddingInvalid as error:
            raise _named(unique[error.position]) from error
        except (Transient, Misconfigured) as error:
            failed = error
        self.took("embed", since)
        self.step("embed")
        return failed

    def _got(self, asked: list[Draft], answered: list[list[float]] | None, vectors: dict[str, Vector]) -> None:
        if answered is None:
            vectors |= dict.fromkeys((d.identity for d in asked), None)
            return
        vectors |= {d.identity: tuple(v) for d, v in zip(asked, answered, strict=True)}
        tokens = sum(d.tokens for d in asked)
        self.spend(self.change.ref.base, "ingest", Count(1, tokens))
        self.new_passages += len(asked)
        self.embedded_tokens += tokens

    def spent(self) -> tuple[int, int]:
        """Passages and tokens embedded since this was last asked."""
        counts = self.new_passages, self.embedded_tokens
        self.new_passages = self.embedded_tokens = 0
        return counts


def _named(draft: Draft) -> EmbeddingInvalid:
    """The fault by its passage's place in the document rather than in what was sent at once."""
    return EmbeddingInvalid(int(str(draft.payload["ordinal"])), "the model gave no direction for its text")


def chunk_settings(target: Target) -> ChunkSettings:
    """How documents are cut for that collection."""
    cut, embedder = target.space.chunking, target.embedder
    reserved = embedder.special_tokens + embedder.passage_prefix_tokens
    return ChunkSettings(cut.tokens, cut.overlap, cut.window, reserved, cut.version)


def _with_counts(filled: Mapping[str, Filled]) -> tuple[DocumentRecord, ...]:
    """The documents as the first collection has them, with what they come to in the others."""
    (live, first), *others = filled.items()
    documents = first.documents
    for name, other in others:
        documents = tuple(
            mine.also_within(live, name, its.own_counts) for mine, its in zip(documents, other.documents, strict=True)
        )
    return documents


def sums_by_collection(documents: Iterable[DocumentRecord]) -> dict[str, Counts]:
    """What the documents come to together in each collection that they were counted in by name."""
    sums: dict[str, Counts] = {}
    for document in documents:
        for name, own in document.counts.items():
            sums[name] = sums.get(name, Counts(0, 0, 0)) + own
    return sums
