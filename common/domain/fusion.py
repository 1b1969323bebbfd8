"""How candidates of the dense and the lexical look-up become one ranked list. Pure: every adapter hands over the same
raw scores and so ranks alike. Equal scores are told apart by document and position.
"""

import math
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from common.domain.index import Hit

Mode = Literal["hybrid", "dense", "lexical"]
Method = Literal["sum", "minmax", "rrf"]

# Measured on FaQuAD (pt) and XQuAD (en, es): best at .42 to .48 on all three, and a model that is weak in the language
# stays above BM25 alone. A weight fitted on a base's own sentences is worse: they share their words by construction.
DENSE_WEIGHT: Final = 0.45
DENSE_SPREADS: Final = 6.0
"""A cosine this many standard deviations above the median counts 1."""
LEXICAL_SHARE: Final = 1.5
"""A BM25 score of this multiple of the question's summed idf counts 1."""
MINMAX_DENSE_WEIGHT: Final = 0.55
RRF_K: Final = 60
"""Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion" (2009)."""
LEXICAL_FLOOR: Final = 0.05
"""A purely lexical hit below this share of the best lexical score falls out."""
LEAST_SPREAD: Final = 0.005
"""A smaller standard deviation of cosines is noise of a tiny base, and is read as this."""
MMR_RELEVANCE: Final = 0.7


class Fused(NamedTuple):
    """A candidate with its fused score; higher is better, comparable between bases under `sum`."""

    id: str
    score: float
    dense: float | None
    lexical: float


def above_median(cosine: float, med: float, sd: float, spreads: float) -> float:
    """How far a cosine lies above the base's median, in units of `spreads` standard deviations."""
    return (cosine - med) / (spreads * max(sd, LEAST_SPREAD))


def fuse(
    candidates: Sequence[Hit],
    question_idf_sum: float,
    med: float,
    sd: float,
    *,
    method: Method = "sum",
    mode: Mode = "hybrid",
    most: int | None = None,
) -> list[Fused]:
    """The candidates of the mode with fused scores, the best `most` of them (all), best first; the order of the input
    does not matter. `med` and `sd` are the base's median cosine and its standard deviation; a mode with one score only
    scales that score alone.
    """
    kept = _eligible(candidates, mode)
    if method == "rrf":
        scores = _reciprocal_ranks(kept, mode)
    elif method == "minmax":
        scores = _min_max(kept, med, mode)
    else:
        scores = _sums(kept, question_idf_sum, med, sd, mode)
    # What cannot be among the best is not put in order; tuples that compare by themselves need no key.
    least = sorted(scores)[-most] if most is not None and most < len(scores) else -math.inf
    ranked = sorted(
        [(-score, c.document_id, c.ordinal, c.id, c) for c, score in zip(kept, scores, strict=True) if score >= least]
    )
    return [Fused(identity, -low, c.dense, c.lexical) for low, _, _, identity, c in ranked[:most]]


def _eligible(candidates: Sequence[Hit], mode: Mode) -> list[Hit]:
    if mode == "dense":
        return [candidate for candidate in candidates if candidate.dense is not None]
    floor = LEXICAL_FLOOR * max([candidate.lexical for candidate in candidates], default=0.0)
    listed = mode == "hybrid"
    return [
        c
        for c in candidates
        if (listed and c.dense_rank is not None and c.dense is not None) or (c.lexical > 0 and c.lexical >= floor)
    ]


def _weights(mode: Mode, dense: float) -> tuple[float, float]:
    if mode == "hybrid":
        return dense, 1 - dense
    return (1.0, 0.0) if mode == "dense" else (0.0, 1.0)


def absolute(hit: Hit | Fused, question_idf_sum: float, med: float, sd: float, mode: Mode) -> float:
    """The sum of absolute terms: no other candidate's score goes into it, so that it compares between bases."""
    dense_weight, lexical_weight = _weights(mode, DENSE_WEIGHT)
    dense = 0.0 if hit.dense is None else above_median(hit.dense, med, sd, DENSE_SPREADS)
    lexical = hit.lexical / (LEXICAL_SHARE * question_idf_sum) if question_idf_sum > 0 else 0.0
    return dense_weight * dense + lexical_weight * lexical


def _sums(candidates: Sequence[Hit], question_idf_sum: float, med: float, sd: float, mode: Mode) -> list[float]:
    """`absolute` of every candidate, to the last bit, with what they share worked out once."""
    dense_weight, lexical_weight = _weights(mode, DENSE_WEIGHT)
    spread, most = DENSE_SPREADS * max(sd, LEAST_SPREAD), LEXICAL_SHARE * question_idf_sum
    if most <= 0:
        most = math.inf
    return [
        dense_weight * (0.0 if c.dense is None else (c.dense - med) / spread) + lexical_weight * (c.lexical / most)
        for c in candidates
    ]


def _min_max(candidates: Sequence[Hit], med: float, mode: Mode) -> list[float]:
    """Both scores scaled by their own best, from a floor that does not depend on the pool: the median, and 0."""
    dense_weight, lexical_weight = _weights(mode, MINMAX_DENSE_WEIGHT)
    rises = [max(0.0, c.dense - med) if c.dense is not None else 0.0 for c in candidates]
    best_rise = max(rises, default=0.0) or 1.0
    best_lexical = max((c.lexical for c in candidates), default=0.0) or 1.0
    return [
        dense_weight * rise / best_rise + lexical_weight * c.lexical / best_lexical
        for c, rise in zip(candidates, rises, strict=True)
    ]


def _reciprocal_ranks(candidates: Sequence[Hit], mode: Mode) -> list[float]:
    scores = dict.fromkeys((c.id for c in candidates), 0.0)
    lists: list[list[tuple[float, str, int, str]]] = []
    if mode != "lexical":
        lists.append([(-c.dense, c.document_id, c.ordinal, c.id) for c in candidates if c.dense is not None])
    if mode != "dense":
        lists.append([(-c.lexical, c.document_id, c.ordinal, c.id) for c in candidates if c.lexical > 0])
    for ranked in lists:
        for rank, (*_, identity) in enumerate(sorted(ranked), start=1):
            scores[identity] += 1 / (RRF_K + rank)
    return [scores[c.id] for c in candidates]


def diversify(scores: Sequence[float], words: Sequence[frozenset[str]], relevance: float = MMR_RELEVANCE) -> list[int]:
    """The order of all hits by maximal marginal relevance (Carbonell and Goldstein, 1998), as positions: `relevance`
    times the score, scaled to 0..1 over the list, less the rest times the greatest overlap of words (Jaccard) with a
    hit already taken.
    """
    if not scores:
        return []
    low, width = min(scores), (max(scores) - min(scores)) or 1.0
    overlap = [0.0] * len(scores)
    left = list(range(len(scores)))
    taken: list[int] = []
    while left:
        best = max(left, key=lambda i: (relevance * (scores[i] - low) / width - (1 - relevance) * overlap[i], -i))
        left.remove(best)
        taken.append(best)
        for i in left:
            overlap[i] = max(overlap[i], _jaccard(words[best], words[i]))
    return taken


def _jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    union = len(left | right)
    return len(left & right) / union if union else 0.0
