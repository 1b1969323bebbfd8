"""Stock unstructured beside our readers, in the environment that `make bench` makes for others (`.venv-bench`, or
KB_BENCH_VENV).
"""

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.ports import Parser
from tests.bench.peers import VENV
from tests.bench.reporting import middle, timed_with_children
from tests.bench.setting import ROOT

RUNS = 5
_WORD = re.compile(r"\w+")
_QUIET = {"DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}


def compared(parser: Parser, paths: Sequence[Path]) -> dict[str, float] | None:
    """How many times as long it takes as our reader with its worker, by CPU and by wall, over all files that it reads,
    and the share of its words that stand in ours. None where it is not installed.
    """
    theirs = _read([str(path) for path in paths])
    if not theirs:
        return None
    wall = cpu = kept = words = 0.0
    for name, read in theirs.items():
        data = Path(name).read_bytes()
        turns = [timed_with_children(lambda data=data, name=name: parser.parse(data, name)) for _ in range(RUNS)]
        wall += middle([spent.wall for _, spent in turns])
        cpu += middle([spent.cpu for _, spent in turns])
        text = "\n".join(document.text for document in turns[0][0].documents)
        expected = Counter(_WORD.findall(read["text"]))
        kept += (expected & Counter(_WORD.findall(text))).total()
        words += expected.total()
    return {
        "files": len(theirs),
        "times_cpu": sum(read["cpu"] for read in theirs.values()) / cpu,
        "times_wall": sum(read["wall"] for read in theirs.values()) / wall,
        "words_kept": kept / words,
    }


def _read(paths: list[str]) -> dict[str, dict[str, Any]]:
    python = VENV / "bin" / "python"
    if not list(VENV.glob("lib/python*/site-packages/unstructured")):
        return {}
    done = subprocess.run(
        [str(python), "-m", "tests.bench.unstructured_job"],
        input=json.dumps(paths),
        env={**os.environ, **_QUIET},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)
