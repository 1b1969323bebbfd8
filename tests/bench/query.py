"""A query at its handler, less the embedding of the question, one caller: `python -m tests.bench query [PASSAGES...]`.

The base is read by the real ingest. Its passages are the paragraphs of the question sets, varied: a third of the words
of each copy come from other paragraphs, and its vector is that of the model for the paragraph, disturbed as far as two
paragraphs of one article lie apart. The questions are the sets' own; each is asked once.

At 14,000 passages LangChain and Chroma answer the same questions over the same passages and vectors in the same run,
each in a process of its own, as the product does once more without HTTP (`tests/bench/peers.py`).
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, thread_time

import numpy as np
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from common.boundary import Router
from common.runtime import LocalRuntime
from functions.query.handle import router
from tests.bench.peers import beside
from tests.bench.reporting import middle, quantile, report, table, timed
from tests.bench.setting import BASE, SETS, index, load, one_machine, put, question_set
from tests.bench.varied import Disturbed, in_files, varied

PER_FILE = 40
QUESTIONS = 400
WARM = 20
TOKENS = range(100, 280)
"""Paragraphs of this size stay one passage each, also as a copy of other words."""
REQUIRED = {14_000: 3.5, 50_000: 12.0}
CACHED = 0.1
OWN = 0.6
"""Milliseconds of an uncached question with neither index nor model, at 14,000 passages."""
BESIDE = 14_000
"""At this size LangChain and Chroma are asked too."""
PEERS_ASKED = 200


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
    """What a question costs less its embedding; `overhead` is what is left less the index, `match` the share that is
    answered.
    """
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
        put(runtime, BASE, {name: text.encode() for name, text in in_files(varied(paragraphs, count), PER_FILE)})
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
    embedder = Disturbed(model, np.array(model.embed_passages(paragraphs)))
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
    own = f"neither index nor model ({OWN} required)"
    table(("passages", "query", "p50 ms", "p95 ms", "CPU p50 ms", own, "required"), rows)
    compared = peers(paragraphs, questions, embedder.vectors) if BESIDE in measured else {}
    report("query", {"sizes": measured, "beside": compared})


def peers(paragraphs: Sequence[str], questions: Sequence[str], vectors: np.ndarray) -> dict[str, object]:
    """Every system's own time for a question, less the embedder's; and for one that it was asked before."""
    made = varied(paragraphs, BESIDE)
    with TemporaryDirectory() as folder:
        path = Path(folder, "vectors.npy")
        np.save(path, vectors)
        found = beside(
            {"vectors": str(path), "chunk": 10**6, "optimise": True, "questions": questions[:PEERS_ASKED]},
            dict(in_files(made, PER_FILE)),
            dict(in_files(made, 1)),
        )
    heads = ("system", "passages", "query less embedding, p50 ms", "p95 ms", "CPU", "neither index nor model", "again")
    rows = [
        (
            name,
            m["passages"],
            m["query_overhead_p50_ms"],
            m["query_overhead_p95_ms"],
            m["query_overhead_cpu_p50_ms"],
            m.get("query_own_p50_ms", "-"),
            m["query_again_p50_ms"],
        )
        for name, m in found.items()
    ]
    print()
    table(heads, rows)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
