"""One question to one base: epoch, vector, one batched look-up, live only, fuse, gate, epoch again (RULES 9-13, 16)."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from common.domain.errors import DocumentError, Refused, Unavailable
from common.domain.fusion import Candidate, Fused, fuse
from common.domain.gate import GateDecision, decide, disabled, keep_close
from common.domain.index import Hit, IndexFilter, Lookup
from common.domain.lexical import QuestionTerm, coverage, question_terms, question_weights
from common.domain.records import BaseRecord, CollectionRecord, Gate
from common.domain.search import NO_MATCH, Answer, Search, SearchFilter, passage_of
from common.ports import Catalog, Embedder, Live, VectorIndex
from common.stages.caching import EpochMemory, QuestionCache
from common.stages.spaces import Spaces

REPEATS: Final = 3


@dataclass(frozen=True, slots=True)
class _View:
    """What stands still while one question is asked: the base's record and collection at one epoch."""

    record: BaseRecord
    collection: CollectionRecord
    embedder: Embedder | None
    warning: str
    epoch: int
    fingerprint: str

    @property
    def gate(self) -> Gate:
        return self.record.gates[self.collection.name]


@dataclass(slots=True)
class _Timer:
    """Milliseconds by stage."""

    started: float = field(default_factory=time.perf_counter)
    spent: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, since: float) -> float:
        now = time.perf_counter()
        self.spent[name] = self.spent.get(name, 0.0) + (now - since) * 1000
        return now


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's terms and vector in one vector space; `vector` None leaves the lexical side alone."""

    terms: tuple[QuestionTerm, ...]
    vector: tuple[float, ...] | None
    tokens: int
    embedded: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Searcher:
    """Answers questions from the live generations of a base. Safe to share between threads."""

    catalog: Catalog
    index: VectorIndex
    spaces: Spaces
    enabled: bool
    remembered: EpochMemory
    questions: QuestionCache

    def search(self, base: str, search: Search) -> Answer:
        """The answer, computed. Raises Refused 404 NO_BASE, Unavailable when the index does not answer."""
        timer = _Timer()
        if not self.enabled:
            return Answer((), disabled(), search.mode, timings_ms=_rounded(timer))
        asked: Asked | None = None
        for _ in range(REPEATS):
            since = time.perf_counter()
            view = self.view(base)
            since = timer.add("epoch", since)
            if asked is None:
                asked = self._ask(search, view)
                since = timer.add("embed", since)
            answer = self._look_up(search, view, asked, timer)
            if answer is not None:
                return replace(answer, timings_ms=_rounded(timer))
        raise Unavailable(f"base {base} changes faster than it can be read")

    def view(self, base: str) -> _View:
        """The base at its current epoch; everything but the epoch is remembered for as long as it stands."""
        epoch = self.catalog.epoch(base)
        known: dict[str, _View] = self.remembered.table(base, epoch, "view")
        if base in known:
            return known[base]
        record = self.catalog.base(base)
        if record is None or record.live is None or not record.enabled:
            raise Refused(404, "NO_BASE", f"There is no base {base} to ask.", sentinel=NO_MATCH)
        collection, embedder, warning = self.spaces.answering(record)
        if embedder is not None:
            differs = self.questions.checked(collection, embedder)
            if differs:
                embedder, warning = None, differs
        view = _View(record, collection, embedder, warning, epoch, collection.space.fingerprint)
        known[base] = view
        return view

    def _ask(self, search: Search, view: _View) -> Asked:
        terms = question_terms(search.query, view.collection.space.lexical.mode)
        if search.mode == "lexical":
            return Asked(terms, None, 0, embedded=False)
        if view.embedder is None:
            return Asked(terms, None, 0, embedded=False, warnings=(f"Answered by words alone: {view.warning}.",))
        try:
            vector, tokens, fresh = self.questions.vector(view.embedder, search.query)
        except (Unavailable, DocumentError) as error:
            return Asked(terms, None, 0, embedded=False, warnings=(f"Answered by words alone: {error}.",))
        return Asked(terms, vector, tokens, embedded=fresh)

    def _look_up(self, search: Search, view: _View, asked: Asked, timer: _Timer) -> Answer | None:
        """One consistent answer, or None when the base moved meanwhile."""
        since = time.perf_counter()
        weights = question_weights(asked.terms, *self._frequencies(view, asked.terms))
        lookup = Lookup(asked.vector, {} if search.mode == "dense" else weights, search.pool)
        hits = self._live_hits(search, view, lookup)
        since = timer.add("index", since)
        if hits is None:
            return None
        ranked = self._rank(search, view, hits, sum(weights.values()))
        kept = keep_close(ranked, search.threshold)[: search.top_k]
        shown = list(dict.fromkeys(hit.id for hit in (*ranked[:1], *kept)))
        since = timer.add("rank", since)
        payloads = self.index.payloads(view.record.base, view.collection.name, shown)
        since = timer.add("index", since)
        moved = self.catalog.epoch(view.record.base) != view.epoch
        since = timer.add("epoch", since)
        if moved or len(payloads) < len(shown):
            return None
        live = self.remembered.table(view.record.base, view.epoch, "live")
        gate = self._decide(search, view, ranked, weights, payloads)
        passages = tuple(
            passage_of(
                payloads[hit.id],
                hit.id,
                score=hit.score,
                dense_score=hit.dense,
                lexical_score=hit.lexical,
                terms=_matched(asked.terms, payloads[hit.id]["terms"]),
                stale=live[payloads[hit.id]["object"]].stale,
            )
            for hit in (kept if gate.decision == "match" else ())
        )
        timer.add("rank", since)
        degraded = asked.vector is None and search.mode != "lexical"
        return Answer(
            passages=passages,
            gate=gate,
            mode="lexical" if degraded else search.mode,
            degraded=degraded,
            fingerprint=view.fingerprint,
            epoch=view.epoch,
            query_tokens=asked.tokens,
            embedded=asked.embedded,
            warnings=asked.warnings,
        )

    def _frequencies(self, view: _View, terms: Sequence[QuestionTerm]) -> tuple[int, Mapping[int, int]]:
        """How many passages there are and how many hold each term, remembered for as long as the epoch stands."""
        known = self.remembered.table(view.record.base, view.epoch, "frequencies")
        missing = [term.code for term in terms if term.code not in known]
        if missing or -1 not in known:
            passages, found = self.index.frequencies(view.record.base, view.collection.name, missing)
            known |= {**dict.fromkeys(missing, 0), **found, -1: passages}
        return known[-1], known

    def _live_hits(self, search: Search, view: _View, lookup: Lookup) -> list[Hit] | None:
        """Candidates of live generations; looks again without the dead ones while too few are left (RULES 12)."""
        narrowed = self._filter(view.record.base, search.filter)
        if narrowed is None:
            return []
        lookup = replace(lookup, filter=narrowed)
        for _ in range(REPEATS):
            found = self.index.lookup(view.record.base, view.collection.name, lookup)
            live = self._live(view, {hit.object for hit in found.hits})
            if live is None:
                return None
            alive = [hit for hit in found.hits if (known := live[hit.object]) and known.generation == hit.generation]
            dead = {(hit.object, hit.generation) for hit in found.hits} - {(h.object, h.generation) for h in alive}
            if not dead or not found.full or len(alive) >= search.top_k:
                break
            lookup = replace(lookup, dead=lookup.dead | dead)
        return alive

    def _live(self, view: _View, names: set[str]) -> Mapping[str, Live | None] | None:
        """Which generation of each object answers at the view's epoch; None when the base moved."""
        known = self.remembered.table(view.record.base, view.epoch, "live")
        missing = names - known.keys()
        if missing:
            found, epoch = self.catalog.live(view.record.base, missing)
            if epoch != view.epoch:
                return None
            known |= {name: found.get(name) for name in missing}
        return known

    def _filter(self, base: str, wanted: SearchFilter) -> IndexFilter | None:
        """The filter in the index's terms; None when no document can pass it."""
        documents = None
        if wanted.source_prefix:
            documents = tuple(d.document_id for d in self.catalog.documents(base, prefix=wanted.source_prefix))
            if not documents:
                return None
        return IndexFilter(documents, wanted.categories, dict(wanted.metadata))

    def _rank(self, search: Search, view: _View, hits: Sequence[Hit], weight: float) -> list[Fused]:
        candidates = [
            Candidate(
                hit.id, hit.dense, hit.lexical, (hit.document_id, hit.ordinal), dense_hit=hit.dense_rank is not None
            )
            for hit in hits
        ]
        mode = "lexical" if hits and all(hit.dense is None for hit in hits) else search.mode
        gate = view.gate
        return fuse(candidates, weight, gate.med, gate.sd, method=search.fusion, mode=mode)

    def _decide(
        self,
        search: Search,
        view: _View,
        ranked: Sequence[Fused],
        weights: Mapping[int, float],
        payloads: Mapping[str, Mapping[str, Any]],
    ) -> GateDecision:
        best = payloads[ranked[0].id] if ranked else None
        cosines = [hit.dense for hit in ranked if hit.dense is not None]
        return decide(
            search.threshold,
            max(cosines, default=None),
            coverage(weights, set(best["terms"])) if best else 0.0,
            view.gate,
            best["title"] if best else None,
            found=bool(ranked),
        )


def _matched(terms: Sequence[QuestionTerm], stored: Sequence[int]) -> tuple[str, ...]:
    held = set(stored)
    return tuple(dict.fromkeys(term.display for term in terms if term.code in held))


def _rounded(timer: _Timer) -> dict[str, float]:
    spent = {name: round(timer.spent.get(name, 0.0), 3) for name in ("epoch", "embed", "index", "rank")}
    return {**spent, "total": round((time.perf_counter() - timer.started) * 1000, 3)}
