"""LangChain and Chroma beside the product where they do the same job: the same files and embedder, each system in a
process of its own, stored on disk. `python -m tests.bench peers [FILES]`; FILES 0 is all of docs/markdown-pt.

They live in an environment of their own (`.venv-bench`, or KB_BENCH_VENV), made by `make bench`; without it only the
product is measured, and the table says so.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common.models import model_folder
from tests.bench.reporting import report, table
from tests.bench.setting import MODEL, MODELS, ROOT, markdown, question_set

VENV = Path(os.environ.get("KB_BENCH_VENV", ROOT / ".venv-bench"))
PEERS = {
    "langchain_chroma": ("langchain-chroma", "langchain-core", "chromadb"),
    "langchain_qdrant": ("langchain-qdrant", "langchain-core", "qdrant-client"),
    "chroma": ("chromadb",),
}
QUESTIONS = 200
_QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "OMP_NUM_THREADS": "1",
}
_VERSIONS = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"


def job(python: Path, peer: str, files: dict[str, str], questions: list[str], **more: Any) -> dict[str, Any]:
    """One system's figures. Raises CalledProcessError when it fails; what it says goes to standard error."""
    with TemporaryDirectory() as folder:
        orders = {
            "peer": peer,
            "files": files,
            "questions": questions,
            "model": str(model_folder(MODELS, MODEL)),
            "folder": folder,
            **more,
        }
        environment = {**os.environ, **_QUIET, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [str(python), "-m", "tests.bench.peer_job"],
            input=json.dumps(orders),
            env=environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return json.loads(done.stdout)


def beside(orders: dict[str, Any], ours: dict[str, str], theirs: dict[str, str]) -> dict[str, dict[str, Any]]:
    """The figures of the product over the files `ours`, and of every peer that is there over `theirs`."""
    python = VENV / "bin" / "python"
    found = {"fichario": job(Path(sys.executable), "fichario", ours, **orders)}
    if not python.exists():
        print(f"\nLangChain and Chroma were NOT measured: there is no {VENV}; `make bench` makes it.")
        return found
    for peer, packages in PEERS.items():
        found[peer] = {**job(python, peer, theirs, **orders), "versions": versions(python, packages)}
    return found


def versions(python: Path, names: tuple[str, ...]) -> dict[str, str]:
    done = subprocess.run([str(python), "-c", _VERSIONS, *names], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main(files: str = "0") -> None:
    corpus = {name: data.decode() for name, data in markdown(int(files)).items()}
    questions = [question["q"] for question in question_set("faquad.pt").questions[:QUESTIONS]]
    python = VENV / "bin" / "python"
    measured = beside({"questions": questions}, corpus, corpus)
    heads = (
        "system",
        "passages",
        "a second",
        "KB a second",
        "ingest overhead ms",
        "CPU ms",
        "query overhead p50 ms",
        "p95 ms",
    )
    keys = (
        "passages",
        "passages_per_second",
        "kb_per_second",
        "overhead_ms_per_passage",
        "overhead_cpu_ms_per_passage",
        "query_overhead_p50_ms",
        "query_overhead_p95_ms",
        "disk_kb_per_passage",
        "peak_memory_mb",
    )
    rows = [(name, *(figures[key] for key in keys)) for name, figures in measured.items()]
    table((*heads, "disk KB a passage", "peak memory MB"), rows)
    report("peers", {"files": len(corpus), "systems": measured, "peers_absent": not python.exists()})


if __name__ == "__main__":
    main(*sys.argv[1:])
