"""What indexing again costs: unchanged files, and files of which 1 % of the passages changed, as a share of the first
run's CPU. `python -m tests.bench reingest [FILES]`; FILES 0 is all of docs/markdown-pt.

Files go in as `fichario ingest` puts them, one upload each. The changed passages lie anywhere, so many more files than
passages of a hundred have to be read, cut and written again.
"""

import resource
import sys
from collections.abc import Mapping
from random import Random

from common.runtime import LocalRuntime
from functions.local.workers import drain
from tests.bench.reporting import report, table, timed
from tests.bench.setting import BASE, markdown, one_machine

CHANGED = 0.01
REQUIRED = 0.03
WORDS = " alterado recentemente"


def upload(runtime: LocalRuntime, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        runtime.manage.upload(BASE, name, data, "")
    drain(runtime)


def totals(runtime: LocalRuntime) -> dict[str, int]:
    jobs = runtime.catalog.jobs(BASE)
    assert {job.state for job in jobs} == {"indexed"}, {job.state for job in jobs}
    return {"passages": runtime.catalog.totals(BASE).passages, "embedded": sum(job.new_passages for job in jobs)}


def changed(runtime: LocalRuntime, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files with words added to one passage in a hundred, in the middle of its text."""
    texts = {name: data.decode() for name, data in files.items()}
    record = runtime.catalog.base(BASE)
    places = [
        (known.ref.name, point.payload["text"])
        for known in runtime.catalog.objects(BASE)
        for point in runtime.index.stored(BASE, record.live, known.ref.name, known.live)
    ]
    for name, text in Random(1).sample(places, max(1, round(len(places) * CHANGED))):  # noqa: S311
        middle = text.find(" ", len(text) // 2)
        touched = text[:middle] + WORDS + text[middle:] if middle > 0 else text + WORDS
        texts[name] = texts[name].replace(text, touched, 1)
    return {name: text.encode() for name, text in texts.items()}


def children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(files: str = "0") -> None:
    corpus = markdown(int(files))
    rows, figures = [], {"required": REQUIRED}
    with one_machine() as runtime:
        upload(runtime, {"warm.md": b"# Um\n\nAquece."})
        first = before = None
        for what in ("first", "unchanged", "1 % changed"):
            given = changed(runtime, corpus) if what == "1 % changed" else corpus
            spent = timed(lambda given=given: upload(runtime, given))[1]
            now = totals(runtime)
            first = first or spent
            embedded = now["embedded"] - (before or {"embedded": 1})["embedded"]
            files_changed = sum(given[name] != corpus[name] for name in corpus)
            rows.append((what, files_changed, now["passages"], embedded, spent.cpu, spent.wall, spent.cpu / first.cpu))
            figures[what] = {
                "files_changed": files_changed,
                "passages": now["passages"],
                "embedded": embedded,
                "cpu_seconds": spent.cpu,
                "seconds": spent.wall,
                "share": spent.cpu / first.cpu,
            }
            before = now
    figures["parser_process_cpu_seconds"] = children_cpu()
    table(("run", "files changed", "passages", "embedded", "CPU s", "s", "share of first"), rows)
    print(f"\nshare of the first run with 1 % changed {rows[-1][-1]:.4f}, required at most {REQUIRED}")
    report("reingest", figures)


if __name__ == "__main__":
    main(*sys.argv[1:])
