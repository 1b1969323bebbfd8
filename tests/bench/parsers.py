"""How fast documents are read: `python tests/bench/parsers.py [FOLDER]` prints a table per type and the PDF ratio.

Every file goes through the sandbox, as the service reads it; FOLDER defaults to ../shared/data/docs. Where unstructured
is installed, DOCX and HTML are also read by it as it comes and the ratio is shown.
"""

import importlib.util
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "integration")]

import pypdfium2  # noqa: E402 - found through the path set above

from common.adapters.sandbox_parser import SandboxParser  # noqa: E402
from common.domain.errors import DocumentError  # noqa: E402

RUNS = 5


def best(run: Callable[[], object]) -> float:
    """Seconds of the fastest of some runs."""
    taken: list[float] = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def bare_pdf(data: bytes) -> int:
    document = pypdfium2.PdfDocument(data)
    letters = 0
    for page in document:
        text = page.get_textpage()
        letters += len(text.get_text_range())
        text.close()
        page.close()
    document.close()
    return letters


def table(parser: SandboxParser, folder: Path) -> dict[str, dict[str, object]]:
    """By extension: files, how they ended, seconds and letters."""
    rows: dict[str, dict[str, object]] = {}
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
    for kind, outcome in sorted(ends.items()):
        rows[kind] = {
            "files": outcome.total(),
            **outcome,
            "seconds": round(seconds[kind], 3),
            "characters": letters[kind],
        }
    return rows


def largest(folder: Path, suffix: str) -> Path | None:
    found = sorted(folder.rglob(f"*{suffix}"), key=lambda path: path.stat().st_size)
    return found[-1] if found else None


def ratios(parser: SandboxParser, folder: Path) -> dict[str, float]:
    """Our seconds over bare pypdfium2's, and stock unstructured's over ours."""
    found: dict[str, float] = {}
    pdf = largest(folder, ".pdf")
    if pdf is not None:
        data = pdf.read_bytes()
        parser.parse(data, pdf.name)
        ours = best(lambda: parser.parse(data, pdf.name))
        found["pdf_over_bare_pypdfium2"] = round(ours / best(lambda: bare_pdf(data)), 2)
    if importlib.util.find_spec("unstructured") is None:
        return found
    from unstructured.partition.auto import partition  # noqa: PLC0415 - optional, and slow to load

    for suffix in (".docx", ".html"):
        path = largest(folder, suffix)
        if path is not None:
            data, name = path.read_bytes(), str(path)
            ours = best(lambda data=data, name=name: parser.parse(data, name))
            found[f"unstructured_over_ours{suffix}"] = round(best(lambda name=name: partition(name)) / ours, 1)
    return found


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parents[2] / "shared" / "data" / "docs"
    parser = SandboxParser("document_parsers:everything", paths=(str(HERE.parent / "integration"),))
    try:
        parser.parse(b"warm", "a.txt")
        print(json.dumps({"types": table(parser, folder), "ratios": ratios(parser, folder)}, indent=1))
    finally:
        parser.close()


if __name__ == "__main__":
    main()
