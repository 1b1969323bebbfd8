"""The whole ingest against the bare embedder over the same passages with their context, on one thread each.
`python -m tests.bench ingest [FILES] [ROUNDS]`; FILES 0 is all of docs/markdown-pt.

The bare embedder is fastembed as it comes, at whichever batch size is fastest here, texts sorted by length. The files
are dealt out to rounds; in each, both work on the same passages, taking turns at who begins.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from common.adapters.fastembed_embedder import FastembedEmbedder
from common.domain.chunking import ChunkSettings, chunk
from common.models import model_folder
from common.runtime import LocalRuntime
from tests.bench.reporting import Spent, middle, report, table, timed
from tests.bench.setting import BASE, MODEL, MODELS, index, load, markdown, one_machine, put

BATCHES = (1, 4, 16)
TRIED = 60
REQUIRED = 0.90


@dataclass
class Recorded:
    """An embedder that remembers what it was given and what its work took; everything else is the model's own."""

    inner: object
    texts: list[str] = field(default_factory=list)
    spent: Spent = field(default_factory=lambda: Spent(0, 0))

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        vectors, spent = timed(lambda: self.inner.embed_passages(texts))
        self.spent += spent
        return vectors


def bare(prefix: str, name: str = MODEL) -> Callable[[Sequence[str], int], object]:
    """fastembed over the model's folder, without anything of the product around it."""
    model = FastembedEmbedder(model_folder(MODELS, name))._model

    def embed(texts: Sequence[str], batch: int) -> object:
        ordered = sorted((prefix + text for text in texts), key=len)
        return list(model.embed(ordered, batch_size=batch))

    return embed


def passages(runtime: LocalRuntime, embedder: object, files: Mapping[str, bytes]) -> list[str]:
    """What the model would be given for these files, by the product's own parser and chunking; once for a passage that
    a file repeats.
    """
    space = runtime.spaces.chunking(embedder)
    reserved = embedder.special_tokens + embedder.passage_prefix_tokens
    settings = ChunkSettings(space.tokens, space.overlap, space.window, reserved)
    texts: list[str] = []
    for name, data in files.items():
        parsed = runtime.ingest.parser.parse(data, name)
        cut = [p.embedded for document in parsed.documents for p in chunk(document, settings, embedder.token_ends)]
        texts += dict.fromkeys(cut)
    return texts


def fastest(embed: Callable[[Sequence[str], int], object], texts: Sequence[str]) -> dict[int, float]:
    """Texts a CPU second by batch size, the best of three turns."""
    sample = texts[:: max(1, len(texts) // TRIED)]
    embed(sample[:4], 1)
    turns = [{batch: timed(lambda batch=batch: embed(sample, batch))[1].cpu for batch in BATCHES} for _ in range(3)]
    return {batch: len(sample) / min(turn[batch] for turn in turns) for batch in BATCHES}


def main(files: str = "0", rounds: str = "5") -> None:
    corpus = markdown(int(files))
    model = load()
    recorded = Recorded(model)
    embed = bare(model.space.passage_prefix)
    names = sorted(corpus, key=lambda name: len(corpus[name]))
    dealt = [{name: corpus[name] for name in names[turn :: int(rounds)]} for turn in range(int(rounds))]
    pairs, asides = [], []
    with one_machine(embedder=recorded) as runtime:
        put(runtime, "warm", {"a.md": b"# Um\n\nAquece."})
        index(runtime)
        rates = fastest(embed, passages(runtime, model, corpus))
        batch = max(rates, key=rates.__getitem__)
        for turn, part in enumerate(filter(None, dealt)):
            texts = passages(runtime, model, part)
            recorded.texts, recorded.spent = [], Spent(0, 0)
            put(runtime, BASE, part)
            work = {"bare": lambda texts=texts: embed(texts, batch), "whole": lambda: index(runtime)}
            spent = {name: timed(work[name])[1] for name in sorted(work, reverse=bool(turn % 2))}
            assert sorted(recorded.texts) == sorted(texts), "both sides have to embed the same passages"
            pairs.append((len(texts), spent["bare"], spent["whole"]))
            asides.append(spent["whole"].cpu - recorded.spent.cpu)
    told(pairs, asides, rates, batch)


def told(
    pairs: Sequence[tuple[int, Spent, Spent]], asides: Sequence[float], rates: Mapping[int, float], batch: int
) -> None:
    table(
        ("round", "passages", "bare a second", "whole a second", "ratio", "ratio by CPU"),
        [(n, c, c / b.wall, c / w.wall, b.wall / w.wall, b.cpu / w.cpu) for n, (c, b, w) in enumerate(pairs, 1)],
    )
    count = sum(pair[0] for pair in pairs)
    total = {side: sum((pair[at] for pair in pairs), Spent(0, 0)) for side, at in (("bare", 1), ("whole", 2))}
    figures = {
        "passages": count,
        "best_batch": batch,
        "bare_per_cpu_second_by_batch": rates,
        "whole_per_second": count / total["whole"].wall,
        "ratio": total["bare"].wall / total["whole"].wall,
        "ratio_cpu": total["bare"].cpu / total["whole"].cpu,
        "median_ratio": middle([b.wall / w.wall for _, b, w in pairs]),
        "other_cpu_ms_per_passage": 1000 * sum(asides) / count,
        "required": REQUIRED,
    }
    print(f"\nratio {figures['ratio']:.3f} (by CPU {figures['ratio_cpu']:.3f}), required {REQUIRED}")
    report("ingest", figures)


if __name__ == "__main__":
    main(*sys.argv[1:])
