"""Answers to questions: cached where the epoch still stands, and asked once for equal questions at the same time."""

import time
from dataclasses import dataclass, field, replace

from common.domain.search import Answer, Search
from common.ports import AnswerCache, Catalog
from common.stages.caching import SingleFlight
from common.stages.search import Searcher

_BYTES_PER_PASSAGE = 600


@dataclass(frozen=True, slots=True)
class Answers:
    """The query side as the functions use it."""

    searcher: Searcher
    catalog: Catalog
    cache: AnswerCache
    flights: SingleFlight[Answer] = field(default_factory=SingleFlight)

    def answer(self, base: str, search: Search) -> Answer:
        """The answer at the base's current epoch. Raises what `Searcher.search` raises."""
        started = time.perf_counter()
        if not self.searcher.enabled:
            return self.searcher.search(base, search)
        epoch = self.catalog.epoch(base)
        read = (time.perf_counter() - started) * 1000
        key = ("answer", base, epoch, search)
        known: Answer | None = self.cache.get(key)
        if known is not None:
            return replace(known, cache="hit", embedded=False, timings_ms=_only_epoch(read, started))
        answer, shared = self.flights.do(key, lambda: self.searcher.search(base, search))
        if shared:
            return replace(answer, cache="shared", embedded=False)
        if not answer.degraded:
            size = sum(len(p.text) + _BYTES_PER_PASSAGE for p in answer.passages) + _BYTES_PER_PASSAGE
            self.cache.put(("answer", base, answer.epoch, search), answer, size)
        return answer


def _only_epoch(read: float, started: float) -> dict[str, float]:
    total = round((time.perf_counter() - started) * 1000, 3)
    return {"epoch": round(read, 3), "embed": 0.0, "index": 0.0, "rank": 0.0, "total": total}
