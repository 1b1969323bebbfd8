"""Medians of the Edge index at a given size: `python tests/bench/index_lookup.py [passages] [dimension]`.

Passages are drawn around 200 centres with about 40 terms each, words as frequent as Zipf's law says; questions are
disturbed passages with 8 terms.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from common.adapters.edge_index import EdgeIndex
from common.domain.index import IndexFilter, Lookup, Point, point_id
from common.domain.objects import ObjectRef, document_id
from common.ports import CollectionShape

BASE, COLLECTION = "bench", "bench_kb__000000000000"
CENTRES, WORDS, TERMS, ASKED, QUESTIONS, LIMIT, PER_OBJECT = 200, 30_000, 40, 8, 200, 50, 20


def make_points(passages, dimension, chance):
    centres = chance.standard_normal((CENTRES, dimension))
    vectors = centres[chance.integers(0, CENTRES, passages)] + 0.8 * chance.standard_normal((passages, dimension))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    codes, odds = chance.integers(0, 2**32, WORDS), 1 / np.arange(1, WORDS + 1)
    points = []
    for n in range(passages):
        ref, ordinal = ObjectRef(BASE, f"docs/file-{n // PER_OBJECT}.md"), n % PER_OBJECT
        terms = sorted({int(codes[word]) for word in chance.choice(WORDS, TERMS, p=odds / odds.sum())})
        payload = {
            "text": "uma frase de tamanho comum em português, " * 20,
            "document_id": document_id(ref, ref.name),
            "object": ref.name,
            "base": BASE,
            "source": ref.name,
            "title": f"File {n // PER_OBJECT}",
            "ordinal": ordinal,
            "generation": 1_760_000_000_000_000 + n // PER_OBJECT,
            "terms": terms,
            "category": f"c{n % 5}",
            "metadata": {"lang": "pt", "year": 2020 + n % 7},
        }
        lexical = dict(zip(terms, chance.uniform(0.3, 2.2, len(terms)).tolist(), strict=True))
        key = point_id(ref, payload["generation"], ref.name, ordinal)
        points.append(Point(key, tuple(vectors[n].tolist()), lexical, payload))
    return points, vectors, codes, odds / odds.sum()


def make_questions(vectors, codes, odds, chance):
    for _ in range(QUESTIONS):
        direction = vectors[chance.integers(len(vectors))] + 0.03 * chance.standard_normal(vectors.shape[1])
        direction /= np.linalg.norm(direction)
        words = chance.choice(WORDS, ASKED, p=odds, replace=False)
        yield Lookup(tuple(direction.tolist()), {int(codes[w]): float(chance.uniform(0.5, 8)) for w in words}, LIMIT)


def median(call, arguments):
    times = []
    for argument in arguments:
        start = time.perf_counter()
        call(argument)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def once(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def report(index, questions):
    def lookup(question):
        return index.lookup(BASE, COLLECTION, question)

    filtered = [
        Lookup(q.dense, q.lexical, q.limit, IndexFilter(categories=("c1",), metadata={"year": (2021,)}))
        for q in questions
    ]
    print(f"  lookup                 {median(lookup, questions):8.3f} ms the first time")
    print(f"  lookup                 {median(lookup, questions):8.3f} ms")
    print(f"  lookup, filtered       {median(lookup, filtered):8.3f} ms")
    frequencies = median(lambda q: index.frequencies(BASE, COLLECTION, list(q.lexical)), questions)
    print(f"  frequencies, {ASKED} terms   {frequencies:8.3f} ms")


def main(passages=14_000, dimension=384):
    chance = np.random.default_rng(1)
    points, vectors, codes, odds = make_points(passages, dimension, chance)
    questions = list(make_questions(vectors, codes, odds, chance))
    with tempfile.TemporaryDirectory() as folder:
        index = EdgeIndex(Path(folder))
        print(f"create {once(lambda: index.create(BASE, COLLECTION, CollectionShape(dimension))):.2f} s")
        start = time.perf_counter()
        for at in range(0, passages, PER_OBJECT):
            index.upsert(BASE, COLLECTION, points[at : at + PER_OBJECT])
        print(f"upsert {passages} in files of {PER_OBJECT}: {time.perf_counter() - start:.2f} s")
        print(f"flush {once(index.flush):.3f} s")
        report(index, questions)
        print(f"optimise {once(lambda: index.optimise(BASE, COLLECTION)):.2f} s")
        report(index, questions)
        print(f"generations {once(lambda: index.generations(BASE, COLLECTION)):.3f} s")
        index.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
