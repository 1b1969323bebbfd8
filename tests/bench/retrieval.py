"""Ranking on the three question sets. Every paragraph is a file, read by the real ingest; every question goes through
the real answers path with the gate off. `python -m tests.bench retrieval [MODEL] [SETS...]`. The rank is that of the
first passage of the right paragraph among all.
"""

import sys
from collections.abc import Iterator

from common.domain.metrics import mrr_at, ndcg_at, recall_at
from common.domain.search import Search
from common.runtime import LocalRuntime
from tests.bench.reporting import report, table
from tests.bench.setting import SETS, QuestionSet, index, one_machine, put, question_set

DEPTH = 50
REQUIRED = {"faquad.pt": 0.914, "xquad.en": 0.978, "xquad.es": 0.974}


def source(paragraph: int) -> str:
    return f"p{paragraph:04}.txt"


def ranks(runtime: LocalRuntime, base: str, asked: QuestionSet) -> Iterator[int | None]:
    for question in asked.questions:
        found = runtime.answers.answer(base, Search(question["q"], top_k=DEPTH, threshold=None))
        sources = list(dict.fromkeys(passage.source for passage in found.passages))
        right = source(question["p"])
        yield sources.index(right) + 1 if right in sources else None


def measure(model: str, name: str) -> dict[str, float]:
    asked = question_set(name)
    with one_machine(model) as runtime:
        put(runtime, "all", {source(p["id"]): p["text"].encode() for p in asked.paragraphs})
        index(runtime)
        found = list(ranks(runtime, "all", asked))
    return {
        "questions": len(found),
        "recall_at_1": recall_at(found, 1),
        "recall_at_5": recall_at(found, 5),
        "mrr_at_10": mrr_at(found),
        "ndcg_at_10": ndcg_at(found),
    }


def main(model: str = "e5-small", *names: str) -> None:
    measured = {name: measure(model, name) for name in names or SETS}
    heads = ("set", "questions", "R@1", "R@5", "MRR@10", "nDCG@10", "wanted")
    table(heads, [(name, *m.values(), REQUIRED[name] if model == "e5-small" else "") for name, m in measured.items()])
    report("retrieval", {"model": model, "sets": measured})


if __name__ == "__main__":
    main(*sys.argv[1:])
