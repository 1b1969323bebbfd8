"""What the running server takes: passages, disk, memory, start. `python -m tests.bench size [FILES]`; FILES 0 is all of
docs/markdown-pt.

A `fichario up` indexes the folder, is stopped and started again; idle memory is that of the last one when it is ready,
and again after its first questions. Disk is the blocks that files really have, for the engine's are sparse.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench.reporting import middle, report, table
from tests.bench.setting import BASE, MODEL, MODELS, ROOT, markdown

REQUIRED_MB = 350
STARTS = 3
ASKED = ("Como uso um efeito?", "O que é um Server Component?", "Quando usar useMemo?")
DEADLINE = 1800.0
_BLOCK = 512


@dataclass
class Running:
    """A server with its address and the seconds from its start until it said ready."""

    process: subprocess.Popen
    address: str
    start: float

    def call(self, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - a server of our own
            self.address + path, data, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return json.loads(answer.read())

    def memory(self) -> dict[str, float]:
        """Megabytes of the server and of the processes it has started."""
        return {"server": resident(self.process.pid), "children": sum(map(resident, children(self.process.pid)))}


@contextmanager
def serving(data: Path) -> Iterator[Running]:
    environment = {**os.environ, "KB_MODEL_DIR": str(MODELS), "KB_EMBEDDING_MODEL": MODEL, "KB_LOG_LEVEL": "ERROR"}
    command = [Path(sys.executable).with_name("fichario"), "--data", data, "up", "--port", "0"]
    since = time.perf_counter()
    process = subprocess.Popen(
        [*map(str, command)], env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        address = next(found[0] for line in process.stdout if (found := re.search(r"http://[\d.]+:\d+", line)))
        running = Running(process, address, 0.0)
        assert running.call("/readyz")["status"] == "ready"
        running.start = time.perf_counter() - since
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        process.stdout.close()


def resident(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def children(process: int) -> list[int]:
    listed = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for path in listed for child in path.read_text(encoding="utf-8").split()]


def disk(folder: Path) -> float:
    """Megabytes of the blocks that the files below a folder have."""
    return sum(path.lstat().st_blocks for path in folder.rglob("*")) * _BLOCK / 2**20


def settled(running: Running, files: int) -> float:
    """Seconds until every file is indexed."""
    since, pause = time.perf_counter(), threading.Event()
    while time.perf_counter() - since < DEADLINE:
        bases = running.call("/v1/bases")["bases"]
        if bases and bases[0]["documents"] >= files:
            return time.perf_counter() - since
        pause.wait(0.5)
    raise AssertionError("the server never indexed its folder")


def main(files: str = "0") -> None:
    corpus = markdown(int(files))
    with TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        for name, content in corpus.items():
            path = data / "bucket" / BASE / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        with serving(data) as running:
            seconds = settled(running, len(corpus))
            busy = running.memory()
            held = running.call("/v1/bases")["bases"][0]
        starts = []
        for _ in range(STARTS):
            with serving(data) as running:
                starts.append(running.start)
                idle = running.memory()
                for question in ASKED:
                    running.call(f"/v1/bases/{BASE}/search", {"query": question})
                asked = running.memory()
        sizes = {
            part: disk(data / part) if (data / part).is_dir() else (data / part).lstat().st_blocks * _BLOCK / 2**20
            for part in ("bucket", "index", "catalog.sqlite")
        }
    model = disk(MODELS / MODEL)
    figures = {
        "files": len(corpus),
        "passages": held["passages"],
        "ingest_seconds": seconds,
        "disk_mb": {**sizes, "model": model},
        "kb_per_passage": 1024 * (sizes["index"] + sizes["catalog.sqlite"]) / held["passages"],
        "memory_mb": {"idle": idle, "after_questions": asked, "after_ingest": busy},
        "start_seconds": middle(starts),
        "required_idle_mb": REQUIRED_MB,
    }
    rows = [("passages", held["passages"], ""), ("start to ready, s", middle(starts), "")]
    rows += [(f"disk of {part}, MB", size, "") for part, size in figures["disk_mb"].items()]
    rows += [
        (f"memory {when}, MB", used["server"], f"{used['children']:.0f} in its parser process")
        for when, used in figures["memory_mb"].items()
    ]
    table(("what", "figure", "beside"), rows)
    print(f"\nidle memory {idle['server'] + idle['children']:.0f} MB, required at most {REQUIRED_MB}")
    report("size", figures)


if __name__ == "__main__":
    main(*sys.argv[1:])
