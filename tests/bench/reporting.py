"""What every measurement shares in how it counts time and tells what it found: a table for people, one line of JSON."""

import contextlib
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
PACKAGES = ("fichario", "onnxruntime", "tokenizers", "numpy", "qdrant-edge-py", "fastembed")


@dataclass(frozen=True)
class Spent:
    """Seconds by the clock and seconds of this process's CPU; only the latter means much on a busy machine."""

    wall: float
    cpu: float

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.wall + other.wall, self.cpu + other.cpu)


def timed(work: Callable[[], T]) -> tuple[T, Spent]:
    """The result of the work and what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, Spent(time.perf_counter() - wall, time.process_time() - cpu)


def timed_with_children(work: Callable[[], T]) -> tuple[T, Spent]:
    """As `timed`, with the CPU of the processes that this one has started and that still run."""
    before = _children_cpu()
    result, spent = timed(work)
    return result, Spent(spent.wall, spent.cpu + _children_cpu() - before)


def _children_cpu() -> float:
    total = 0
    for listed in Path("/proc/self/task").glob("*/children"):
        for child in listed.read_text(encoding="ascii").split():
            with contextlib.suppress(OSError):
                total += int(Path("/proc", child, "schedstat").read_text(encoding="ascii").split()[0])
    return total / 1e9


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of them do not exceed."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


def middle(values: Sequence[float]) -> float:
    return statistics.median(values)


def machine() -> dict[str, Any]:
    """Where the figures come from."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": versions,
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A Markdown table, the way README takes it."""
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for row in rows:
        print("| " + " | ".join(map(_shown, row)) + " |", flush=True)


def _shown(value: object) -> str:
    return f"{value:,.3f}" if isinstance(value, float) else str(value)


def report(name: str, figures: dict[str, Any]) -> None:
    """The machine in words and everything in one line of JSON, rounded."""
    where = machine()
    print(f"\n{where['cpu']}, {where['cores']} cores, load {where['load']}, Python {where['python']}")
    print(json.dumps({"measurement": name, **_rounded(figures), "machine": where}, ensure_ascii=False), flush=True)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return round(value, 4) if isinstance(value, float) else value
