"""What each part of the ranking is worth: MRR@10 on the three question sets with one part changed at a time, over the
whole base, with `med` and `sd` as `calibrate` fits them. `python -m tests.bench ranking [MODELS...]`.

Ties count against: a passage ranks behind all that score the same, for every row alike.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from common.domain.fusion import Mode, absolute, fuse
from common.domain.index import Hit
from common.domain.lexical import bm25, lexical_weights, question_terms, question_weights, term_code, tokenise
from common.domain.records import Gate
from common.domain.synthetic import SourcePassage
from common.models import gate_constants
from common.stages.calibrate import CalibrationBase, calibrate
from tests.bench.reporting import report, table
from tests.bench.setting import SETS, QuestionSet, load, question_set

DEPTH = 10
MODELS = ("e5-small", "all-MiniLM-L6-v2")


@dataclass(frozen=True)
class Case:
    """A set with its vectors: cosines [questions, passages] and the fitted median and deviation."""

    asked: QuestionSet
    cosines: np.ndarray
    gate: Gate


@dataclass(frozen=True)
class Variant:
    """One way to rank."""

    words: str = "stem"
    stop_words: bool = True
    title: bool = False
    weight: float | None = None
    method: str = "sum"
    mode: Mode = "hybrid"


VARIANTS = {
    "as shipped": Variant(),
    "words folded, not stemmed": Variant(words="fold"),
    "words as written": Variant(words="off"),
    "stop words kept": Variant(stop_words=False),
    "with the article's title": Variant(title=True),
    "dense weight .30": Variant(weight=0.30),
    "dense weight .40": Variant(weight=0.40),
    "dense weight .50": Variant(weight=0.50),
    "min-max": Variant(method="minmax"),
    "reciprocal ranks": Variant(method="rrf"),
    "words alone (BM25)": Variant(mode="lexical"),
    "words alone, as written": Variant(words="off", mode="lexical"),
    "vectors alone": Variant(mode="dense"),
}


def pieces(text: str, embedder: object) -> list[str]:
    """The text in halves that the model reads whole; a passage counts by its best one."""
    if embedder.count_tokens(text) <= embedder.window - embedder.special_tokens - embedder.passage_prefix_tokens:
        return [text]
    middle = text.index(" ", len(text) // 2)
    return [*pieces(text[:middle], embedder), *pieces(text[middle:], embedder)]


def case(name: str, embedder: object, model: str) -> Case:
    asked = question_set(name)
    texts = [p["text"] for p in asked.paragraphs]
    cut = [pieces(text, embedder) for text in texts]
    vectors = np.array([embedder.embed_passages([piece])[0] for each in cut for piece in each], dtype=np.float32)
    firsts = np.cumsum([0, *map(len, cut)])[:-1]
    questions = np.array([embedder.embed_query(q["q"]) for q in asked.questions], dtype=np.float32)
    prior = Gate(gate_constants(model).med, gate_constants(model).sd, gate_constants(model).cut)
    sources = [SourcePassage(str(n), str(n), text, "") for n, text in enumerate(texts)]
    held = CalibrationBase(sources, vectors[firsts], [lexical_weights({"text": text}, "stem") for text in texts])
    cosines = np.maximum.reduceat(questions @ vectors.T, firsts, axis=1)
    return Case(asked, cosines, calibrate(held, embedder, "stem", prior))


def words_of(variant: Variant, known: Mapping[int, int], passages: int) -> Callable[[str], dict[int, float]]:
    """A question's weights by term code."""

    def weights(question: str) -> dict[int, float]:
        if variant.stop_words:
            return question_weights(question_terms(question, variant.words), passages, known)
        codes = {term_code(t) for word in re.findall(r"\w+", question) for t in tokenise(word, variant.words)}
        return {code: np.log1p((passages - known.get(code, 0) + 0.5) / (known.get(code, 0) + 0.5)) for code in codes}

    return weights


def mrr(found: Case, variant: Variant) -> float:
    stored = [
        lexical_weights(
            {"text": p["text"], **({"title": p["title"].replace("_", " ")} if variant.title else {})}, variant.words
        )
        for p in found.asked.paragraphs
    ]
    known: dict[int, int] = {}
    for weights in stored:
        for code in weights:
            known[code] = known.get(code, 0) + 1
    asked_by = words_of(variant, known, len(stored))
    total = 0.0
    for number, question in enumerate(found.asked.questions):
        weights = asked_by(question["q"])
        scores = fused(found, variant, number, weights, [bm25(weights, each) for each in stored])
        rank = sum(score >= scores[question["p"]] for score in scores)
        total += 1 / rank if rank <= DEPTH else 0.0
    return total / len(found.asked.questions)


def fused(
    found: Case, variant: Variant, number: int, weights: Mapping[int, float], lexical: Sequence[float]
) -> list[float]:
    """The score of every passage; one that fusion leaves out scores below all others."""
    gate, idf_sum, cosines = found.gate, sum(weights.values()), found.cosines[number]
    pool = [Hit(str(n), "", 1, "", n, float(cosines[n]), score, dense_rank=1) for n, score in enumerate(lexical)]
    if variant.weight is None:
        kept = fuse(pool, idf_sum, gate.med, gate.sd, method=variant.method, mode=variant.mode)
        scores = {int(hit.id): hit.score for hit in kept}
        return [scores.get(n, -np.inf) for n in range(len(lexical))]
    dense, words = ([absolute(c, idf_sum, gate.med, gate.sd, mode) for c in pool] for mode in ("dense", "lexical"))
    return [variant.weight * d + (1 - variant.weight) * w for d, w in zip(dense, words, strict=True)]


def main(*models: str) -> None:
    measured = {}
    for model in models or MODELS:
        embedder = load(model)
        cases = [case(name, embedder, model) for name in SETS]
        measured[model] = {name: [mrr(found, variant) for found in cases] for name, variant in VARIANTS.items()}
        table((model, *SETS), [(name, *found) for name, found in measured[model].items()])
    report("ranking", {"sets": SETS, "mrr_at_10": measured})


if __name__ == "__main__":
    main(*sys.argv[1:])
