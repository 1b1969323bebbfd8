"""A query at its handler, less the embedding of the question, one caller: `python -m tests.bench query [PASSAGES...]`.

The base is read by the real ingest. Its passages are the paragraphs of the question sets, varied: a third of the words
of each copy come from other paragraphs, and its vector is that of the model for the paragraph, disturbed as far as two
paragraphs of one article lie apart. The questions are the sets' own; each is asked once.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from random import Random
from time import perf_counter, process_time, thread_time

import numpy as np
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from common.boundary import Router
from common.runtime import LocalRuntime
from functions.query.handle import router
from tests.bench.reporting import middle, quantile, report, table, timed
from tests.bench.setting import BASE, SETS, index, load, one_machine, put, question_set

PER_FILE = 40
SWAPPED = 0.3
DISTURBED = 0.5
"""Length of the noise beside a unit vector: cosine about .89 to the paragraph's own vector."""
QUESTIONS = 400
WARM = 20
TOKENS = range(100, 280)
"""Paragraphs of this size stay one passage each, also as a copy of other words."""
REQUIRED = {14_000: 3.5, 50_000: 12.0}
CACHED = 0.3
_WORD = re.compile(r"\w{4,}")
_MARK = re.compile(r"\bvariante(\d+)x(\d+)\b")


class Disturbed:
    """The model's vectors of a few hundred paragraphs for any number of their copies; the rest is the model's own."""

    def __init__(self, inner: object, paragraphs: Sequence[str]) -> None:
        self.inner = inner
        self.vectors = np.array(inner.embed_passages(paragraphs))

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        number, copy = map(int, _MARK.search(text).groups())
        noise = np.random.default_rng((number, copy)).standard_normal(self.vectors.shape[1])
        vector = self.vectors[number] + DISTURBED * noise / np.linalg.norm(noise)
        return (vector / np.linalg.norm(vector)).tolist()


def varied(paragraphs: Sequence[str], count: int) -> Iterator[tuple[str, bytes]]:
    """Files of copies, each a paragraph of its own with a mark that names its origin."""
    chance = Random(1)  # noqa: S311 - a draw that can be repeated
    words = [word for paragraph in paragraphs for word in _WORD.findall(paragraph)]

    def swap(match: re.Match[str]) -> str:
        return chance.choice(words) if chance.random() < SWAPPED else match[0]

    made = [
        f"{_WORD.sub(swap, ' '.join(paragraphs[at % len(paragraphs)].split()))} "
        f"variante{at % len(paragraphs)}x{at // len(paragraphs)}"
        for at in range(count)
    ]
    chance.shuffle(made)
    for start in range(0, count, PER_FILE):
        yield f"parte-{start // PER_FILE:05}.txt", "\n\n".join(made[start : start + PER_FILE]).encode()


def ask(route: Router, body: dict[str, object]) -> tuple[dict[str, object], float, float]:
    """The answer, and the milliseconds that the handler took by the clock and by this thread's CPU."""
    builder = EnvironBuilder(f"/v1/bases/{BASE}/search", base_url="http://127.0.0.1:8765", method="POST", json=body)
    request = Request(builder.get_environ())
    wall, cpu = perf_counter(), thread_time()
    response = route(request)
    taken = (perf_counter() - wall) * 1000, (thread_time() - cpu) * 1000
    assert response.status_code == 200, response.get_data(as_text=True)
    return json.loads(response.get_data()), *taken


def uncached(route: Router, questions: Sequence[str]) -> dict[str, float]:
    """What a question costs less its embedding, which another thread does; `overhead` is
    what is left less the index, `match` the share that is answered."""
    whole, cpus, stages, matches = [], [], [], 0
    for number, question in enumerate(questions):
        answer, wall, cpu = ask(route, {"query": question})
        assert answer["cache"] == "miss"
        if number >= WARM:
            spent = answer["timings_ms"]
            whole.append(wall - spent["embed"])
            cpus.append(cpu)
            matches += answer["match"]
            outside = wall - spent["total"]
            overhead = wall - spent["embed"] - spent["index"]
            stages.append({**spent, "outside": outside, "overhead": overhead})
    return {
        "match": matches / len(whole),
        "p50": middle(whole),
        "p95": quantile(whole, 0.95),
        "cpu_p50": middle(cpus),
        **{f"{name}_p50": middle([spent[name] for spent in stages]) for name in stages[0]},
    }


def cached(route: Router, questions: Sequence[str]) -> dict[str, float]:
    walls, cpus = [], []
    for question in questions:
        answer, wall, cpu = ask(route, {"query": question})
        assert answer["cache"] == "hit"
        walls.append(wall)
        cpus.append(cpu)
    return {"p50": middle(walls), "p95": quantile(walls, 0.95), "cpu_p50": middle(cpus)}


def optimise(runtime: LocalRuntime) -> float:
    return timed(lambda: runtime.index.optimise(BASE, runtime.catalog.base(BASE).live))[1].wall


def measure(count: int, paragraphs: Sequence[str], questions: Sequence[str], embedder: Disturbed) -> dict[str, object]:
    with one_machine(embedder=embedder) as runtime:
        put(runtime, BASE, dict(varied(paragraphs, count)))
        started = process_time()
        index(runtime)
        passages = runtime.catalog.totals(BASE).passages
        route = router(runtime)
        third = len(questions) // 3
        before = uncached(route, questions[:third])
        seconds = optimise(runtime)
        return {
            "passages": passages,
            "ingest_cpu_seconds": process_time() - started,
            "before_optimise": before,
            "optimise_seconds": seconds,
            "uncached": uncached(route, questions[third:]),
            "cached": cached(route, questions[third:]),
        }


def main(*counts: str) -> None:
    sets = [question_set(name) for name in SETS]
    model = load()
    paragraphs = [paragraph["text"] for asked in sets for paragraph in asked.paragraphs]
    paragraphs = [text for text in paragraphs if model.count_tokens(text) in TOKENS]
    questions = list(dict.fromkeys(question["q"] for asked in sets for question in asked.questions))
    Random(2).shuffle(questions)  # noqa: S311 - a draw that can be repeated
    embedder = Disturbed(model, paragraphs)
    measured = {
        count: measure(count, paragraphs, questions[:QUESTIONS], embedder) for count in map(int, counts or REQUIRED)
    }
    rows = [
        (
            m["passages"],
            what,
            m[what]["p50"],
            m[what]["p95"],
            m[what]["cpu_p50"],
            m[what].get("overhead_p50", "-"),
            needed,
        )
        for count, m in measured.items()
        for what, needed in (("before_optimise", "-"), ("uncached", REQUIRED.get(count, "-")), ("cached", CACHED))
    ]
    table(("passages", "query", "p50 ms", "p95 ms", "CPU p50 ms", "neither index nor model", "required"), rows)
    report("query", {"sizes": measured})


if __name__ == "__main__":
    main(*sys.argv[1:])
