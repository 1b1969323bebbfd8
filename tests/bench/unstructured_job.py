"""Stock unstructured over files, in the environment that has it. File names come as JSON on standard input; for each go
its seconds by clock and by CPU, medians of some runs, and its text to standard output.

One thing is not as it comes: the tokenizer that it would download while it parses is replaced by a light one, which
makes it faster than it is.
"""

import contextlib
import json
import os
import re
import statistics
import sys
import time
from types import ModuleType

RUNS = 3
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"\w+|[^\w\s]")


def lighten() -> None:
    """No telemetry, no model."""
    for switch in ("DO_NOT_TRACK", "SCARF_NO_ANALYTICS", "UNSTRUCTURED_DISABLE_NOTICE"):
        os.environ[switch] = "true"
    light = ModuleType("unstructured.nlp.tokenize")
    vars(light).update(
        sent_tokenize=lambda text: [part for part in _SENTENCE.split(text) if part],
        word_tokenize=_WORD.findall,
        pos_tag=lambda text: [(word, "NN") for word in _WORD.findall(text)],
        CACHE_MAX_SIZE=128,
    )
    sys.modules["unstructured.nlp.tokenize"] = light


def read(name: str) -> dict[str, object]:
    from unstructured.partition.auto import partition  # noqa: PLC0415 - of the environment that runs this

    wall, cpu, elements = [], [], []
    for _ in range(RUNS):
        clock, used = time.perf_counter(), time.process_time()
        elements = partition(filename=name)
        wall.append(time.perf_counter() - clock)
        cpu.append(time.process_time() - used)
    text = "\n".join(element.text for element in elements)
    return {"wall": statistics.median(wall), "cpu": statistics.median(cpu), "text": text}


def work(names: list[str]) -> dict[str, object]:
    lighten()
    found = {}
    for name in names:
        with contextlib.suppress(Exception):
            found[name] = read(name)
    return found


if __name__ == "__main__":
    orders = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        answered = work(orders)
    json.dump(answered, sys.stdout)
