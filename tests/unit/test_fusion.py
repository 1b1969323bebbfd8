"""Ranks are the same for every order of the input, and each constant of the fused score is seen in a result."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.fusion import Fused, absolute, diversify, fuse
from common.domain.index import Hit

MED, SD, IDF = 0.8, 0.02, 10.0


def candidate(identity, dense, lexical, dense_hit=True, order=None):
    document, ordinal = order or (identity, 0)
    return Hit(identity, "o", 1, document, ordinal, dense, lexical, 1 if dense_hit else None)


def ids(hits):
    return [hit.id for hit in hits]


def candidates():
    one = st.tuples(
        st.one_of(st.none(), st.floats(-1, 1)),
        st.floats(0, 50),
        st.booleans(),
        st.sampled_from("abc"),
        st.integers(0, 3),
    )
    return st.lists(one, max_size=12).map(
        lambda rows: [
            candidate(f"p{i}", dense, lexical, hit, (document, ordinal))
            for i, (dense, lexical, hit, document, ordinal) in enumerate(rows)
        ]
    )


@given(
    candidates(),
    st.randoms(),
    st.sampled_from(["sum", "minmax", "rrf"]),
    st.sampled_from(["hybrid", "dense", "lexical"]),
)
def test_order_of_input_does_not_matter(pool, random, method, mode):
    shuffled = list(pool)
    random.shuffle(shuffled)
    expected = fuse(pool, IDF, MED, SD, method=method, mode=mode)
    assert fuse(shuffled, IDF, MED, SD, method=method, mode=mode) == expected
    assert [hit.score for hit in expected] == sorted((hit.score for hit in expected), reverse=True)
    assert {hit.id for hit in expected} <= {each.id for each in pool}


@given(
    candidates(),
    st.integers(1, 12),
    st.sampled_from(["sum", "minmax", "rrf"]),
    st.sampled_from(["hybrid", "dense", "lexical"]),
)
def test_the_best_are_the_first_of_all(pool, most, method, mode):
    assert (
        fuse(pool, IDF, MED, SD, method=method, mode=mode, most=most)
        == (fuse(pool, IDF, MED, SD, method=method, mode=mode)[:most])
    )


@given(candidates(), st.floats(0, 30), st.floats(-1, 1), st.floats(0, 0.2), st.sampled_from(["hybrid", "lexical"]))
def test_a_list_is_scored_as_each_of_its_hits_alone_to_the_last_bit(pool, idf_sum, med, sd, mode):
    alone = {each.id: absolute(each, idf_sum, med, sd, mode) for each in pool}
    ranked = fuse(pool, idf_sum, med, sd, mode=mode)
    assert [hit.score for hit in ranked] == [alone[hit.id] for hit in ranked]
    order = {each.id: (each.document_id, each.ordinal) for each in pool}
    assert ranked == sorted(ranked, key=lambda hit: (-hit.score, order[hit.id], hit.id))
    assert all(isinstance(hit, Fused) and absolute(hit, idf_sum, med, sd, mode) == hit.score for hit in ranked)


def test_sum_adds_the_two_absolute_terms():
    # Six spreads above the median count 1 and weigh .40; 1.5 times the question's idf counts 1 and weighs .60.
    hits = fuse([candidate("both", MED + 6 * SD, 1.5 * IDF), candidate("dense", MED + 6 * SD, 0)], IDF, MED, SD)
    assert ids(hits) == ["both", "dense"]
    assert hits[0].score == pytest.approx(1.0)
    assert hits[1].score == pytest.approx(0.45)


def test_one_score_alone_in_dense_and_lexical_mode():
    pool = [candidate("near", 0.9, 0), candidate("word", 0.8, 5.0), candidate("blind", None, 4.0)]
    assert ids(fuse(pool, IDF, MED, SD, mode="dense")) == ["near", "word"]
    assert ids(fuse(pool, IDF, MED, SD, mode="lexical")) == ["word", "blind"]


@pytest.mark.parametrize("method", ["sum", "minmax", "rrf"])
def test_hybrid_without_any_cosine_ranks_by_words(method):
    pool = [candidate("a", None, 2.0), candidate("b", None, 5.0), candidate("c", None, 0.0)]
    assert ids(fuse(pool, IDF, MED, SD, method=method)) == ["b", "a"]


def test_weak_lexical_hits_fall_out_unless_the_dense_list_holds_them():
    pool = [
        candidate("best", 0.81, 10.0),
        candidate("at", 0.81, 0.5, dense_hit=False),
        candidate("under", 0.81, 0.49, dense_hit=False),
        candidate("listed", 0.81, 0.49, dense_hit=True),
    ]
    assert set(ids(fuse(pool, IDF, MED, SD))) == {"best", "at", "listed"}


def test_minmax_measures_from_the_median_and_from_zero():
    pool = [candidate("top", 0.9, 0.0), candidate("half", 0.85, 4.0), candidate("low", 0.7, 2.0)]
    scores = {hit.id: hit.score for hit in fuse(pool, IDF, MED, SD, method="minmax")}
    assert scores == pytest.approx({"top": 0.55, "half": 0.275 + 0.45, "low": 0.225})


def test_reciprocal_ranks_add_over_both_lists():
    pool = [candidate("a", 0.9, 1.0), candidate("b", 0.8, 2.0), candidate("c", 0.7, 0.0)]
    scores = {hit.id: hit.score for hit in fuse(pool, IDF, MED, SD, method="rrf")}
    assert scores == pytest.approx({"a": 1 / 61 + 1 / 62, "b": 1 / 62 + 1 / 61, "c": 1 / 63})


def test_ties_go_by_document_and_ordinal():
    pool = [
        candidate("z", 0.85, 1.0, order=("a", 10)),
        candidate("y", 0.85, 1.0, order=("b", 0)),
        candidate("x", 0.85, 1.0, order=("a", 9)),
    ]
    assert ids(fuse(pool, IDF, MED, SD)) == ["x", "z", "y"]


def test_a_question_without_words_is_ranked_by_meaning():
    assert ids(fuse([candidate("a", 0.81, 0), candidate("b", 0.9, 0)], 0.0, MED, SD)) == ["b", "a"]


def test_a_base_of_equal_passages_has_finite_scores():
    assert fuse([candidate("a", 0.9, 0)], IDF, 0.9, 0.0)[0].score == 0


def test_diversity_prefers_a_new_passage_to_a_copy_of_the_first():
    words = [frozenset("abc"), frozenset("abc"), frozenset("xyz"), frozenset("a")]
    assert diversify([1.0, 0.98, 0.7, 0.0], words) == [0, 2, 1, 3]
    assert diversify([1.0, 0.98, 0.7, 0.0], words, relevance=1.0) == [0, 1, 2, 3]


@given(st.lists(st.tuples(st.floats(0, 1), st.frozensets(st.sampled_from("abcd"))), max_size=8), st.floats(0, 1))
def test_diversity_takes_each_hit_once_and_the_best_first(hits, relevance):
    hits.sort(key=lambda hit: -hit[0])
    order = diversify([score for score, _ in hits], [words for _, words in hits], relevance)
    assert sorted(order) == list(range(len(hits)))
    assert not order or order[0] == 0 or not relevance or hits[order[0]][0] == hits[0][0]
