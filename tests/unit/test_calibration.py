"""The cut lies among the values it was fitted on, and the stage asks exactly as the query function would."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.domain.calibration import LEAST_PASSAGES, LEAST_TRIALS, Trial, fit_cut, fit_gate, needs_refit
from common.domain.expansion import covered, exact
from common.domain.fusion import fuse
from common.domain.gate import gate_value
from common.domain.index import Hit
from common.domain.lexical import bm25, lexical_weights, question_terms, question_weights
from common.domain.metrics import confusion_at
from common.domain.records import Gate
from common.domain.synthetic import SourcePassage
from common.stages.calibrate import CalibrationBase, _Asked, _Asking, _neighbourhood, calibrate

PRIOR = Gate(med=0.8, sd=0.02, cut=1.12)
values = st.integers(-4, 12).map(lambda quarter: quarter / 4)
trials = st.lists(st.builds(Trial, values, values), min_size=1, max_size=30)


@settings(max_examples=50, deadline=None)
@given(trials)
def test_the_cut_lies_within_the_values(made):
    everything = [value for trial in made for value in (trial.answered, trial.unanswered)]
    assert min(everything) - 1e-9 <= fit_cut(made) <= max(everything) + 1e-9


@settings(max_examples=25, deadline=None)
@given(trials, st.integers(-5, 5))
def test_the_cut_moves_with_the_values(made, shift):
    moved = [Trial(trial.answered + shift, trial.unanswered + shift) for trial in made]
    assert fit_cut(moved) == pytest.approx(fit_cut(made) + shift)


def test_the_cut_parts_what_can_be_parted():
    made = [Trial(1.5 + at / 100, 0.5 + at / 100) for at in range(50)]
    assert fit_cut(made) == pytest.approx(1.25, abs=0.03)  # the middle between 0.99 and 1.50
    gate = fit_gate(0.8, 0.02, made, 300)
    assert gate == fit_gate(0.8, 0.02, made, 300)
    assert (gate.med, gate.sd, gate.fitted, gate.passages) == (0.8, 0.02, True, 300)
    assert gate.rates == {"auc": 1.0, "questions": 50.0, "f1": 1.0, "kept": 1.0, "refused": 1.0}


def test_the_fitted_cut_is_nearly_the_best_on_noisy_values():
    rng = Random(1)  # noqa: S311
    made = [Trial(rng.gauss(1.4, 0.3), rng.gauss(0.8, 0.3)) for _ in range(220)]
    fresh = [rng.gauss(1.4, 0.3) for _ in range(4000)], [rng.gauss(0.8, 0.3) for _ in range(4000)]
    best = max(confusion_at(*fresh, cut / 100).f1 for cut in range(50, 150))
    assert confusion_at(*fresh, fit_cut(made)).f1 > best - 0.01


def test_held_out_rates_are_worse_than_perfect_where_values_overlap():
    rng = Random(2)  # noqa: S311
    rates = fit_gate(0, 1, [Trial(rng.gauss(1, 1), rng.gauss(0, 1)) for _ in range(300)], 300).rates
    assert 0.6 < rates["auc"] < 0.9
    assert 0.6 < rates["f1"] < 0.85
    assert rates["kept"] > 1 - rates["refused"]


def test_too_few_trials_or_values_that_say_nothing_fit_no_gate():
    parted = [Trial(1.0 + at / 100, at / 100) for at in range(LEAST_TRIALS)]
    assert fit_gate(0, 1, parted, 20) is not None
    assert fit_gate(0, 1, parted[1:], 20) is None
    assert fit_gate(0, 1, [Trial(at / 100, at / 100) for at in range(100)], 100) is None
    with pytest.raises(ValueError, match="at least one"):
        fit_cut([])


@pytest.mark.parametrize(
    ("fitted", "at", "now", "wanted"),
    [
        (False, 0, LEAST_PASSAGES - 1, False),
        (False, 0, LEAST_PASSAGES, True),
        (True, 100, 100, False),
        (True, 100, 199, False),
        (True, 100, 200, True),
        (True, 100, 51, False),
        (True, 100, 50, True),
        (True, 30, 10, False),
    ],
)
def test_a_base_is_fitted_again_when_doubled_or_halved(fitted, at, now, wanted):
    assert needs_refit(Gate(0, 1, 1, fitted=fitted, passages=at), now) is wanted


TOPICS = ["bomba", "reembolso", "viagem", "contrato", "estoque", "salario", "biblioteca", "hospital"]


class WordEmbedder:
    """Unit vectors of hashed words: texts that share words are near."""

    def embed_query(self, text):
        vector = np.zeros(64)
        for term in question_terms(text, "stem"):
            vector[term.code % 64] += 1
        return (vector / (np.linalg.norm(vector) or 1.0)).tolist()


def base_of(count, text=None):
    rng = Random(3)  # noqa: S311
    vocabulary = {topic: [f"{topic}{chr(97 + i)}{chr(97 + j)}" for i in range(8) for j in range(5)] for topic in TOPICS}
    passages = []
    for at in range(count):
        topic = TOPICS[at % len(TOPICS)]
        sentences = [" ".join(["o", *rng.sample(vocabulary[topic], 10)]) for _ in range(4)]
        passages.append(SourcePassage(f"p{at:03}", topic, ". ".join(sentences) + "." if text is None else text, topic))
    embedder = WordEmbedder()
    vectors = np.array([embedder.embed_query(each.text) for each in passages], dtype=np.float32).reshape(count, 64)
    return CalibrationBase(passages, vectors, [lexical_weights({"text": each.text}, "stem") for each in passages])


def test_a_base_is_fitted_from_its_passages_alone():
    gate = calibrate(base_of(80), WordEmbedder(), "stem", PRIOR)
    assert gate == calibrate(base_of(80), WordEmbedder(), "stem", PRIOR)
    assert gate.fitted
    assert gate.passages == 80
    assert 0 <= gate.med < 0.5
    assert 0 < gate.sd < 0.5
    assert gate.rates["auc"] > 0.7
    assert 150 < gate.rates["questions"] <= 220


@pytest.mark.parametrize(
    "base",
    [base_of(0), base_of(LEAST_PASSAGES - 1), base_of(40, text="x = 1"), base_of(40, text=base_of(1).passages[0].text)],
    ids=["empty", "small", "no sentences", "copies of one passage"],
)
def test_a_base_with_too_little_to_ask_keeps_the_models_constants(base):
    assert calibrate(base, WordEmbedder(), "stem", PRIOR) is PRIOR


@pytest.mark.parametrize("left_out", [[], [3], [0, 3, 11, 19, 27, 35]])
def test_a_question_is_asked_as_the_query_function_asks_it(left_out):
    base, med, sd = base_of(40), 0.1, 0.15
    for source in (3, 4):
        text = base.passages[source].text[:60] + " guarda-chuva"
        vector = np.array(WordEmbedder().embed_query(text), dtype=np.float32)
        terms = question_terms(text, "stem")
        asked = _Asked(terms, base.vectors @ vector, source)
        value = _Asking(base.lexical, {term.code for term in terms}, med, sd).value(asked, left_out)

        rows = [row for row in range(40) if row not in left_out]
        held = {term.code: sum(term.code in base.lexical[row] for row in rows) for term in terms}
        weights = question_weights(terms, len(rows), held)
        pool = [
            Hit(str(row), "o", 1, "d", row, float(asked.cosines[row]), bm25(weights, base.lexical[row]), dense_rank=1)
            for row in rows
        ]
        best = fuse(pool, sum(weights.values()), med, sd)[0]
        share = covered(exact(terms, len(rows), held), base.lexical[int(best.id)])
        expected = gate_value(max(each.dense for each in pool), share, Gate(med, sd, 0))
        assert value == pytest.approx(expected)
        assert math.isfinite(value)


def test_a_passage_is_left_out_with_its_nearest_neighbours():
    vectors = np.array([[1, 0], [0.9, 0.1], [0.8, 0.2], [0, 1], [0.7, 0.3], [0.6, 0.4], [0.5, 0.5], [0.1, 0.9]])
    assert _neighbourhood(vectors.astype(np.float32), 0) == [0, 1, 2, 4, 5, 6]
