"""The gate is monotone in what it sees, inclusive at its cut, and always says which rule decided."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.fusion import Fused
from common.domain.gate import COVERAGE_CUT, decide, disabled, gate_value, keep_close
from common.domain.records import Gate

FITTED = Gate(med=0.8, sd=0.02, cut=1.12, fitted=True, passages=100)


def hit(identity, dense):
    return Fused(identity, 0.0, dense, 0.0)


def test_value_is_spreads_plus_coverage():
    # Four standard deviations above the median count as much as full coverage.
    assert gate_value(0.88, 0.5, FITTED) == pytest.approx(1.5)


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_more_cosine_or_coverage_never_turns_a_match_into_none(cosine, higher, coverage, wider):
    weak = decide("auto", min(cosine, higher), min(coverage, wider), FITTED)
    strong = decide("auto", max(cosine, higher), max(coverage, wider), FITTED)
    assert not (weak.decision == "match" and strong.decision == "no_match")
    assert strong.value >= weak.value


def test_calibrated_cut_is_inclusive_and_explained():
    gate = Gate(med=0.0, sd=0.25, cut=1.5)
    assert decide("auto", 1.0, 0.5, gate).decision == "match"
    assert decide("auto", 0.5, 1.0, gate).decision == "match"
    decision = decide("auto", 0.5, 0.5, gate, "manual.md:3-9")
    assert (decision.decision, decision.method, decision.threshold) == ("no_match", "calibrated", 1.5)
    assert (decision.value, decision.dense, decision.coverage) == (1.0, 0.5, 0.5)
    assert decision.nearest == "manual.md:3-9"
    assert "50%" in decision.reason
    assert "stays below" in decision.reason
    assert "the model's constant" in decision.reason
    assert "fitted on this base" in decide("auto", 0.9, 0.5, FITTED).reason


@pytest.mark.parametrize(
    ("threshold", "kept"),
    [(0.4, ["h1", "h2"]), (0.82, ["h1"]), (0.9, []), (0, ["h1", "h2", "h3"]), (None, ["h1", "h2", "h3", "h4"])],
)
def test_a_fixed_number_keeps_cosines_at_or_above_it(threshold, kept):
    hits = [hit("h1", 0.82), hit("h2", 0.41), hit("h3", 0.05), hit("h4", -0.3)]
    assert [each.id for each in keep_close(hits, threshold)] == kept
    decision = decide(threshold, 0.82, 1.0, FITTED)
    assert (decision.decision == "match") is bool(kept)
    assert decision.method == ("off" if threshold is None else "fixed")
    assert decision.value == (None if threshold is None else 0.82)


def test_auto_drops_no_passage():
    assert keep_close([hit("a", -1.0)], "auto") == [hit("a", -1.0)]


def test_gate_off_answers_whatever_the_scores():
    assert decide(None, -1.0, 0.0, FITTED).decision == "match"


@pytest.mark.parametrize("threshold", ["auto", 0.5])
def test_without_cosines_the_coverage_decides_and_says_so(threshold):
    kept = decide(threshold, None, COVERAGE_CUT, FITTED)
    refused = decide(threshold, None, COVERAGE_CUT - 0.01, FITTED)
    assert (kept.decision, refused.decision) == ("match", "no_match")
    assert kept.method == refused.method == "coverage"
    assert refused.threshold == COVERAGE_CUT
    assert refused.value == COVERAGE_CUT - 0.01


@pytest.mark.parametrize("threshold", ["auto", 0.5, None])
def test_nothing_found_is_never_a_match(threshold):
    assert decide(threshold, None, 0.0, FITTED, found=False).decision == "no_match"


def test_a_switched_off_deployment_is_disabled():
    assert disabled().decision == "disabled"
