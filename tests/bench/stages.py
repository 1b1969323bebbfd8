"""The whole ingest less embedding, by type of file and by stage, beside what the same files cost their usual readers.
`python -m tests.bench stages [ROUNDS]`.

Real files go in as the product runs: the worker that parses, the model's tokenizer, the index and the catalog on disk,
one object after another into a base that exists. Vectors are made up, and what making them takes is taken out. Bare
pypdfium2 opens the same PDF and gets the text of every page in this process; stock unstructured reads the same files in
an environment of its own (`.venv-bench`, or KB_BENCH_VENV), made by `make bench`.
"""

import math
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import numpy as np

from common.adapters.edge.shard import create_shard, open_shard
from common.adapters.parsers.limits import DEFAULT_LIMITS
from common.adapters.parsers.pdf import parse_pdf
from common.runtime import LocalRuntime
from functions.local.workers import drain
from tests.bench import chunking, unstructured
from tests.bench.pdfs import bare_pdf, largest_pdf, made_pdf
from tests.bench.peers import VENV
from tests.bench.reporting import middle, report, table, timed, timed_with_children
from tests.bench.setting import DATA, load, one_machine, put

STAGES = ("read", "parse", "chunk", "embed", "write")
SUFFIXES = {"pdf": (".pdf",), "docx": (".docx",), "html": (".html", ".htm"), "markdown": (".md",)}
SOURCES = 40
ROUNDS = 5


@dataclass
class MadeUp:
    """The model's own tokenizer with made-up vectors; `spent` and `counting` are the seconds of either."""

    inner: object
    spent: float = 0.0
    counting: float = 0.0

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        started = time.perf_counter()
        vectors = [self._vector(text) for text in texts]
        self.spent += time.perf_counter() - started
        return vectors

    def token_ends(self, text: str) -> list[int]:
        started = time.perf_counter()
        ends = self.inner.token_ends(text)
        self.counting += time.perf_counter() - started
        return ends

    def _vector(self, text: str) -> list[float]:
        drawn = np.random.default_rng(crc32(text.encode())).standard_normal(self.inner.space.dimension)
        return (drawn / np.linalg.norm(drawn)).tolist()


@dataclass(frozen=True)
class Ingested:
    """What one round of files took, in seconds; `stages` is what their jobs say."""

    wall: float
    embedding: float
    tokenizer: float
    passages: int
    stages: Mapping[str, float]

    @property
    def less(self) -> float:
        return self.wall - self.embedding

    @property
    def explained(self) -> float:
        return sum(self.stages.values()) / self.wall


@dataclass
class Machine:
    """The product with made-up vectors; every round gets a base of its own that has had an object before."""

    runtime: LocalRuntime
    embedder: MadeUp
    bases: int = field(default=0)

    def ingest(self, files: Mapping[str, bytes]) -> Ingested:
        self.bases += 1
        base = f"round{self.bases}"
        self._put(base, {"first.md": b"# Um\n\nAquece."})
        self.embedder.spent = self.embedder.counting = 0.0
        self._put(base, files, prepared=True)
        spent = timed(lambda: drain(self.runtime))[1]
        jobs = [job for job in self.runtime.catalog.jobs(base) if job.ref.name in files]
        assert len(jobs) == len(files), "every file has a job"
        stages = {stage: sum(job.timings_ms.get(stage, 0.0) for job in jobs) / 1000 for stage in STAGES}
        passages = sum(job.passages for job in jobs)
        return Ingested(spent.wall, self.embedder.spent, self.embedder.counting, passages, stages)

    def bare_write(self, name: str) -> float:
        """Seconds that the engine takes for the points of this file of the last round, in an empty shard."""
        base = f"round{self.bases}"
        live, _ = self.runtime.catalog.live(base, {name})
        collection = self.runtime.catalog.base(base).live
        points = list(self.runtime.index.stored(base, collection, name, live[name].generation))
        with TemporaryDirectory() as folder:
            create_shard(Path(folder, "shard"), self.embedder.space.dimension)
            shard = open_shard(Path(folder, "shard"), self.embedder.space.dimension, len(points))
            spent = timed(lambda: (shard.upsert(points), shard.flush()))[1]
            shard.close()
        return spent.wall

    def _put(self, base: str, files: Mapping[str, bytes], *, prepared: bool = False) -> None:
        put(self.runtime, base, files)
        self.runtime.scan.scan(allow_mass_removal=True)
        if not prepared:
            drain(self.runtime)


def corpora() -> dict[str, dict[str, bytes]]:
    """The real files of each type; source is that of the standard library which runs this."""
    root = DATA / "docs"
    found = {}
    for kind, suffixes in SUFFIXES.items():
        paths = sorted(path for path in root.rglob("*") if path.suffix.lower() in suffixes)
        found[kind] = {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}
    modules = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    chosen = modules[:: max(1, len(modules) // SOURCES)]
    return {**found, "code": {path.name: path.read_bytes() for path in chosen}}


def by_type(machine: Machine, files: Mapping[str, Mapping[str, bytes]], rounds: int) -> dict[str, dict[str, float]]:
    """Medians of all rounds."""
    found = {}
    for kind, given in files.items():
        turns = [machine.ingest(given) for _ in range(rounds)]
        megabytes = sum(map(len, given.values())) / 1e6
        found[kind] = {
            "files": len(given),
            "megabytes": megabytes,
            "passages": turns[0].passages,
            "wall_ms": 1000 * middle([turn.wall for turn in turns]),
            "less_embedding_ms": 1000 * middle([turn.less for turn in turns]),
            **{f"{name}_ms": 1000 * middle([turn.stages[name] for turn in turns]) for name in STAGES},
            "explained": middle([turn.explained for turn in turns]),
        }
    return found


def against_pdfium(machine: Machine, name: str, data: bytes, rounds: int) -> dict[str, float]:
    """Ratios to bare pypdfium2, which takes turns with ours: by CPU the reader alone and with its worker, by wall what
    the job says of reading and parsing, then the whole ingest less embedding, without the tokenizer and with it.
    `least` is what any ingest into this engine takes, with nothing of ours in it: bare pypdfium2, the model's tokenizer
    and the engine's write of the same points.
    """
    rows: dict[str, list[float]] = {}
    parser = machine.runtime.ingest.parser
    for _ in range(rounds):
        bare = timed(lambda: bare_pdf(data))[1]
        alone = timed(lambda: parse_pdf(data, name, DEFAULT_LIMITS))[1]
        worker = timed_with_children(lambda: parser.parse(data, name))[1]
        bare += timed(lambda: bare_pdf(data))[1]
        turn = machine.ingest({name: data})
        bare += timed(lambda: bare_pdf(data))[1]
        wall, cpu = bare.wall / 3, bare.cpu / 3
        figures = {
            "bare_cpu_ms": 1000 * cpu,
            "reader_cpu": alone.cpu / cpu,
            "worker_cpu": worker.cpu / cpu,
            "read_and_parse": (turn.stages["read"] + turn.stages["parse"]) / wall,
            "less_embedding_and_tokenizer": (turn.less - turn.tokenizer) / wall,
            "less_embedding": turn.less / wall,
            "least": 1 + (turn.tokenizer + machine.bare_write(name)) / wall,
        }
        for key, value in figures.items():
            rows.setdefault(key, []).append(value)
    return {key: middle(values) for key, values in rows.items()}


def goal(what: str, figure: float, least: float = 0.0, most: float = math.inf) -> tuple[str, float, str, str]:
    bounds = [f"at least {least:g}"] * (least > 0) + [f"at most {most:g}"] * (most < math.inf)
    return what, figure, ", ".join(bounds), "yes" if least <= figure <= most else "NO"


def judged(found: Mapping[str, Any]) -> list[tuple[str, float, str, str]]:
    """Every figure that has a goal, with it."""
    rows = [goal(f"{kind}: timings_ms over wall", row["explained"], 0.8, 1.2) for kind, row in found["types"].items()]
    for name, row in found["pdfs"].items():
        rows.append(goal(f"{name}: reader with its worker over bare pypdfium2, CPU", row["worker_cpu"], most=1.5))
        rows.append(goal(f"{name}: read and parse of its job over bare pypdfium2", row["read_and_parse"], most=1.5))
    for kind, row in found["unstructured"].items():
        if row is not None:
            rows.append(goal(f"{kind}: unstructured over reader with its worker, CPU", row["times_cpu"], 5))
            rows.append(goal(f"{kind}: unstructured's words that stand in ours", row["words_kept"], 0.99))
    for kind, row in found["chunking"].items():
        rows.append(goal(f"{kind}: chunking before tokenisation, MB/s", row["ranges"], row["wanted"]))
    return rows


def measured(rounds: int) -> dict[str, Any]:
    files, embedder = corpora(), MadeUp(load())
    with one_machine(embedder=embedder) as runtime:
        machine = Machine(runtime, embedder)
        # Every reader loads with its first file.
        machine.ingest({f"first-{kind}/{name}": data for kind, given in files.items() for name, data in given.items()})
        types = by_type(machine, files, rounds)
        large = largest_pdf(DATA / "docs")
        pdfs = {large.name: large.read_bytes(), "300 pages": made_pdf()}
        against = {name: against_pdfium(machine, f"{name}.pdf", data, rounds) for name, data in pdfs.items()}
        paths = {kind: [DATA / "docs" / name for name in files[kind]] for kind in ("docx", "html")}
        others = {kind: unstructured.compared(runtime.ingest.parser, paths[kind]) for kind in paths}
    speeds = {kind: chunking.rates(kind, rounds) for kind in chunking.KINDS}
    return {"types": types, "pdfs": against, "unstructured": others, "chunking": speeds}


def main(rounds: str = str(ROUNDS)) -> int:
    found = measured(int(rounds))
    for part, rows in found.items():
        known = {name: row for name, row in rows.items() if row is not None}
        if known:
            table((part, *next(iter(known.values()))), [(name, *row.values()) for name, row in known.items()])
            print()
    rows = judged(found)
    table(("what", "figure", "goal", "met"), rows)
    if None in found["unstructured"].values():
        print(f"\nunstructured was NOT measured: {VENV} does not have it; `make bench` makes it.")
    report("stages", found)
    return int(any(row[-1] == "NO" for row in rows))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
