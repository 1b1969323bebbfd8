"""What reading a base costs by how much it holds: card, table of contents, a page, and what stands near an answer:
`python -m tests.bench reading [DOCUMENTS...]`. The documents are made up, each with 15 links to others.
"""

import json
import sys
from collections.abc import Callable, Iterator
from random import Random
from time import perf_counter

from common.adapters.hashing_embedder import HashingEmbedder
from common.domain.search import Search
from common.runtime import LocalRuntime
from common.stages.contents import Contents
from tests.bench.reporting import middle, quantile, report, table, timed
from tests.bench.setting import BASE, index, one_machine, put

SIZES = (500, 5_000)
LINKS = 15
PARAGRAPHS = 4
REPEATS = 200
QUESTIONS = 100
FIRST_USES = 7
WORDS = ("contrato", "prazo", "entrega", "cliente", "pedido", "fatura", "garantia", "visita", "equipe", "reembolso")


def sources(count: int) -> list[str]:
    return [f"manual/{at % 40:02}/{at % 400:03}/pagina-{at:05}.md" for at in range(count)]


def corpus(count: int) -> Iterator[str]:
    """Lines of a corpus: each document with front matter, headings, links by path and paragraphs of its own."""
    chance = Random(1)  # noqa: S311 - a draw that can be repeated
    names = sources(count)
    for at, name in enumerate(names):
        links = "\n".join(f"- [outra](/{chance.choice(names)})" for _ in range(LINKS))
        parts = [
            f"## Parte {part}\n\n" + " ".join(f"{chance.choice(WORDS)} {chance.randrange(10**6)}" for _ in range(90))
            for part in range(PARAGRAPHS)
        ]
        text = f"# Página {at} de {chance.choice(WORDS)}\n\n{links}\n\n" + "\n\n".join(parts)
        yield json.dumps({"source": name, "content": text}, ensure_ascii=False)


def often(work: Callable[[int], object], times: int = REPEATS) -> dict[str, float]:
    """Milliseconds of one call, as p50 and p95."""
    spent = []
    for turn in range(times):
        started = perf_counter()
        work(turn)
        spent.append((perf_counter() - started) * 1000)
    return {"p50": middle(spent), "p95": quantile(spent, 0.95)}


def once(runtime: LocalRuntime) -> dict[str, float]:
    """CPU milliseconds of the first use after a change: all, and when it left the names and links as they were."""

    def use(before: Contents | None) -> Contents:
        contents = Contents(runtime.catalog.documents(BASE), before)
        contents.related([contents.entries[0].source])
        return contents

    first = use(None)
    changed = [timed(lambda: use(None))[1].cpu * 1000 for _ in range(FIRST_USES)]
    unchanged = [timed(lambda: use(first))[1].cpu * 1000 for _ in range(FIRST_USES)]
    return {"links changed": middle(changed), "links unchanged": middle(unchanged)}


def measure(count: int) -> dict[str, object]:
    with one_machine(embedder=HashingEmbedder()) as runtime:
        put(runtime, BASE, {"corpus.jsonl": "\n".join(corpus(count)).encode()})
        index(runtime)
        totals, reading, names = runtime.catalog.totals(BASE), runtime.reading, sources(count)
        chance = Random(2)  # noqa: S311 - a draw that can be repeated
        hits = [chance.sample(names, 3) for _ in range(QUESTIONS)]
        epoch = runtime.catalog.epoch(BASE)
        questions = [Search(f"{WORDS[at % 10]} {WORDS[at // 10]} {at}", threshold=None) for at in range(QUESTIONS)]
        found = [runtime.answers.answer(BASE, question) for question in questions]
        near = [[passage.source for passage in answer.passages] for answer in found]
        return {
            "documents": totals.documents,
            "megabytes": totals.size / 2**20,
            "first_use": once(runtime),
            "card": often(lambda _: reading.card(BASE)),
            "toc of 100": often(lambda turn: reading.toc(BASE, f"manual/{turn % 40:02}/", None, 100)),
            "page": often(lambda turn: reading.page(BASE, chance.choice(names), 0 if turn % 2 else 3000)),
            "related, new hits": often(lambda turn: reading.related(BASE, hits[turn], epoch), QUESTIONS),
            "related, warm": often(lambda turn: reading.related(BASE, near[turn % QUESTIONS], epoch)),
        }


def main(*counts: str) -> None:
    measured = [measure(int(count)) for count in counts or SIZES]
    rows = []
    for made in measured:
        size = made["documents"], made["megabytes"]
        rows += [(*size, f"first use, {what} (CPU)", value, "-") for what, value in made["first_use"].items()]
        rows += [(*size, what, value["p50"], value["p95"]) for what, value in made.items() if "p50" in str(value)]
    table(("documents", "MB", "what", "p50 ms", "p95 ms"), rows)
    report("reading", {"sizes": measured})


if __name__ == "__main__":
    main(*sys.argv[1:])
