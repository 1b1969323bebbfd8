"""The one place that decides whether a base answers a question at all, and says why in a sentence."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from common.domain.fusion import Fused, above_median
from common.domain.records import Gate

Decision = Literal["match", "no_match", "disabled"]
GateMethod = Literal["calibrated", "fixed", "off", "coverage"]
Threshold = float | Literal["auto"] | None
"""`auto` is the base's own cut, a number a plain cosine, None no gate."""

GATE_SPREADS: Final = 4.0
"""Standard deviations above the median that weigh as much as full coverage; 3 to 10 differ by less than .004 AUC. With
5 the eight Portuguese halves reach .942 instead of .9395, and a question that the sample base answers is refused.
"""
COVERAGE_CUT: Final = 0.5
"""The share of the question's idf weight that must be covered where no cosine exists: pooled best F1 (.89) over FaQuAD
and XQuAD with stems. A question of which half is unknown is refused.
"""


class GateDecision(NamedTuple):
    """A decision with all that went into it; `value` and `threshold` are what was compared, None where nothing was."""

    decision: Decision
    method: GateMethod
    threshold: float | None
    value: float | None
    dense: float | None
    coverage: float | None
    nearest: str | None
    reason: str


def disabled() -> GateDecision:
    """The decision of a deployment whose knowledge base is switched off."""
    return GateDecision("disabled", "off", None, None, None, None, None, "The knowledge base is switched off.")


def gate_value(best_cosine: float, coverage: float, gate: Gate) -> float:
    """(best cosine - med) / (4 sd) + coverage: grows with both, comparable within one base and vector space."""
    return above_median(best_cosine, gate.med, gate.sd, GATE_SPREADS) + coverage


def keep_close(ranked: Sequence[Fused], threshold: Threshold) -> list[Fused]:
    """The hits a fixed threshold leaves: those whose cosine is not below the number, and those that have no cosine to
    compare; `auto` and None leave all.
    """
    if threshold is None or threshold == "auto":
        return list(ranked)
    return [hit for hit in ranked if hit.dense is None or hit.dense >= threshold]


def decide(
    threshold: Threshold,
    best_cosine: float | None,
    coverage: float,
    gate: Gate,
    nearest: str | None = None,
    *,
    found: bool = True,
    cosines: bool = True,
) -> GateDecision:
    """Whether to answer, from the best cosine among live candidates (None: no cosine exists), the share of the
    question's idf weight that the fused best passage covers, and the base's fitted gate. `nearest` names the closest
    passage and is only passed on; without any candidate (`found` False) the answer is always no match. `cosines` False
    says that there could be none: the question is asked by words alone.
    """
    if not found:
        method: GateMethod = "off" if threshold is None else "calibrated" if threshold == "auto" else "fixed"
        if threshold is not None and not cosines:
            method, threshold = "coverage", COVERAGE_CUT
        reason = "The base holds no passage that shares a word or a meaning with the question."
        return GateDecision("no_match", method, _number(threshold, gate), None, best_cosine, coverage, nearest, reason)
    if threshold is None:
        reason = "The gate is off: the best passages are returned whatever their scores."
        return GateDecision("match", "off", None, None, best_cosine, coverage, nearest, reason)
    if best_cosine is None:
        return _decide_by_coverage(coverage, nearest)
    if threshold == "auto":
        return _decide_calibrated(best_cosine, coverage, gate, nearest)
    return _decide_fixed(threshold, best_cosine, coverage, nearest)


def _number(threshold: Threshold, gate: Gate) -> float | None:
    return gate.cut if threshold == "auto" else threshold


def _decide_calibrated(best_cosine: float, coverage: float, gate: Gate, nearest: str | None) -> GateDecision:
    value = gate_value(best_cosine, coverage, gate)
    decision = _at_least(value, gate.cut)
    side = "reaches" if decision == "match" else "stays below"
    origin = "fitted on this base" if gate.fitted else "the model's constant"
    spreads = above_median(best_cosine, gate.med, gate.sd, 1)
    reason = (
        f"The best cosine {best_cosine:.3f} is {spreads:.1f} standard deviations above the median and the best passage "
        f"covers {coverage:.0%} of the question's weight: {value:.2f} {side} the cut {gate.cut:.2f} ({origin})."
    )
    return GateDecision(decision, "calibrated", gate.cut, value, best_cosine, coverage, nearest, reason)


def _decide_fixed(threshold: float, best_cosine: float, coverage: float, nearest: str | None) -> GateDecision:
    decision = _at_least(best_cosine, threshold)
    side = "reaches" if decision == "match" else "stays below"
    reason = f"The best cosine {best_cosine:.3f} {side} the fixed threshold {threshold:g}."
    return GateDecision(decision, "fixed", threshold, best_cosine, best_cosine, coverage, nearest, reason)


def _decide_by_coverage(coverage: float, nearest: str | None) -> GateDecision:
    decision = _at_least(coverage, COVERAGE_CUT)
    side = "reaches" if decision == "match" else "stays below"
    reason = (
        f"There is no cosine to compare; the best passage covers {coverage:.0%} of the question's weight, which {side} "
        f"{COVERAGE_CUT:.0%}."
    )
    return GateDecision(decision, "coverage", COVERAGE_CUT, coverage, None, coverage, nearest, reason)


def _at_least(value: float, cut: float) -> Decision:
    return "match" if value >= cut else "no_match"
