"""Measures of ranked lists and of yes-or-no decisions, as `evaluate`, calibration and the reindex check report them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Confusion:
    """Quality of a cut: precision and recall of "answered", their harmonic mean, and the shares of answerable questions
    kept (the recall) and of unanswerable ones refused.
    """

    precision: float
    recall: float
    f1: float
    refused: float


def recall_at(ranks: Sequence[int | None], depth: int) -> float:
    """Share of questions whose right answer stands among the first `depth`; a rank counts from 1, None is not found."""
    return _mean([float(rank is not None and rank <= depth) for rank in ranks])


def mrr_at(ranks: Sequence[int | None], depth: int = 10) -> float:
    """Mean of 1 / rank, 0 below `depth` (mean reciprocal rank)."""
    return _mean([1 / rank if rank is not None and rank <= depth else 0.0 for rank in ranks])


def ndcg_at(ranks: Sequence[int | None], depth: int = 10) -> float:
    """Mean of 1 / log2(rank + 1), 0 below `depth`: normalised discounted cumulative gain with one right answer."""
    return _mean([1 / math.log2(rank + 1) if rank is not None and rank <= depth else 0.0 for rank in ranks])


def auc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Chance that a positive's value is above a negative's, ties counted half (Mann-Whitney); .5 if one is empty."""
    if not positives or not negatives:
        return 0.5
    labelled = sorted([(value, 1) for value in positives] + [(value, 0) for value in negatives])
    wins, below, start = 0.0, 0, 0
    while start < len(labelled):
        end = start
        while end < len(labelled) and labelled[end][0] == labelled[start][0]:
            end += 1
        ups = sum(label for _, label in labelled[start:end])
        downs = end - start - ups
        wins += ups * (below + downs / 2)
        below += downs
        start = end
    return wins / (len(positives) * len(negatives))


def confusion_at(positives: Sequence[float], negatives: Sequence[float], cut: float) -> Confusion:
    """Quality of answering exactly the questions whose value is at least `cut`; an empty side counts 0."""
    kept = sum(value >= cut for value in positives)
    wrong = sum(value >= cut for value in negatives)
    return Confusion(
        precision=kept / (kept + wrong) if kept + wrong else 0.0,
        recall=kept / len(positives) if positives else 0.0,
        f1=_f1(kept, wrong, len(positives)),
        refused=1 - wrong / len(negatives) if negatives else 0.0,
    )


def best_f1(positives: Sequence[float], negatives: Sequence[float]) -> tuple[float, float]:
    """The best F1 that any cut reaches and the lowest such cut; (0, 0) without positives."""
    best, cut = 0.0, 0.0
    for value, f1 in f1_by_cut(positives, negatives):
        if f1 >= best:
            best, cut = f1, value
    return best, cut


def f1_by_cut(positives: Sequence[float], negatives: Sequence[float]) -> Iterator[tuple[float, float]]:
    """(cut, F1) for each distinct value, highest first, in one pass over the sorted values."""
    labelled = sorted([(value, 1) for value in positives] + [(value, 0) for value in negatives], reverse=True)
    kept = wrong = 0
    for place, (value, label) in enumerate(labelled):
        kept += label
        wrong += 1 - label
        if place + 1 == len(labelled) or labelled[place + 1][0] != value:
            yield value, _f1(kept, wrong, len(positives))


def _f1(kept: int, wrong: int, positives: int) -> float:
    return 2 * kept / (kept + wrong + positives) if kept else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
