"""The same questions asked of both collections of a migration: synthetic ones out of the base's own passages, stored
sets, and real ones that were kept.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from common.domain.comparison import DEPTH, Asked, Both, Said, report
from common.domain.errors import BaseMoves, Misconfigured
from common.domain.records import BaseRecord, Gate
from common.domain.search import MAX_QUERY, Search
from common.domain.synthetic import SourcePassage, synthetic_questions
from common.domain.usage import FREE, Prices
from common.ports import Catalog, VectorIndex
from common.stages.preview import preview
from common.stages.search import Searcher

SYNTHETIC: Final = 100
SAMPLED_PASSAGES: Final = 600
_SEED: Final = 0
_TRIES: Final = 5
"""How often a question is put to a base that changes meanwhile."""


@dataclass(frozen=True, slots=True)
class Comparing:
    """`searcher` makes the query side over a catalog; `kept` gives the questions that are stored of a base."""

    catalog: Catalog
    index: VectorIndex
    searcher: Callable[[Catalog], Searcher]
    kept: Callable[[str], Sequence[Asked]] = lambda _: ()
    prices: Prices = FREE

    def run(self, record: BaseRecord, blue: str, green: str, gate: Gate) -> dict[str, Any]:
        """The report on green with its gate beside blue, which answers now (domain/comparison.py). Uploads go on: a
        question to which the base never stood still is left out. Raises BaseMoves when that was most of them.
        """
        ask_blue = self.searcher(preview(self.catalog, blue, record.gates[blue]))
        ask_green = self.searcher(preview(self.catalog, green, gate))
        questions = [*self._synthetic(record.base, blue), *self.kept(record.base)]
        pairs = [both for asked in questions if (both := _both(record.base, asked, ask_blue, ask_green))]
        if 2 * len(pairs) < len(questions):
            raise BaseMoves(record.base)
        return report(pairs, self.prices)

    def _synthetic(self, base: str, blue: str) -> list[Asked]:
        listed = [document.within(blue) for document in self.catalog.documents(base)]
        sources = {document.document_id: document.source for document in listed}
        random = Random(_SEED)  # noqa: S311 - a sample, not a secret
        chosen = random.sample(listed, min(len(listed), SAMPLED_PASSAGES))
        each = max(1, SAMPLED_PASSAGES // max(1, len(chosen)))
        passages: list[SourcePassage] = []
        for document in sorted(chosen, key=lambda known: known.source):
            ordinals = sorted(random.sample(range(document.passages), min(each, document.passages)))
            if not ordinals:
                continue
            for payload in self.index.passages(base, blue, document.document_id, document.generation, ordinals):
                key = f"{document.document_id} {payload['ordinal']}"
                passages.append(SourcePassage(key, document.document_id, payload["text"], payload["title"]))
        of = {passage.id: sources[passage.document] for passage in passages}
        made = synthetic_questions(passages, _SEED, SYNTHETIC)
        return [Asked(question.text[:MAX_QUERY], of[question.passage_id]) for question in made]


def _both(base: str, asked: Asked, blue: Searcher, green: Searcher) -> Both | None:
    for _ in range(_TRIES):
        with suppress(BaseMoves):
            return Both(asked, _said(base, asked, blue), _said(base, asked, green))
    return None


def _said(base: str, asked: Asked, searcher: Searcher) -> Said:
    """Ranked without a gate, then with it. Raises Misconfigured where words alone would be compared with vectors."""
    ranked = searcher.search(base, Search(asked.text, top_k=DEPTH, threshold=None, measuring=True))
    if ranked.degraded:
        raise Misconfigured(f"The model of a collection cannot be asked: {' '.join(ranked.warnings)}")
    return Said.of(ranked, searcher.search(base, Search(asked.text, top_k=1, measuring=True)))
