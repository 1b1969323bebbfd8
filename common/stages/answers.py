"""Answers to questions: cached where the epoch still stands, asked once for equal questions at the same time, and given
within the deadline or not at all.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from common.domain.search import Answer, Search
from common.ports import AnswerCache
from common.stages.caching import Epochs, SingleFlight
from common.stages.neighbourhood import Neighbourhood
from common.stages.patience import Within
from common.stages.rerank import Reordering
from common.stages.search import Searcher

_BYTES_PER_PASSAGE: Final = 600


@dataclass(frozen=True, slots=True)
class Answers:
    """The query side as the functions use it. `deadline` is in seconds, for one question."""

    searcher: Searcher
    epochs: Epochs
    cache: AnswerCache
    reordering: Reordering
    deadline: float
    within: Within
    neighbourhood: Neighbourhood
    asked: Callable[[str, Search, Answer], None]
    flights: SingleFlight[Answer] = field(default_factory=SingleFlight)

    def answer(self, base: str, search: Search) -> Answer:
        """The answer at the base's current epoch. Raises what `Searcher.search` raises."""
        found = self._answer(base, search)
        self.asked(base, search, found)
        return found

    def _answer(self, base: str, search: Search) -> Answer:
        started = time.perf_counter()
        epoch, age = self.epochs.read(base)
        collection = self.searcher.view(base, epoch).collection.name
        read = (time.perf_counter() - started) * 1000
        asked = search.key
        key = ("answer", base, collection, epoch, asked)
        known: Answer | None = self.cache.get(key)
        if known is not None:
            found = known.again(_only_epoch(read, started))
            return found._replace(warnings=(*found.warnings, _remembered(age))) if age else found
        until = time.monotonic() + self.deadline
        answer, shared = self.flights.do(
            key, lambda: self._ask(base, search, until, None if age else epoch), self.deadline
        )
        if shared:
            return answer._replace(cache="shared", embedded=False, rerank_tokens=None)
        if answer.settled and not answer.degraded:
            size = sum(len(p.text) + _BYTES_PER_PASSAGE for p in answer.passages) + _BYTES_PER_PASSAGE
            self.cache.put(("answer", base, answer.collection, answer.epoch, asked), answer, size)
        return answer

    def _ask(self, base: str, search: Search, until: float, epoch: int | None) -> Answer:
        wider = self.reordering.pool(search)
        found = self.within(lambda: self.searcher.search(base, wider, epoch), until - time.monotonic())
        ordered = self.reordering.apply(search, found, until)
        return self.neighbourhood.beside(ordered, until)


def _remembered(age: float) -> str:
    return f"The epoch was read {age:.1f} s ago (KB_EPOCH_TTL): a change since then is not in this answer."


def _only_epoch(read: float, started: float) -> dict[str, float]:
    total = round((time.perf_counter() - started) * 1000, 3)
    return {"epoch": round(read, 3), "embed": 0.0, "index": 0.0, "rank": 0.0, "total": total}
