"""What stands near the documents of an answer, put beside it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from common.domain.errors import Unavailable
from common.domain.related import MOST
from common.domain.search import Answer, Related
from common.stages.patience import Within

Near = Callable[[str, Sequence[str], int], tuple[Related, ...]]
"""At most six documents near those sources of a base at an epoch."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Fills in an answer's `related`. Whatever fails, the answer stays."""

    near: Near
    within: Within

    def beside(self, answer: Answer, deadline: float) -> Answer:
        """The answer with at most six documents, of each of its bases in turn; none where nothing was found.

        `deadline` is of time.monotonic().
        """
        if not answer.match:
            return answer
        try:
            return self.within(lambda: self._beside(answer), max(0.0, deadline - time.monotonic()))
        except Unavailable as error:
            told = f"Related documents could not be read: {error}."
            return answer._replace(warnings=(*answer.warnings, told), settled=False)

    def _beside(self, answer: Answer) -> Answer:
        hits: dict[str, list[str]] = {}
        for passage in answer.passages:
            hits.setdefault(passage.base, []).append(passage.source)
        epochs = {share.base: share.epoch for share in answer.bases}
        found = [self.near(base, sources, epochs.get(base, answer.epoch)) for base, sources in hits.items()]
        turns = chain.from_iterable(zip_longest(*found))
        related = tuple(each for each in turns if each is not None)[:MOST]
        return answer._replace(related=related) if related else answer
