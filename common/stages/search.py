"""One question to one base: epoch, vector, one batched look-up, live only, fuse, gate, epoch again (RULES 9-13, 16)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from common.domain.errors import BaseMoves, Refused, Unavailable
from common.domain.expansion import Wanted, codes_of, covered, matched, reachable, total_weight, weights_of
from common.domain.fusion import Fused, Mode, absolute, fuse
from common.domain.gate import GateDecision, decide, keep_close
from common.domain.index import Hit, Lookup
from common.domain.search import NO_MATCH, Answer, AnswerPassage, Search, passage_of
from common.ports import Catalog, Live, VectorIndex
from common.stages.asked import Asked, Timer, ask
from common.stages.candidates import REPEATS, Candidates, View
from common.stages.spaces import Spaces
from common.stages.vectors import QuestionVectors


class _Round(NamedTuple):
    """What one wording of the question found: its passages in order, and whether they answer it."""

    question: Sequence[Wanted]
    codes: frozenset[int]
    kept: Sequence[Fused]
    objects: Mapping[str, Live | None]
    payloads: Mapping[str, Mapping[str, Any]]
    gate: GateDecision
    mode: Mode
    nearest_listed: bool
    """Whether the question's vector listed a live passage: no other one is nearer, whatever the words."""


@dataclass(frozen=True, slots=True)
class Searcher:
    """Answers questions from the live generations of a base. Safe to share between threads."""

    catalog: Catalog
    index: VectorIndex
    spaces: Spaces
    candidates: Candidates
    vectors: QuestionVectors

    def search(self, base: str, search: Search, epoch: int | None = None) -> Answer:
        """The answer, computed; `epoch` is the base's if it was read just now. Raises Refused 404 NO_BASE, Unavailable
        when the index does not answer.
        """
        timer = Timer()
        asked: Asked | None = None
        for turn in range(2 * REPEATS):
            view = self.view(base, None if turn else epoch)
            if turn >= REPEATS:
                view = replace(view, own={})
            timer.took("epoch")
            if asked is None or asked.words.view.collection.name != view.collection.name:
                asked = ask(self.candidates, self.vectors, search, view, timer)
            wanted = search if view.collection.space.embedding.dimension else replace(search, mode="lexical")
            answer = self._standing(wanted, view, asked, timer)
            if answer is not None:
                return answer
        raise BaseMoves(base)

    def view(self, base: str, epoch: int | None = None) -> View:
        """The base at its current epoch, unless another one was read; everything else is remembered for as long as that
        stands. Raises Refused 404 NO_BASE for a base that has no live collection or is switched off.
        """
        epoch = self.catalog.epoch(base) if epoch is None else epoch
        known: dict[str, View] = self.candidates.remembered.table(base, epoch, "view")
        if base in known:
            return known[base]
        record = self.catalog.base(base)
        if record is None or record.live is None or not record.enabled:
            raise Refused(404, "NO_BASE", f"There is no base {base} to ask.", sentinel=NO_MATCH)
        collection = self.spaces.stored(base, record.live)
        view = View(record, collection, epoch, collection.space.fingerprint)
        known[base] = view
        return view

    def _standing(self, search: Search, view: View, asked: Asked, timer: Timer) -> Answer | None:
        """One consistent answer, or None when the base moved meanwhile, be it away from the collection."""
        try:
            return self._answer(search, view, asked, timer)
        except Unavailable:
            if self.catalog.epoch(view.base) == view.epoch:
                raise
            return None

    def _moved(self, view: View, found: _Round) -> bool:
        """Whether the base is another one by now: by its epoch; where that never stands still, whether all that was
        found still answers from this collection.
        """
        if view.own is None:
            return self.catalog.epoch(view.base) != view.epoch
        record = self.catalog.base(view.base)
        shown = {(payload["object"], payload["generation"]) for payload in found.payloads.values()}
        live, _ = self.catalog.live(view.base, {name for name, _ in shown})
        answering = {(name, known.generation) for name, known in live.items()}
        return record is None or record.live != view.collection.name or not shown <= answering

    def _answer(self, search: Search, view: View, asked: Asked, timer: Timer) -> Answer | None:
        """One consistent answer, or None when the base moved meanwhile."""
        question = asked.words.known_to(view) or self.candidates.question(view, asked.words.terms)
        found = self._round(search, view, asked, question, timer)
        if found is not None and _may_yet_match(search, view, asked, found):
            loosened = self.candidates.loosened(view, question)
            timer.took("rank")
            other = self._round(search, view, asked, loosened, timer) if loosened != question else found
            found = other if other is None or other.gate.decision == "match" else found
        if found is None:
            return None
        moved = self._moved(view, found)
        timer.took("epoch")
        if moved:
            return None
        passages = _passages(view, found) if found.gate.decision == "match" else ()
        timer.took("rank")
        degraded = asked.vector is None and search.mode != "lexical"
        return Answer(
            passages=passages,
            gate=found.gate,
            mode="lexical" if degraded else search.mode,
            degraded=degraded,
            collection=view.collection.name,
            fingerprint=view.fingerprint,
            epoch=view.epoch,
            query_tokens=asked.tokens,
            embedded=asked.embedded,
            timings_ms=timer.rounded(),
            warnings=asked.warnings,
            settled=view.own is None,
        )

    def _round(
        self, search: Search, view: View, asked: Asked, question: Sequence[Wanted], timer: Timer
    ) -> _Round | None:
        """Look up one wording of the question, fuse, and judge; None when the base moved meanwhile."""
        lookup = Lookup(asked.vector, {} if search.mode == "dense" else weights_of(question), search.pool)
        alive = self.candidates.live(view, lookup, search.filter, search.top_k)
        timer.took("index")
        if alive is None:
            return None
        hits = alive.hits
        nearest = max([hit.dense for hit in hits if hit.dense is not None], default=None)
        mode = "lexical" if hits and nearest is None else search.mode
        ranked = _ranked(search, mode, view, hits, total_weight(question))
        kept = keep_close(ranked, search.threshold)[: search.top_k]
        shown = list(dict.fromkeys(hit.id for hit in (*ranked[:1], *kept)))
        timer.took("rank")
        payloads = self.index.payloads(view.base, view.collection.name, shown)
        timer.took("index")
        if len(payloads) < len(shown):
            return None
        codes, best = codes_of(question), payloads[ranked[0].id] if ranked else None
        coverage = covered(question, codes.intersection(best["terms"])) if best else 0.0
        gate = _judged(search, view, best, nearest, coverage)
        timer.took("rank")
        listed = any(hit.dense_rank is not None for hit in hits)
        return _Round(question, codes, kept, alive.objects, payloads, gate, mode, listed)


def _passages(view: View, found: _Round) -> tuple[AnswerPassage, ...]:
    """The passages to show, best first."""
    weight, gate = total_weight(found.question), view.gate
    passages = []
    for hit in found.kept:
        payload = found.payloads[hit.id]
        known = found.objects[payload["object"]]
        terms = matched(found.question, found.codes.intersection(payload["terms"]))
        alone = absolute(hit, weight, gate.med, gate.sd, found.mode)
        passages.append(passage_of(payload, hit, terms, stale=known is not None and known.stale, absolute=alone))
    return tuple(passages)


def _may_yet_match(search: Search, view: View, asked: Asked, found: _Round) -> bool:
    """Whether what was refused could be a match in a looser wording. The vector finds the same passages again, so only
    the coverage can rise, and that not without bounds.
    """
    if found.gate.decision == "match" or search.mode == "dense":
        return False
    if asked.vector is not None and not found.nearest_listed:
        return True
    words = search.mode == "lexical"
    best = decide(search.threshold, found.gate.dense, reachable(found.question), view.gate, cosines=not words)
    return best.decision == "match"


def _ranked(search: Search, mode: Mode, view: View, hits: Sequence[Hit], weight: float) -> list[Fused]:
    """The best of them, as many as may be shown: all where a number can refuse any."""
    most = search.top_k if search.threshold in {"auto", None} else None
    return fuse(hits, weight, view.gate.med, view.gate.sd, method=search.fusion, mode=mode, most=most)


def _judged(
    search: Search, view: View, best: Mapping[str, Any] | None, nearest: float | None, coverage: float
) -> GateDecision:
    """The gate's decision, from the payload of the best passage, the share of the question that it covers, and the
    highest cosine of all candidates.
    """
    return decide(
        search.threshold,
        nearest,
        coverage,
        view.gate,
        best["title"] if best else None,
        found=best is not None,
        cosines=search.mode != "lexical",
    )
