"""One object brought into another collection from what is stored of it: claimed, cut as that collection cuts, embedded
where its vectors are not known, written, and recorded. Uploads and removals go on meanwhile: what stopped answering is
never recorded as brought (RULES 19).
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, Literal

from common.domain import rebuilding
from common.domain.coverage import coverage
from common.domain.errors import DocumentError, LeaseLost, Misconfigured, SliceOver, Transient, Unavailable
from common.domain.index import Point
from common.domain.objects import ObjectChange, ObjectRef
from common.domain.rebuilding import Brought, Outcome
from common.domain.records import BaseRecord, Counts, Decision, DocumentRecord, Held, ObjectRecord
from common.domain.reindex import Reindex
from common.domain.space import Chunking
from common.domain.usage import Spend, uncounted
from common.ports import Catalog, Clock, VectorIndex
from common.stages.embedding import without_vectors_in
from common.stages.filling import Filling, Vector, chunk_settings, sums_by_collection
from common.stages.points import Draft, drafts
from common.stages.spaces import Spaces, Target
from common.stages.stored_documents import passage_of_payload, passages_for, stored_document

RENEW_SECONDS: Final = 15.0
_TRIES: Final = 3
Ended = Literal["carried", "pending", "busy"]
_UNCLAIMED: Final[Mapping[str, Ended]] = {"done": "carried", "exhausted": "pending", "busy": "busy"}
_GIVEN_UP: Final[Mapping[str, Ended | Literal["moved"]]] = {
    "carried": "pending",
    "moved": "moved",
    "lease_lost": "busy",
}


@dataclass(frozen=True, slots=True)
class Rebuild:
    """All that bringing one object over needs. `stopping` asks for an end as soon as can be."""

    catalog: Catalog
    index: VectorIndex
    spaces: Spaces
    clock: Clock
    slice_seconds: float
    stopping: Callable[[], bool] = lambda: False
    step: Callable[[str], None] = lambda _: None
    spend: Spend = uncounted

    def object(self, record: BaseRecord, name: str, ends: float) -> Ended:
        """Bring the object into the green collection of the base's migration; `ends` is when this delivery has to stop.

        Raises SliceOver with everything that was embedded kept, and Unavailable or Misconfigured where nothing can be
        brought over at all.
        """
        reindex = record.reindex
        if reindex is None:
            return "carried"
        for _ in range(_TRIES):
            work = _Work(self, record, reindex, ObjectRef(record.base, name), ends, self.clock.now())
            ended = work.run()
            if ended != "moved":
                return ended
        return "busy"


@dataclass(slots=True)
class _Work:
    """One claim of one object by one worker, named by its token."""

    ports: Rebuild
    record: BaseRecord
    reindex: Reindex
    ref: ObjectRef
    ends: float
    renewed: float
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    def run(self) -> Ended | Literal["moved"]:
        claimed = self._claim()
        self.ports.step("claimed")
        if claimed != "claimed":
            return _UNCLAIMED[claimed]
        known = self.ports.catalog.object(self.ref)
        if known is None or known.live is None:
            self._transact(lambda held: rebuilding.let_go(held, self.token))
            return "carried"
        try:
            brought = self._bring(known, known.live)
        except (Transient, Misconfigured, SliceOver):
            self._transact(lambda held: rebuilding.let_go(held, self.token))
            raise
        except LeaseLost:
            return "busy"
        except DocumentError as error:
            return self._give_up(known.live, str(error))
        except Exception as error:
            # A bug is counted against the object, so that one object cannot hold up a migration for ever.
            self._give_up(known.live, f"a fault of ours ({type(error).__name__}); the log names it")
            raise
        live = self.record.live or self.reindex.blue
        outcome = self._transact(lambda held: rebuilding.carried(held, live, brought, self.token))
        self.ports.step("carried")
        if outcome == "carried":
            return "carried"
        if outcome == "moved":
            # Nothing of a generation that was overtaken is ever asked for; its successor was written by its upload.
            self.ports.index.discard(self.ref.base, self.green, self.ref.name, known.live)
            return "moved"
        return "busy"

    @property
    def green(self) -> str:
        return self.reindex.green

    def _claim(self) -> rebuilding.Claim:
        def decide(held: Held) -> Decision[rebuilding.Claim]:
            return rebuilding.claim(held, self.green, self.token, self.ports.clock.now())

        return self.ports.catalog.transact(self.ref, self.reindex.id, decide)

    def _transact(self, decide: Callable[[Held], Decision[Outcome]]) -> Outcome:
        return self.ports.catalog.transact(self.ref, self.reindex.id, decide)

    def _bring(self, known: ObjectRecord, generation: int) -> Brought:
        live = self.record.live or self.reindex.blue
        points = list(self.ports.index.stored(self.ref.base, live, self.ref.name, generation))
        if len(points) != known.passages_in(live):
            raise _half_stored(known.passages_in(live), len(points))
        target = self.ports.spaces.target(self.ref.base, self.green)
        space = self.ports.spaces.stored(self.ref.base, live).space
        rows = {row.source: row for row in self.ports.catalog.documents_of(self.ref, generation)}
        made: list[Draft] = []
        counted = []
        for source, stored in _by_source(points):
            if source not in rows:
                raise Unavailable(f"the catalog lists no document {source} of {self.ref.key}; reconcile its base")
            new, counts = self._cut(rows[source], stored, space.chunking, target)
            made += new
            counted.append(rows[source].also_within(live, self.green, counts))
        dense, same = target.space.embedding.dimension > 0, space.embedding == target.space.embedding
        known_vectors = _vectors(points, dense=dense) if same else {}
        refused = self._write(made, target, generation, known_vectors)
        counted = without_vectors_in(counted, self.green, refused)
        if len(counted) > 1:
            self._keep_lease(len(made), len(made))
            self.ports.catalog.put_documents(self.ref, generation, counted)
        sums = sums_by_collection(counted).get(self.green, Counts(0, 0, 0))
        return Brought(self.green, generation, sums, tuple(counted) if len(counted) == 1 else ())

    def _cut(
        self, record: DocumentRecord, stored: Sequence[Point], before: Chunking, target: Target
    ) -> tuple[list[Draft], Counts]:
        passages = [passage_of_payload(point.payload) for point in stored]
        document = stored_document(record, passages)
        ends = target.embedder.token_ends
        cut = passages_for(document, passages, before, chunk_settings(target), ends)
        counts = coverage(document, cut, ends)
        first = stored[0].payload
        generation, job = int(str(first["generation"])), str(first["job_id"])
        made = drafts(document, cut, self.ref, generation, job, target.space.lexical.mode)
        return made, Counts(len(cut), counts.tokens_in_source, counts.tokens_embedded)

    def _write(self, made: list[Draft], target: Target, generation: int, known: dict[str, Vector]) -> list[Draft]:
        ports = self.ports
        change = ObjectChange("finalize", self.ref, generation)
        leases = self._keep_lease, self._end_slice
        made_of, first = (change, ports.index, ports.catalog, ports.clock), self.reindex.adopted
        # The verification flushes once for all, before it counts what is stored and has brought over again what is not.
        filling = Filling(*made_of, *leases, ports.step, ports.spend, words_first=first, flushes=False)
        return filling.write(made, target, known)

    def _keep_lease(self, _done: int, _total: int) -> None:
        now = self.ports.clock.now()
        if now - self.renewed < RENEW_SECONDS:
            return
        record = self.ports.catalog.base(self.ref.base)
        if record is None or self.green not in record.writes_to:
            raise LeaseLost(self.ref.key)
        if self._transact(lambda held: rebuilding.keep(held, self.token, now)) == "lease_lost":
            raise LeaseLost(self.ref.key)
        self.renewed = now

    def _end_slice(self, _done: int, _total: int) -> None:
        if self.ports.clock.now() >= self.ends or self.ports.stopping():
            raise SliceOver

    def _give_up(self, generation: int, reason: str) -> Ended | Literal["moved"]:
        outcome = self._transact(lambda held: rebuilding.given_up(held, self.green, generation, self.token, reason))
        return _GIVEN_UP[outcome]


def _by_source(points: Sequence[Point]) -> Iterator[tuple[str, list[Point]]]:
    for source, stored in groupby(points, key=lambda point: str(point.payload["source"])):
        yield source, list(stored)


def _vectors(points: Sequence[Point], *, dense: bool) -> dict[str, Vector]:
    """Vectors by passage identity, but for those that are still to be made."""
    made = [point for point in points if point.payload.get("identity") and not (dense and point.vector is None)]
    return {str(point.payload["identity"]): point.vector for point in made}


def _half_stored(wanted: int, found: int) -> DocumentError:
    return DocumentError(
        "INTERNAL",
        f"{found} of {wanted} passages are stored.",
        "Run `fichario reconcile --repair` for the base, then start again.",
    )
