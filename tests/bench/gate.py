"""The gate on the three question sets: half of the articles is the base, every question is asked, the gate is fitted by
`calibrate` on what the base itself holds. `python -m tests.bench gate [MODEL] [FIRST SEED] [SETS...]`.

Eight halves a set: four seeds, each side of each split once the base, FaQuAD's versions of one regulation kept on one
side. The seeds are 10 to 13: the constants of the gate were chosen on others. AUC is of the gate's value; F1, kept and
refused are at the stored cut, best F1 at the best cut in hindsight.
"""

import math
import sys
from collections.abc import Sequence
from random import Random
from statistics import mean

from common.domain.metrics import auc, best_f1, confusion_at
from common.domain.search import Search
from common.runtime import LocalRuntime
from tests.bench.reporting import report, table
from tests.bench.retrieval import source
from tests.bench.setting import SETS, QuestionSet, index, load, one_machine, put, question_set

SEEDS = 4
FIRST = 10
REQUIRED = {  # AUC, F1 and the least F1 of any half
    "faquad.pt": (0.94, 0.875, 0.85),
    "xquad.en": (0.995, 0.965, 0.95),
    "xquad.es": (0.99, 0.955, 0.945),
}
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


class Remembering:
    """The model, each text embedded once for all halves."""

    def __init__(self, inner: object) -> None:
        self.inner = inner
        self.known: dict[tuple[str, str], list[float]] = {}

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._of("passage", text, lambda t: self.inner.embed_passages([t])[0]) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._of("query", text, self.inner.embed_query)

    def _of(self, role: str, text: str, embed: object) -> list[float]:
        if (role, text) not in self.known:
            self.known[role, text] = embed(text)
        return self.known[role, text]


def halves(asked: QuestionSet, seed: int) -> tuple[set[int], set[int]]:
    """The paragraphs in two about equal parts, whole articles of them."""
    articles: dict[object, list[int]] = {}
    for paragraph in asked.paragraphs:
        group = next((n for n, titles in enumerate(VERSIONS) if paragraph["title"] in titles), None)
        key = ("versions", group) if group is not None else ("article", paragraph["article"])
        articles.setdefault(key, []).append(paragraph["id"])
    order = list(articles.values())
    Random(seed).shuffle(order)  # noqa: S311 - a draw that can be repeated
    sides: tuple[set[int], set[int]] = (set(), set())
    for members in order:
        min(sides, key=len).update(members)
    return sides


def judge(runtime: LocalRuntime, base: str, asked: QuestionSet, inside: set[int]) -> dict[str, float]:
    values: tuple[list[float], list[float]] = ([], [])
    cut = runtime.gate_fit.run(base).cut
    for question in asked.questions:
        decided = runtime.answers.answer(base, Search(question["q"], top_k=1)).gate
        values[question["p"] not in inside].append(-math.inf if decided.value is None else decided.value)
    at_cut = confusion_at(*values, cut)
    return {
        "auc": auc(*values),
        "f1": at_cut.f1,
        "best_f1": best_f1(*values)[0],
        "kept": at_cut.recall,
        "refused": at_cut.refused,
        "cut": cut,
    }


def measure(model: Remembering, name: str, seeds: range) -> dict[str, float]:
    asked = question_set(name)
    judged = []
    for inside in [side for seed in seeds for side in halves(asked, seed)]:
        with one_machine(embedder=model) as runtime:
            put(runtime, "half", {source(p["id"]): p["text"].encode() for p in asked.paragraphs if p["id"] in inside})
            index(runtime)
            judged.append(judge(runtime, "half", asked, inside))
    return {**{key: mean(each[key] for each in judged) for key in judged[0]}, "worst": min(j["f1"] for j in judged)}


def main(model: str = "e5-small", first: str = str(FIRST), *names: str) -> None:
    remembering = Remembering(load(model))
    seeds = range(int(first), int(first) + SEEDS)
    measured = {name: measure(remembering, name, seeds) for name in names or SETS}
    keys = ("auc", "f1", "worst", "best_f1", "kept", "refused", "cut")
    heads = ("set", "AUC", "F1 at its cut", "worst half", "best F1", "kept", "refused", "cut", "wanted")
    table(heads, [(name, *(m[k] for k in keys), "/".join(map(str, REQUIRED[name]))) for name, m in measured.items()])
    report("gate", {"model": model, "seeds": [*seeds], "sets": measured})


if __name__ == "__main__":
    main(*sys.argv[1:])
