"""A question in the words and in the vector space of one collection: the two are looked up beside each other."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from common.domain.errors import Unavailable
from common.domain.expansion import Wanted
from common.domain.lexical import QuestionTerm, question_terms
from common.domain.search import Search
from common.stages.candidates import Candidates, View
from common.stages.vectors import NoVector, QuestionVectors

NO_VECTORS: Final = "Answered by words alone: this base has no vectors (KB_EMBED_PROVIDER=none)."


@dataclass(slots=True)
class Timer:
    """Milliseconds by stage; no moment is charged twice."""

    started: float = field(default_factory=time.perf_counter)
    since: float = field(default_factory=time.perf_counter)
    spent: dict[str, float] = field(default_factory=dict)

    def took(self, name: str, until: float | None = None) -> None:
        """All that passed from what was charged last to `until`, or to now, was spent on `name`."""
        moment = time.perf_counter() if until is None else until
        if moment > self.since:
            self.spent[name] = self.spent.get(name, 0.0) + (moment - self.since) * 1000
            self.since = moment

    def rounded(self) -> dict[str, float]:
        spent = {name: round(self.spent.get(name, 0.0), 3) for name in ("epoch", "embed", "index", "rank")}
        return {**spent, "total": round((time.perf_counter() - self.started) * 1000, 3)}


@dataclass(frozen=True, slots=True)
class Words:
    """A question's terms and what the base knows of them at the view's epoch (None: the index was away), with the
    moments (time.perf_counter) at which the two were there.
    """

    view: View
    terms: Sequence[QuestionTerm]
    question: Sequence[Wanted] | None
    read: float
    counted: float

    def known_to(self, view: View) -> Sequence[Wanted] | None:
        """What this very view of the base knows of the terms."""
        return self.question if view is self.view else None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as one collection is asked it; `vector` None leaves the lexical side alone."""

    words: Words
    vector: tuple[float, ...] | None = None
    tokens: int = 0
    embedded: bool = False
    warnings: tuple[str, ...] = ()


def ask(candidates: Candidates, vectors: QuestionVectors, search: Search, view: View, timer: Timer) -> Asked:
    """The question in the view's collection. What its words and its vector share of the time is charged to the one that
    took longer.
    """
    words = cache(lambda: _words(candidates, search, view))
    vectored, warnings = None, _by_words_alone(search, view)
    if warnings is None:
        try:
            vectored, warnings = vectors.of(view.record, view.collection, search.query, words), ()
        except NoVector as reason:
            warnings = (str(reason),)
        timer.took("embed", vectored.ready if vectored is not None and vectored.ready < words().counted else None)
    known = words()
    timer.took("rank", known.read)
    timer.took("index", known.counted)
    if vectored is None:
        return Asked(known, warnings=warnings)
    return Asked(known, vectored.vector, vectored.tokens, vectored.fresh)


def _words(candidates: Candidates, search: Search, view: View) -> Words:
    terms, question = question_terms(search.query, view.mode), None
    read = time.perf_counter()
    # What fails here fails in the look-up again, which tells a base that moved from an index that is away.
    with suppress(Unavailable):
        question = candidates.question(view, terms)
    return Words(view, terms, question, read, time.perf_counter())


def _by_words_alone(search: Search, view: View) -> tuple[str, ...] | None:
    """Why the question needs no vector, as the answer's warnings; None where it needs one."""
    if search.mode == "lexical":
        return ()
    if not view.collection.space.embedding.dimension:
        return (NO_VECTORS,) if search.mode == "dense" else ()
    reindex = view.record.reindex
    if reindex is not None and reindex.by_words:
        return (f"Answered by words alone: {reindex.by_words}.",)
    return None
