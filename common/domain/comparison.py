"""Two collections of one base compared by the same questions: what each found, and how far they agree. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from common.domain.metrics import mrr_at, recall_at
from common.domain.search import Answer, AnswerPassage
from common.domain.usage import FREE, Count, Prices

DEPTH: Final = 10
AGREED: Final = 5
_THOUSAND: Final = 1000


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the source of the document that answers it, None where nobody knows."""

    text: str
    source: str | None = None
    kind: str = "synthetic"


@dataclass(frozen=True, slots=True)
class Said:
    """What one collection said: its passages by rank without a gate, whether its gate let it answer, how many
    milliseconds it took, and the tokens that its model read of the question.
    """

    passages: Sequence[AnswerPassage]
    answered: bool
    took_ms: float
    tokens: int = 0

    @staticmethod
    def of(ranked: Answer, gated: Answer) -> "Said":
        return Said(ranked.passages, gated.match, ranked.timings_ms.get("total", 0.0), ranked.query_tokens)


@dataclass(frozen=True, slots=True)
class Both:
    """One question with both answers."""

    asked: Asked
    blue: Said
    green: Said


def rank_of(source: str, passages: Sequence[AnswerPassage]) -> int | None:
    """The place, from 1, of the first passage of that document, documents counted once."""
    sources = list(dict.fromkeys(passage.source for passage in passages))
    return sources.index(source) + 1 if source in sources else None


def agreement(blue: Sequence[AnswerPassage], green: Sequence[AnswerPassage]) -> float:
    """The share of blue's first five that some of green's first five overlap: two ways to cut one document are compared
    by the lines or the page they come from.
    """
    mine, theirs = blue[:AGREED], green[:AGREED]
    if not mine:
        return 1.0 if not theirs else 0.0
    return sum(any(_overlap(one, other) for other in theirs) for one in mine) / len(mine)


def report(pairs: Sequence[Both], prices: Prices = FREE) -> dict[str, Any]:
    """The figures of both, and what changed. `cost` is dollars for a thousand of these questions."""
    known = [(each, each.asked.source) for each in pairs if each.asked.source is not None]
    ranks = {
        "blue": [rank_of(source, each.blue.passages) for each, source in known],
        "green": [rank_of(source, each.green.passages) for each, source in known],
    }
    refused = sum(each.blue.answered and not each.green.answered for each in pairs)
    answered = sum(each.green.answered and not each.blue.answered for each in pairs)
    kinds = sorted({each.asked.kind for each in pairs})
    return {
        "questions": {kind: sum(each.asked.kind == kind for each in pairs) for kind in kinds},
        "recall_at_5": {side: round(recall_at(found, AGREED), 4) for side, found in ranks.items()} if known else None,
        "mrr_at_10": {side: round(mrr_at(found, DEPTH), 4) for side, found in ranks.items()} if known else None,
        "agreement_at_5": _mean([agreement(each.blue.passages, each.green.passages) for each in pairs]),
        "no_match": {
            "blue": _mean([float(not each.blue.answered) for each in pairs]),
            "green": _mean([float(not each.green.answered) for each in pairs]),
            "newly_refused": refused,
            "newly_answered": answered,
            "newly_refused_share": round(max(0, refused - answered) / len(pairs), 4) if pairs else 0.0,
        },
        "latency_ms": {
            "blue": round(median([each.blue.took_ms for each in pairs] or [0.0]), 2),
            "green": round(median([each.green.took_ms for each in pairs] or [0.0]), 2),
        },
        "cost": {
            "blue": _cost([each.blue.tokens for each in pairs], prices),
            "green": _cost([each.green.tokens for each in pairs], prices),
        },
    }


def _cost(tokens: Sequence[int], prices: Prices) -> float:
    each = sum(tokens) / len(tokens) if tokens else 0.0
    return prices.cost("questions", Count(tokens=round(_THOUSAND * each)))


def _overlap(one: AnswerPassage, other: AnswerPassage) -> bool:
    if one.document_id != other.document_id:
        return False
    if one.lines and other.lines:
        return one.lines[0] <= other.lines[1] and other.lines[0] <= one.lines[1]
    return one.page == other.page


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0
