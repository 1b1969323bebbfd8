"""Fits a base's gate from the values of its synthetic questions: once asked as they are, and once with the passage that
answers them left out together with its nearest neighbours. Only numbers here; asking is the stage's part.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Final

from common.domain.metrics import auc, confusion_at, f1_by_cut
from common.domain.records import Gate

LEAST_PASSAGES: Final = 20
"""Below it the model's own constant serves: leaving out a passage and its neighbours would leave nothing to ask."""
LEAST_TRIALS: Final = 30
LEAST_AUC: Final = 0.65
"""With fewer questions, or values that hardly tell answered from unanswered ones (copies of one passage, tables without
sentences), a fitted cut would be noise and the model's constant serves.
"""
LEFT_OUT: Final = 5
"""Nearest neighbours left out with the source: without them the cut is too high, as they half answer the question."""
F1_TOLERANCE: Final = 0.003
"""The cut is the middle of all cuts whose F1 is this close to the best: a plateau's edge is luck."""

RESAMPLES: Final = 30
"""The best F1 of 220 questions sits on a few of them; averaging takes up to a fifth off what that luck costs."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The gate's value of one synthetic question with its source in the base, and without it."""

    answered: float
    unanswered: float


def fit_cut(trials: Sequence[Trial]) -> float:
    """The middle of the range of cuts whose F1 is within .003 of the best, as the mean over resamples of the trials.

    Raises ValueError without trials.
    """
    if not trials:
        raise ValueError("a cut needs the values of at least one question")
    rng = Random(0)  # noqa: S311 - the same trials always give the same cut
    return fmean(_middle_of_best(rng.choices(trials, k=len(trials))) for _ in range(RESAMPLES))


def _middle_of_best(trials: Sequence[Trial]) -> float:
    by_cut = list(f1_by_cut([trial.answered for trial in trials], [trial.unanswered for trial in trials]))
    best = max(f1 for _, f1 in by_cut)
    near = [place for place, (_, f1) in enumerate(by_cut) if f1 >= best - F1_TOLERANCE]
    # Every cut down to the next lower value decides alike, so the range ends there.
    lowest = min(near[-1] + 1, len(by_cut) - 1)
    return (by_cut[near[0]][0] + by_cut[lowest][0]) / 2


def fit_gate(med: float, sd: float, trials: Sequence[Trial], passages: int) -> Gate | None:
    """The gate with its cut fitted on all trials, and its rates: `auc`, the number of `questions`, and `f1`, `kept` of
    the answerable and `refused` of the unanswerable for cuts fitted on one half and measured on the other, both ways.

    None where the trials are too few or too alike to fit anything.
    """
    overall = auc([trial.answered for trial in trials], [trial.unanswered for trial in trials])
    if len(trials) < LEAST_TRIALS or overall < LEAST_AUC:
        return None
    rates = {"auc": overall, "questions": float(len(trials)), **_held_out(trials)}
    return Gate(med, sd, fit_cut(trials), fitted=True, passages=passages, rates=rates)


def _held_out(trials: Sequence[Trial]) -> dict[str, float]:
    halves = trials[::2], trials[1::2]
    measured = []
    for fitted_on, held_out in (halves, halves[::-1]):
        values = [trial.answered for trial in held_out], [trial.unanswered for trial in held_out]
        measured.append(confusion_at(*values, fit_cut(fitted_on)))
    return {
        "f1": fmean(each.f1 for each in measured),
        "kept": fmean(each.recall for each in measured),
        "refused": fmean(each.refused for each in measured),
    }


def needs_refit(gate: Gate, passages: int) -> bool:
    """Whether a base has changed enough for a new fit: never fitted with enough passages, doubled, or halved."""
    if passages < LEAST_PASSAGES:
        return False
    return not gate.fitted or passages >= 2 * gate.passages or 2 * passages <= gate.passages
