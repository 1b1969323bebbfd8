"""Ranking and gate on the three question sets. Every paragraph is a file, read by the real ingest; every question goes
through the real answers path. `python -m tests.bench retrieval [MODEL] [SETS...]`.

Ranking: gate off, the rank of the first passage of the right paragraph among all. Gate: half of the articles (FaQuAD's
versions of one regulation kept together) is the base, every question is asked, both ways.
"""

import math
import sys
from collections.abc import Iterator
from random import Random

from common.domain.metrics import auc, best_f1, confusion_at, mrr_at, ndcg_at, recall_at
from common.domain.search import Search
from common.runtime import LocalRuntime
from tests.bench.reporting import middle, report, table
from tests.bench.setting import SETS, QuestionSet, index, one_machine, put, question_set

DEPTH = 50
SEED = 20
VERSIONS = (
    {
        "REGULAMENTO_GERAL",
        "regulamento geral dos cursos de graduação presenciais",
        "regulamento geral dos cursos de graduação à distância",
        "EXERCICIOS_DOMICILIARES",
        "regime de exercícios domicilares",
    },
    {
        "NORMAS_COMPLEMENTARES_RENOVACAO_DE_MATRICULA",
        "normas complementares para a renovação de matrícula dos cursos de graduação presenciais",
    },
    {"RES_APROVEITAMENTO_DE_ESTUDOS", "regras para solicitação de aproveitamento de estudos"},
)
"""Articles of FaQuAD that are versions of one regulation, as data/qa/README.md lists them."""


def source(paragraph: int) -> str:
    return f"p{paragraph:04}.txt"


def halves(asked: QuestionSet) -> tuple[set[int], set[int]]:
    """Two sets of paragraphs of about the same size that share no article."""
    articles: dict[object, list[int]] = {}
    for paragraph in asked.paragraphs:
        group = next((n for n, titles in enumerate(VERSIONS) if paragraph["title"] in titles), None)
        key = ("versions", group) if group is not None else ("article", paragraph["article"])
        articles.setdefault(key, []).append(paragraph["id"])
    order = list(articles.values())
    Random(SEED).shuffle(order)  # noqa: S311 - a draw that can be repeated
    sides: tuple[set[int], set[int]] = (set(), set())
    for members in order:
        min(sides, key=len).update(members)
    return sides


def ranks(runtime: LocalRuntime, base: str, asked: QuestionSet) -> Iterator[int | None]:
    for question in asked.questions:
        found = runtime.answers.answer(base, Search(question["q"], top_k=DEPTH, threshold=None))
        sources = list(dict.fromkeys(passage.source for passage in found.passages))
        right = source(question["p"])
        yield sources.index(right) + 1 if right in sources else None


def gate(runtime: LocalRuntime, base: str, asked: QuestionSet, inside: set[int]) -> dict[str, float]:
    values: tuple[list[float], list[float]] = ([], [])
    cut = 0.0
    for question in asked.questions:
        decided = runtime.answers.answer(base, Search(question["q"], top_k=1)).gate
        values[question["p"] not in inside].append(-math.inf if decided.value is None else decided.value)
        cut = decided.threshold if decided.threshold is not None else cut
    at_cut = confusion_at(*values, cut)
    return {
        "auc": auc(*values),
        "f1": at_cut.f1,
        "best_f1": best_f1(*values)[0],
        "kept": at_cut.recall,
        "refused": at_cut.refused,
        "cut": cut,
    }


def measure(model: str, name: str) -> dict[str, object]:
    asked = question_set(name)
    with one_machine(model) as runtime:
        bases = {"all": set(range(len(asked.paragraphs))), **dict(zip(("one", "other"), halves(asked), strict=True))}
        for base, inside in bases.items():
            texts = {source(p["id"]): p["text"].encode() for p in asked.paragraphs if p["id"] in inside}
            put(runtime, base, texts)
        index(runtime)
        found = list(ranks(runtime, "all", asked))
        gates = [gate(runtime, base, asked, bases[base]) for base in ("one", "other")]
        fitted = [g.fitted for base in ("one", "other") for g in runtime.catalog.base(base).gates.values()]
    return {
        "questions": len(found),
        "recall_at_1": recall_at(found, 1),
        "recall_at_5": recall_at(found, 5),
        "mrr_at_10": mrr_at(found),
        "ndcg_at_10": ndcg_at(found),
        "gate": {key: middle([each[key] for each in gates]) for key in gates[0]},
        "gate_fitted": all(fitted),
    }


def main(model: str = "e5-small", *names: str) -> None:
    measured = {name: measure(model, name) for name in names or SETS}
    heads = ("set", "questions", "R@1", "R@5", "MRR@10", "nDCG@10", "gate AUC", "F1 at its cut", "best F1")
    keys = ("questions", "recall_at_1", "recall_at_5", "mrr_at_10", "ndcg_at_10")
    rows = [
        (name, *(m[key] for key in keys), *(m["gate"][key] for key in ("auc", "f1", "best_f1")))
        for name, m in measured.items()
    ]
    table(heads, rows)
    report("retrieval", {"model": model, "sets": measured})


if __name__ == "__main__":
    main(*sys.argv[1:])
