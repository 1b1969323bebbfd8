"""What a block of context costs beyond its search, one caller: `python -m tests.bench context [PASSAGES...]`.

The base and the questions are those of `query`, with a heading in front of every third paragraph, so that there are
sections to read. Half of the questions are searched for and half asked for context, in turn, each once and none from a
cache; the difference of the two medians is what the block itself costs, its reads of the index included. The time that
the embedding model takes is left out of both.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from random import Random
from time import perf_counter, thread_time

import numpy as np
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from common.boundary import Router
from functions.query.handle import router
from tests.bench.query import PER_FILE, QUESTIONS, TOKENS, WARM, optimise
from tests.bench.reporting import middle, quantile, report, table
from tests.bench.setting import BASE, SETS, index, load, one_machine, put, question_set
from tests.bench.varied import Disturbed, in_files, varied

PASSAGES = 14_000
SECTION = 3
REQUIRED = 1.0
BUDGETS = {"2,000 tokens": {"max_tokens": 2000}, "24,000 characters": {"max_characters": 24_000}}


def ask(route: Router, what: str, body: dict[str, object]) -> tuple[dict[str, object], float, float]:
    """The answer, and the milliseconds that the handler took by the clock and by this thread's CPU."""
    builder = EnvironBuilder(f"/v1/bases/{BASE}/{what}", base_url="http://127.0.0.1:8765", method="POST", json=body)
    request = Request(builder.get_environ())
    wall, cpu = perf_counter(), thread_time()
    response = route(request)
    taken = (perf_counter() - wall) * 1000, (thread_time() - cpu) * 1000
    assert response.status_code == 200, response.get_data(as_text=True)
    return json.loads(response.get_data()), *taken


def beyond(route: Router, questions: Sequence[str], budget: dict[str, int]) -> dict[str, float]:
    bodies = {"search": {}, "context": budget}
    walls, cpus, sizes = {what: [] for what in bodies}, {what: [] for what in bodies}, []
    for number, question in enumerate(questions):
        what = ("search", "context")[number % 2]
        answer, wall, cpu = ask(route, what, {"query": question, "threshold": None, **bodies[what]})
        assert answer["cache"] == "miss"
        if what == "context":
            assert answer["text"]
            sizes.append(float(answer["characters"]))
        if number >= WARM:
            walls[what].append(wall - answer["timings_ms"]["embed"])
            cpus[what].append(cpu)
    searches, contexts = middle(walls["search"]), middle(walls["context"])
    return {
        "search_p50": searches,
        "context_p50": contexts,
        "context_p95": quantile(walls["context"], 0.95),
        "beyond_p50": contexts - searches,
        "beyond_cpu_p50": middle(cpus["context"]) - middle(cpus["search"]),
        "characters_p50": middle(sizes),
    }


def headed(paragraphs: Sequence[str], count: int) -> Iterator[tuple[str, bytes]]:
    """The files of `query` as Markdown with sections."""
    for name, text in in_files(varied(paragraphs, count), PER_FILE):
        parts = text.split("\n\n")
        lines = [f"## Seção {at // SECTION}\n\n{part}" if at % SECTION == 0 else part for at, part in enumerate(parts)]
        yield name.replace(".txt", ".md"), "\n\n".join(lines).encode()


def measure(count: int, paragraphs: Sequence[str], questions: Sequence[str], embedder: Disturbed) -> dict[str, object]:
    share = len(questions) // len(BUDGETS)
    with one_machine(embedder=embedder) as runtime:
        put(runtime, BASE, dict(headed(paragraphs, count)))
        index(runtime)
        optimise(runtime)
        route = router(runtime)
        return {
            name: beyond(route, questions[number * share :][:share], budget)
            for number, (name, budget) in enumerate(BUDGETS.items())
        }


def main(*counts: str) -> None:
    sets = [question_set(name) for name in SETS]
    model = load()
    paragraphs = [paragraph["text"] for asked in sets for paragraph in asked.paragraphs]
    paragraphs = [text for text in paragraphs if model.count_tokens(text) in TOKENS]
    questions = list(dict.fromkeys(question["q"] for asked in sets for question in asked.questions))
    Random(2).shuffle(questions)  # noqa: S311 - a draw that can be repeated
    embedder = Disturbed(model, np.array(model.embed_passages(paragraphs)))
    measured = {
        count: measure(count, paragraphs, questions[: 2 * QUESTIONS], embedder)
        for count in map(int, counts or [PASSAGES])
    }
    names = ("search_p50", "context_p50", "context_p95", "beyond_p50", "beyond_cpu_p50")
    rows = [
        (count, name, *(m[figure] for figure in names), int(m["characters_p50"]), REQUIRED)
        for count, budgets in measured.items()
        for name, m in budgets.items()
    ]
    heads = ("passages", "budget", "search p50 ms", "context p50 ms", "p95 ms", "beyond p50 ms", "beyond CPU p50 ms")
    table((*heads, "characters", "required"), rows)
    report("context", {"sizes": measured})


if __name__ == "__main__":
    main(*sys.argv[1:])
