"""Each measure against values worked out by hand, and against its own definition on random lists."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.metrics import auc, best_f1, confusion_at, f1_by_cut, mrr_at, ndcg_at, recall_at

values = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=12)


def test_ranks_by_hand():
    ranks = [1, 2, None, 11]
    assert recall_at(ranks, 1) == 0.25
    assert recall_at(ranks, 5) == 0.5
    assert recall_at(ranks, 11) == 0.75
    assert mrr_at(ranks) == pytest.approx((1 + 0.5) / 4)
    assert ndcg_at(ranks) == pytest.approx((1 + 1 / math.log2(3)) / 4)


def test_no_questions_measure_zero():
    assert recall_at([], 5) == mrr_at([]) == ndcg_at([]) == 0.0


@given(values, values)
def test_auc_is_the_share_of_pairs_in_order_with_ties_half(positives, negatives):
    pairs = [(p > n) + 0.5 * (p == n) for p in positives for n in negatives]
    assert auc(positives, negatives) == pytest.approx(sum(pairs) / len(pairs))


def test_auc_of_an_empty_side_knows_nothing():
    assert auc([], [1.0]) == auc([1.0], []) == 0.5


def test_confusion_by_hand():
    at = confusion_at([0.9, 0.8, 0.1], [0.8, 0.2], 0.8)
    assert (at.precision, at.recall, at.refused) == pytest.approx((2 / 3, 2 / 3, 0.5))
    assert at.f1 == pytest.approx(2 / 3)


def test_a_cut_above_everything_keeps_nothing():
    at = confusion_at([0.5], [0.4], 1.0)
    assert (at.precision, at.recall, at.f1, at.refused) == (0.0, 0.0, 0.0, 1.0)


@given(values, values)
def test_one_pass_over_the_cuts_gives_each_cuts_f1(positives, negatives):
    by_cut = dict(f1_by_cut(positives, negatives))
    assert set(by_cut) == set(positives) | set(negatives)
    for cut, f1 in by_cut.items():
        assert f1 == pytest.approx(confusion_at(positives, negatives, cut).f1)


@given(values, values)
def test_best_f1_is_the_best_of_all_cuts_at_its_lowest(positives, negatives):
    best, cut = best_f1(positives, negatives)
    by_cut = dict(f1_by_cut(positives, negatives))
    assert best == max(by_cut.values())
    assert cut == min(value for value, f1 in by_cut.items() if f1 == best)
