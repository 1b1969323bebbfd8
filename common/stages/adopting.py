"""A collection that is not ours becomes a base of ours: its texts are brought in without embedding anything, and answer
by words from then on. Their vectors are then made as those of every migration are (stages/migrating.py). A kill
anywhere, said again, ends as an undisturbed run does.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from common.domain import adoption, rebuilding
from common.domain.adoption import ADOPTED, lacks_text
from common.domain.chunking import chunk
from common.domain.coverage import coverage
from common.domain.documents import JsonValue, ParsedDocument
from common.domain.errors import Busy, DocumentError, LeaseLost, Misconfigured, Refused, Transient
from common.domain.foreign import NAMED, Foreign, ForeignDocument, adopted_document, survey
from common.domain.index import Point
from common.domain.objects import ObjectChange, ObjectRef, ignored_name, job_id
from common.domain.records import BaseRecord, Decision, DocumentRecord, Held, ObjectRecord
from common.domain.reindex import Reindex, moved
from common.domain.space import EmbeddingSpace, VectorSpace
from common.ports import Catalog, Clock, Embedder, ObjectStore, VectorIndex
from common.stages.filling import BATCH, chunk_settings
from common.stages.planning import SAMPLED, Planning
from common.stages.points import document_record, drafts
from common.stages.reopening import reopened
from common.stages.spaces import Spaces, Target

RENEW_SECONDS: Final = 15.0
UNKNOWN: Final = "unknown"
"""The model of a collection that is not ours."""


@dataclass(frozen=True, slots=True)
class Adopting:
    """Brings the texts of a foreign collection in. `announce` publishes an event of the bucket; `stopping` asks for an
    end as soon as can be.
    """

    store: ObjectStore
    catalog: Catalog
    index: VectorIndex
    spaces: Spaces
    clock: Clock
    planning: Planning
    announce: Callable[[ObjectChange], None]
    stopping: Callable[[], bool] = lambda: False
    step: Callable[[str], None] = lambda _: None

    def plan(self, base: str, foreign: Foreign, space: VectorSpace, embedder: Embedder) -> dict[str, JsonValue]:
        """What it will take, by its payloads. Points without text are counted, and the first of them named."""
        found = survey(self.index.foreign.points(base), every=foreign.points // SAMPLED, most=SAMPLED)
        without = len(found.without_text)
        counted = len(found.documents), found.points - without
        plan = self.planning.of_payloads(base, counted, found.sample, space, embedder)
        named = [str(key) for key in found.without_text[:NAMED]]
        adopts: dict[str, JsonValue] = {
            "collection": foreign.name,
            "points": found.points,
            "without_text": without,
            "named": named,
        }
        return {**plan, "adopts": adopts}

    def begin(self, base: str, reindex: Reindex) -> BaseRecord | None:
        """Make green and have the base answer from it, still empty. Raises Busy where the migration went on meanwhile.

        What is left of an adoption that was let go is cleared first, while nothing writes to the base.
        """
        known = self.catalog.base(base)
        if known is None or known.live is None:
            self.index.drop(base, reindex.green)
            self.catalog.drop_collection(base, reindex.green)
            self.abandon(base)
        self.spaces.make(base, reindex.after, self.spaces.find(reindex.after.embedding))
        self.step("made")
        prior, now = self.spaces.gate(reindex.after.embedding), self.clock.now()

        def settle(known: BaseRecord | None) -> tuple[BaseRecord | None, BaseRecord | None]:
            if known is None or known.reindex is None or known.reindex.id != reindex.id:
                return None, known
            following = moved(known.reindex, "build", now)
            if following is None:
                return None, known
            gates = known.gates if reindex.green in known.gates else {reindex.green: prior}
            begun = replace(known, live=reindex.green, writes_to=(reindex.green,), gates=gates, reindex=following)
            return begun, begun

        try:
            begun = self.catalog.update_base(base, settle, raise_epoch=True)
        except Refused as refused:
            raise Busy(f"the adoption of base {base} went on meanwhile") from refused
        self.step("building")
        return begun

    def texts(self, record: BaseRecord, reindex: Reindex, ends: float) -> bool:
        """Bring in what lacks, a document at a time, until all is in (True) or the time is over. Raises Busy where
        somebody else holds one, Unavailable, Misconfigured.
        """
        base, busy, begun = record.base, 0, False
        target = self.spaces.target(base, reindex.green)
        known = {each.ref.name: each for each in self.catalog.objects(base)}
        stored = self.index.generations(base, reindex.green)
        for document in survey(self.index.foreign.points(base)).documents:
            lost = _is_lost(known.get(document.name), reindex.green, stored)
            if not lost and not lacks_text(known.get(document.name)):
                continue
            if begun and (self.clock.now() >= ends or self.stopping()):
                return False
            begun = True
            work = _Work(self, ObjectRef(base, document.name), document, target, again=lost)
            busy += work.run(reindex.id) == "busy"
        if busy:
            raise Busy(f"{busy} documents of base {base} are being brought in by somebody else")
        self._note_all_in(base, reindex.id)
        self.step("texts in")
        return True

    def lacks(self, base: str) -> int:
        """How many documents are there that were not when the texts were brought in."""
        if self.index.foreign.of(base) is None:
            return 0
        known = {each.ref.name: each for each in self.catalog.objects(base)}
        found = survey(self.index.foreign.points(base)).documents
        return sum(lacks_text(known.get(document.name)) for document in found)

    def has_vectors(self, known: ObjectRecord, reindex: Reindex) -> bool:
        """Whether none of its words was written once more behind its vectors: only what a provider refused, which its
        counts leave out, may lack one.
        """
        own = known.counts.get(reindex.green)
        if not reindex.after.embedding.dimension or known.live is None:
            return True
        stored = self.index.stored(known.ref.base, reindex.green, known.ref.name, known.live)
        lacking = sum(int(str(point.payload["tokens"])) for point in stored if point.vector is None)
        return lacking <= (own.tokens_in_source - own.tokens_embedded if own else 0)

    def abandon(self, base: str) -> None:
        """Forget what the base's objects and documents say: nothing of them answers. Repeatable."""
        for known in self.catalog.objects(base):
            self.catalog.transact(known.ref, "abandon", adoption.abandoned)
            self.catalog.drop_documents(known.ref, known.newest + 1)

    def announce_files(self, base: str) -> None:
        """Say of every file that was not read yet that it is there: its event came before the base was ours. Who starts
        an adoption does so, and has the bucket; who goes on with one needs none.
        """
        now = self.clock.now()
        for stat in self.store.list(base):
            known = self.catalog.object(stat.ref)
            if ignored_name(stat.ref.name) or (known is not None and not _is_unread(known, stat.generation, now)):
                continue
            change = ObjectChange("finalize", stat.ref, stat.generation, stat.size)
            job = self.catalog.job(base, change.job_id)
            if job is not None and job.terminal:
                self.catalog.transact(stat.ref, change.job_id, lambda held, c=change: reopened(held, c, now))  # type: ignore[misc]
            self.announce(change)

    def _note_all_in(self, base: str, key: str) -> None:
        def settle(known: BaseRecord | None) -> tuple[BaseRecord | None, None]:
            if known is None or known.reindex is None or known.reindex.id != key or known.reindex.texts_in:
                return None, None
            return replace(known, reindex=replace(known.reindex, texts_in=True)), None

        self.catalog.update_base(base, settle, raise_epoch=True)


class _Work:
    """One claim of one document by one worker, named by its token."""

    def __init__(
        self, ports: Adopting, ref: ObjectRef, document: ForeignDocument, target: Target, *, again: bool
    ) -> None:
        self.ports = ports
        self.ref = ref
        self.document = document
        self.target = target
        self.again = again
        self.token = uuid.uuid4().hex
        self.renewed = ports.clock.now()

    def run(self, key: str) -> adoption.Claim | adoption.Outcome:
        ports, collection = self.ports, self.target.collection
        transact = ports.catalog.transact
        claimed = transact(
            self.ref,
            key,
            lambda held: adoption.claim_text(
                held, self.ref, collection, self.token, ports.clock.now(), again=self.again
            ),
        )
        ports.step("claimed")
        if claimed != "claimed":
            return claimed
        rows: tuple[DocumentRecord, ...] = ()
        fault: DocumentError | None = None
        try:
            rows = self._write()
        except LeaseLost:
            return "busy"
        except DocumentError as error:
            fault = error
        except (Transient, Misconfigured):
            transact(self.ref, key, lambda held: adoption.given_back(held, self.token))
            raise
        except Exception as error:
            # A bug is counted against the document, so that one cannot hold up all.
            fault = DocumentError(
                "INTERNAL", f"A fault of ours ({type(error).__name__}); the log names it.", "Report it."
            )
            self._end(key, (), fault)
            raise
        return self._end(key, rows, fault)

    def _end(self, key: str, rows: tuple[DocumentRecord, ...], fault: DocumentError | None) -> adoption.Outcome:
        ports, collection = self.ports, self.target.collection

        def decide(held: Held) -> Decision[adoption.Outcome]:
            return adoption.brought_in(held, collection, self.token, ports.clock.now(), rows, fault)

        outcome = ports.catalog.transact(self.ref, key, decide)
        ports.step("brought in")
        if outcome == "moved":
            ports.index.discard(self.ref.base, collection, self.ref.name, ADOPTED)
        return outcome

    def _write(self) -> tuple[DocumentRecord, ...]:
        """Its passages with their words and without vectors; nothing is asked of them before the record says so."""
        points = self.ports.index.foreign.read(self.ref.base, self.document.points)
        document = adopted_document(self.document, points)
        return () if document is None else (self._store(document),)

    def _store(self, document: ParsedDocument) -> DocumentRecord:
        ports, target = self.ports, self.target
        ends = target.embedder.token_ends
        passages = chunk(document, chunk_settings(target), ends)
        made = drafts(document, passages, self.ref, ADOPTED, job_id(self.ref, ADOPTED), target.space.lexical.mode)
        for start in range(0, len(made), BATCH):
            self._keep_lease()
            points = [Point(d.id, None, d.lexical, d.payload) for d in made[start : start + BATCH]]
            ports.index.upsert(self.ref.base, target.collection, points)
            ports.step("upsert")
        covered = coverage(document, passages, ends)
        return document_record(document, passages, covered, self.ref, ADOPTED, ports.clock.now())

    def _keep_lease(self) -> None:
        now = self.ports.clock.now()
        if now - self.renewed < RENEW_SECONDS:
            return
        kept = self.ports.catalog.transact(self.ref, "keep", lambda held: rebuilding.keep(held, self.token, now))
        if kept == "lease_lost":
            raise LeaseLost(self.ref.key)
        self.renewed = now


def unknown_space(foreign: Foreign) -> EmbeddingSpace:
    """What is known of the vectors of a collection that is not ours: their length."""
    return EmbeddingSpace(UNKNOWN, "", UNKNOWN, UNKNOWN, "", "", foreign.dimension, provider=UNKNOWN)


def _is_lost(known: ObjectRecord | None, green: str, stored: Mapping[tuple[str, int], int]) -> bool:
    """Whether points of a text that has no vectors yet are missing."""
    if known is None or known.live != ADOPTED or not known.passages or known.carried_by(green):
        return False
    return stored.get((known.ref.name, ADOPTED), 0) != known.passages


def _is_unread(known: ObjectRecord, generation: int, now: float) -> bool:
    if known.lease is not None and known.lease.expires_at > now:
        return False
    done = known.newest >= generation and (known.live is not None or known.state == "failed")
    return not done and known.tombstone < generation
