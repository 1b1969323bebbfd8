"""How fast documents are read, by extension, and how that compares with bare pypdfium2 on a large PDF.
`python -m tests.bench parsers [FOLDER] [TURNS]`; FOLDER defaults to ../shared/data/docs.

Every file goes through the worker, as the service reads it. The PDFs are the folder's largest and one of 300 pages made
here; ours and bare pypdfium2 take turns, by wall and by CPU (the worker's and what this process spends on it).
"""

import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from common.domain.errors import DocumentError
from common.loading import WorkerParser
from common.ports import Parser
from tests.bench.pdfs import bare_pdf, largest_pdf, made_pdf
from tests.bench.reporting import middle, report, table, timed, timed_with_children
from tests.bench.setting import DATA

TURNS = 9
WANTED = 1.5


def by_extension(parser: Parser, folder: Path) -> dict[str, dict[str, object]]:
    """Files, how they ended, seconds and characters."""
    ends: dict[str, Counter[str]] = defaultdict(Counter)
    seconds: Counter[str] = Counter()
    letters: Counter[str] = Counter()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        kind = path.suffix.lower().lstrip(".")
        start = time.perf_counter()
        try:
            documents = parser.parse(path.read_bytes(), path.name).documents
            ends[kind]["indexed" if documents else "empty"] += 1
            letters[kind] += sum(len(document.text) for document in documents)
        except DocumentError as error:
            ends[kind][error.code] += 1
        seconds[kind] += time.perf_counter() - start
    return {
        kind: {
            "files": outcome.total(),
            "ended": ", ".join(f"{code} {count}" for code, count in sorted(outcome.items())),
            "seconds": seconds[kind],
            "characters": letters[kind],
        }
        for kind, outcome in sorted(ends.items())
    }


def over_bare(parser: Parser, data: bytes, turns: int) -> dict[str, float]:
    """Medians: bare pypdfium2's milliseconds of CPU, and ours over them by CPU and by wall."""
    parser.parse(data, "large.pdf")
    pairs = []
    for _ in range(turns):
        ours = timed_with_children(lambda: parser.parse(data, "large.pdf"))[1]
        pairs.append((ours, timed(lambda: bare_pdf(data))[1]))
    return {
        "bare_cpu_ms": 1000 * middle([bare.cpu for _, bare in pairs]),
        "ratio_cpu": middle([ours.cpu / bare.cpu for ours, bare in pairs]),
        "ratio_wall": middle([ours.wall / bare.wall for ours, bare in pairs]),
    }


def main(folder: str = str(DATA / "docs"), turns: str = str(TURNS)) -> int:
    parser = WorkerParser("off")
    try:
        parser.parse(b"warm", "a.txt")
        types = by_extension(parser, Path(folder))
        largest = largest_pdf(Path(folder))
        pdfs = {largest.name: largest.read_bytes(), "300 pages": made_pdf()}
        ratios = {name: over_bare(parser, data, int(turns)) for name, data in pdfs.items()}
    finally:
        parser.close()
    table(("type", "files", "ended", "seconds", "characters"), [(kind, *row.values()) for kind, row in types.items()])
    print()
    table(
        ("PDF", "bare CPU ms", "ratio by CPU", "ratio by wall"), [(kind, *row.values()) for kind, row in ratios.items()]
    )
    report("parsers", {"types": types, "pdf_over_bare_pypdfium2": ratios, "required": WANTED})
    return int(any(min(row["ratio_cpu"], row["ratio_wall"]) > WANTED for row in ratios.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
