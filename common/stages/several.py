"""One question to several bases at the same time: one embedding per vector space, one fused list."""

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final

from common.domain.errors import FicharioError, Refused, Unavailable
from common.domain.merging import Weighted, merge
from common.domain.search import Answer, Search
from common.stages.answers import Answers

_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class SeveralBases:
    """Asks every base through `answers`, so that what one base answered before is used again."""

    answers: Answers
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="bases"))

    def answer(self, bases: Sequence[Weighted], search: Search) -> Answer:
        """The bases' passages as one list; a base that fails is named in the warnings.

        Raises its error when none of the bases answers.
        """
        return self._answer(bases, search, search.top_k)

    def each(self, bases: Sequence[Weighted], search: Search) -> Answer:
        """The same with all that was asked of each base, at least `top_k` where there is as much."""
        return self._answer(bases, search, None)

    def _answer(self, bases: Sequence[Weighted], search: Search, shown: int | None) -> Answer:
        started = time.perf_counter()
        until = time.monotonic() + self.answers.deadline
        inner = replace(self.answers.reordering.pool(search), rerank="off")
        asked = [(each, self.pool.submit(self.answers.answer, each.base, inner)) for each in bases]
        found: list[tuple[Weighted, Answer]] = []
        failed: list[tuple[str, FicharioError]] = []
        for each, future in asked:
            try:
                found.append((each, _awaited(future, until)))
            except (Unavailable, Refused) as error:
                failed.append((each.base, error))
        if not found:
            raise failed[0][1]
        merged = merge(found, [f"Base {base} did not answer: {error}" for base, error in failed])
        shown = len(merged.passages) if shown is None else shown
        ordered = self.answers.reordering.apply(replace(search, top_k=shown), merged, until)
        answer = self.answers.neighbourhood.beside(ordered, until)
        return answer._replace(timings_ms={**answer.timings_ms, "total": _since(started)})


def _awaited(future: "Future[Answer]", until: float) -> Answer:
    try:
        return future.result(max(0.0, until - time.monotonic()))
    except TimeoutError:
        future.cancel()
        raise Unavailable("it took longer than the deadline") from None


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
