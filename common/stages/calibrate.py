"""Asks a base its own synthetic questions and fits the gate: an offline stage over passages held in memory that leaves
storing the result to its caller. Never on the request path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final, Protocol

from common.domain.calibration import LEAST_PASSAGES, LEFT_OUT, Trial, fit_gate
from common.domain.fusion import DENSE_SPREADS, DENSE_WEIGHT, LEAST_SPREAD, LEXICAL_SHARE
from common.domain.gate import gate_value
from common.domain.lexical import Mode, QuestionTerm, question_terms, question_weights
from common.domain.records import Gate
from common.domain.synthetic import SourcePassage, SyntheticQuestion, fragment_questions, synthetic_questions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

SIBLINGS: Final = 10
"""Nearest passages that lend words to a swapped question."""
SAMPLED_PASSAGES: Final = 5_000
"""How many passages questions are made of and cosines are measured against; the questions are asked of all."""
_BLOCK: Final = 500


class QueryEmbedder(Protocol):
    """The part of an embedder that calibration needs."""

    def embed_query(self, text: str) -> Sequence[float]:
        """A unit vector in the base's vector space."""


@dataclass(frozen=True, slots=True)
class CalibrationBase:
    """The live passages of one base: passage i has row i of `vectors` (n x dimension, unit length, float32) and the
    stored lexical weights `lexical[i]` by term code.
    """

    passages: Sequence[SourcePassage]
    vectors: Floats
    lexical: Sequence[Mapping[int, float]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question with its cosines to all passages and the row of its source."""

    terms: Sequence[QuestionTerm]
    cosines: Floats
    source: int


def calibrate(base: CalibrationBase, embedder: QueryEmbedder, mode: Mode, prior: Gate, seed: int = 0) -> Gate:
    """The gate fitted on the base. `prior`, the model's constants, is returned for a base of under about 20 passages
    or one whose passages hold too few sentences to ask for.
    """
    import numpy as np  # noqa: PLC0415 - 0.1 s that only a calibration pays

    count = len(base.passages)
    sampled = _sampled_rows(count, seed)
    questions = _questions(base, sampled, seed) if count >= LEAST_PASSAGES else []
    if not questions:
        return prior
    rows = {passage.id: row for row, passage in enumerate(base.passages)}
    asked = [
        _Asked(
            question_terms(question.text, mode),
            base.vectors @ np.asarray(embedder.embed_query(question.text), dtype=np.float32),
            rows[question.passage_id],
        )
        for question in questions
    ]
    plain = [each.cosines[sampled] for each, q in zip(asked, questions, strict=True) if q.kind in ("mask", "fragment")]
    cosines = np.concatenate(plain or [each.cosines[sampled] for each in asked])
    med, sd = float(np.median(cosines)), max(float(np.std(cosines)), LEAST_SPREAD)
    ask = _Asking(base.lexical, {term.code for each in asked for term in each.terms}, med, sd)
    trials = [
        Trial(ask.value(each, []), ask.value(each, _neighbourhood(base.vectors, each.source)))
        for each, question in zip(asked, questions, strict=True)
        if question.kind != "fragment"
    ]
    return fit_gate(med, sd, trials, count) or prior


def _questions(base: CalibrationBase, sampled: Sequence[int], seed: int) -> list[SyntheticQuestion]:
    """Questions of the sampled passages; words are swapped in from the nearest ones, however files cut the corpus."""
    passages = [base.passages[row] for row in sampled]
    vectors = base.vectors[list(sampled)]
    siblings: dict[str, list[str]] = {}
    for start in range(0, len(passages), _BLOCK):
        near = _nearest(vectors, vectors[start : start + _BLOCK], SIBLINGS + 1)
        for passage, found in zip(passages[start:], near, strict=False):
            siblings[passage.id] = sorted(passages[at].id for at in found if passages[at].id != passage.id)
    return synthetic_questions(passages, seed, siblings=siblings) + fragment_questions(passages, seed)


def _nearest(vectors: Floats, questions: Floats, count: int) -> list[list[int]]:
    """For each question vector the rows of its nearest vectors, in no order."""
    import numpy as np  # noqa: PLC0415

    wanted = min(count, len(vectors))
    found = np.argpartition(-(questions @ vectors.T), wanted - 1, axis=1)[:, :wanted]
    return [[int(row) for row in rows] for rows in found]


def _sampled_rows(count: int, seed: int) -> list[int]:
    if count <= SAMPLED_PASSAGES:
        return list(range(count))
    return sorted(Random(seed).sample(range(count), SAMPLED_PASSAGES))  # noqa: S311


def _neighbourhood(vectors: Floats, source: int) -> list[int]:
    """The rows of a passage and of the neighbours that are left out with it."""
    return sorted({source, *_nearest(vectors, vectors[source : source + 1], LEFT_OUT + 1)[0]})


class _Asking:
    """Asks the base as the query function does, by fused score over all passages: rows and weights of each term."""

    def __init__(self, lexical: Sequence[Mapping[int, float]], codes: set[int], med: float, sd: float) -> None:
        import numpy as np  # noqa: PLC0415

        found: dict[int, tuple[list[int], list[float]]] = {code: ([], []) for code in codes}
        for row, weights in enumerate(lexical):
            for code in codes & weights.keys():
                found[code][0].append(row)
                found[code][1].append(weights[code])
        self._postings = {code: (np.array(at, dtype=np.intp), np.array(w)) for code, (at, w) in found.items()}
        self._gate = Gate(med, sd, cut=0.0)

    def value(self, asked: _Asked, left_out: Sequence[int]) -> float:
        """The gate's value with some passages left out of the base: of the ranking, of df and of N."""
        import numpy as np  # noqa: PLC0415

        kept = np.ones(len(asked.cosines), dtype=bool)
        kept[list(left_out)] = False
        held = {term.code: int(kept[self._postings[term.code][0]].sum()) for term in asked.terms}
        weights = question_weights(asked.terms, int(kept.sum()), held)
        scores, covered = np.zeros(len(kept)), np.zeros(len(kept))
        for code, weight in weights.items():
            at, stored = self._postings[code]
            scores[at] += weight * stored
            covered[at] += weight
        total = sum(weights.values()) or 1.0
        fused = DENSE_WEIGHT * (asked.cosines - self._gate.med) / (DENSE_SPREADS * self._gate.sd)
        fused += (1 - DENSE_WEIGHT) * scores / (LEXICAL_SHARE * total)
        best = int(np.argmax(np.where(kept, fused, -np.inf)))
        return gate_value(float(asked.cosines[kept].max()), float(covered[best]) / total, self._gate)
