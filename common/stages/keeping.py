"""Keeps the questions of a base: what each was answered is noted in memory and written to the catalog a few seconds
later, with its words only where the operator consents (KB_KEEP_QUESTIONS).
"""

from collections.abc import Sequence
from typing import Any, Final

from common.domain.questions import (
    LIMITS,
    Keep,
    KeptQuestion,
    asked_question,
    counts_view,
    gaps,
    merged,
    set_question,
    together,
)
from common.domain.search import Answer, Search
from common.ports import Catalog, Clock
from common.stages.batching import AGAIN_SECONDS, FLUSH_SECONDS, Batching

_MOST_IN_MEMORY: Final = 2 * LIMITS["asked"]

_Gathered = dict[str, KeptQuestion]


class Keeping:
    """Safe between threads. `kept` is what is kept of a real question."""

    def __init__(
        self,
        catalog: Catalog,
        clock: Clock,
        kept: Keep,
        seconds: float = FLUSH_SECONDS,
        again: float = AGAIN_SECONDS,
    ) -> None:
        self.kept: Final = kept
        self._catalog = catalog
        self._clock = clock
        self._batch = Batching[_Gathered]("questions", self._add, _joined, seconds, again)

    def asked(self, base: str, search: Search, answer: Answer) -> None:
        """Note that the question was asked, to be written within a few seconds; never waits. What a failing model found
        nothing for is no gap of the base, and is not noted.
        """
        if self.kept == "off" or search.measuring or (answer.degraded and not answer.match):
            return
        text, now, answered = search.query, self._clock.now(), answer.match

        def noted() -> _Gathered:
            question = asked_question(text, now, answered=answered, words=self.kept == "text")
            return {question.digest: question}

        self._batch.add(base, noted)

    def questions(self, base: str) -> Sequence[KeptQuestion]:
        """All that are kept, by every process until its last write and by this one until now."""
        self.flush()
        return self._catalog.questions(base)

    def replace(self, base: str, stored: Sequence[tuple[str, str | None]]) -> None:
        """Make these questions, each with the source that answers it, the base's set."""
        now = self._clock.now()
        self._catalog.replace_questions(base, [set_question(text, source, now) for text, source in stored])

    def forget(self, base: str) -> None:
        """Keep none any more: what other processes noted in the last seconds may still come."""
        self._batch.drop(base, self._catalog.forget_questions)

    def counts(self, base: str) -> dict[str, Any]:
        """How many are kept, as JSON-ready data."""
        return {"base": base, "kept": self.kept, **counts_view(self.questions(base))}

    def gaps(self, base: str, limit: int) -> Sequence[KeptQuestion]:
        """What the base was asked and does not answer, the most often asked first."""
        return gaps(self.questions(base), limit)

    def flush(self) -> None:
        """Write all that was noted. Raises what the catalog raises, with everything unwritten kept."""
        self._batch.flush()

    def close(self) -> None:
        """Write what is left, and nothing more by itself."""
        self._batch.close()

    def _add(self, base: str, gathered: _Gathered) -> None:
        self._catalog.add_questions(base, merged(gathered.values()))


def _joined(one: _Gathered, other: _Gathered) -> _Gathered:
    """Both in the first, bounded: where nothing can be written for long, the oldest are let go."""
    for digest, question in other.items():
        one[digest] = together(one[digest], question) if digest in one else question
    return {each.digest: each for each in merged(one.values())} if len(one) > _MOST_IN_MEMORY else one
