"""The query function from process start to its first answer, beside the least that any such function does: its
framework, an HTTP client, onnxruntime, tokenizers, the model's load and one embedding.
`python -m tests.bench cold_start [RUNS]`.

Both are served as they are deployed: the `functions-framework` command, which imports the function and forks the
process that answers; the question is sent as soon as the port takes it. Each is started once before, so that its
modules are compiled, as in the image, and then they take turns. Memory is what the process that answers has once it did
(RSS) and the most that it had until then, pages that it shares with the one it was forked from included; of both the
most of all runs. In cloud mode the clients of Firestore and Qdrant are imported beside the model's load, which is
reported without a bound.
"""

import http.client
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import NamedTuple

from common.bootstrap import local_runtime
from tests.bench.reporting import report, table
from tests.bench.setting import MODEL, MODELS, ROOT, index, markdown, put, settings_for

RUNS = 15
ALLOWED = 1.5
MEMORY_MB = 200
PATIENCE = 60.0
QUESTION = "Como configuro o ambiente?"
LEAST = """
import functools, http.client, os
import functions_framework, numpy as np, onnxruntime
from tokenizers import Tokenizer
folder = os.environ["LEAST_MODEL"]
@functools.lru_cache
def model():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    session = onnxruntime.InferenceSession(folder + "/model.onnx", options, providers=["CPUExecutionProvider"])
    return session, Tokenizer.from_file(folder + "/tokenizer.json")
def query(request):
    session, tokenizer = model()
    ids = np.array([tokenizer.encode("query: " + request.json["query"]).ids])
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    return {"size": len(session.run(None, {n.name: feed[n.name] for n in session.get_inputs()})[0])}
"""
CLIENTS = """
import sys, threading
def clients():
    import google.cloud.firestore, qdrant_client
thread = threading.Thread(target=clients); thread.start()
from common.adapters.onnx_embedder import OnnxEmbedder
from pathlib import Path
OnnxEmbedder(Path(sys.argv[1])).embed_query(sys.argv[2])
thread.join()
import functions.query.handle
print(*(l.split()[1] for l in open("/proc/self/status") if l.startswith(("VmRSS", "VmHWM"))))
"""


class Taken(NamedTuple):
    """Of one start: milliseconds by the clock and of CPU, and in MB its memory with the answer and at the most."""

    ms: float
    cpu_ms: float
    rss_mb: float
    peak_mb: float


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def first_answer(port: int, path: str, process: subprocess.Popen) -> dict[str, object]:
    """Asked again and again until the port is there, then once."""
    body = json.dumps({"query": QUESTION, "threshold": None})
    until = perf_counter() + PATIENCE
    while perf_counter() < until:
        assert process.poll() is None, "the function ended by itself"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.connect()
        except ConnectionRefusedError:
            sleep(0.002)
            continue
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = json.loads(response.read())
        assert response.status == 200, answer
        return answer
    raise AssertionError("the function never answered")


def family(process: int) -> list[int]:
    """The process and those that it forked."""
    listed = Path(f"/proc/{process}/task").glob("*/children")
    return [process, *(int(child) for path in listed for child in path.read_text(encoding="ascii").split())]


def _cpu(process: int) -> float:
    """Milliseconds of CPU that it took, threads that have ended included."""
    user, system = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) * 1000 / os.sysconf("SC_CLK_TCK")


def _memory(process: int, kind: str) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(kind)).split()[1]) / 1024


def served(source: Path, path: str, environment: dict[str, str]) -> Taken:
    """What the command takes until its first answer, with the process that it forks."""
    port, command = free_port(), Path(sys.executable).with_name("functions-framework")
    order = [command, "--target", "query", "--source", source, "--host", "127.0.0.1", "--port", port]
    since = perf_counter()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*map(str, order)], cwd=ROOT, env=compiled(environment), **quiet) as process:
        try:
            answer = first_answer(port, path, process)
            took = (perf_counter() - since) * 1000
            assert answer.get("passages", True), answer
            assert not answer.get("degraded"), answer
            processes = family(process.pid)
            rss, peak = (max(_memory(each, kind) for each in processes) for kind in ("VmRSS", "VmHWM"))
            return Taken(took, sum(map(_cpu, processes)), rss, peak)
        finally:
            process.terminate()


def compiled(environment: dict[str, str]) -> dict[str, str]:
    """The environment in which modules are kept compiled, in a folder of this measurement's own."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **environment}


def run(script: str, argument: str, environment: dict[str, str]) -> Taken:
    """The same of a process that only runs a script and says its memory."""
    since, before = perf_counter(), _children()
    command = [sys.executable, "-c", script, argument, QUESTION]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=compiled(environment))
    took = (perf_counter() - since) * 1000
    peak, rss = (int(figure) / 1024 for figure in done.stdout.split()[-2:])
    return Taken(took, _children() - before, rss, peak)


def _children() -> float:
    """Milliseconds of CPU of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def kinds(data: Path) -> dict[str, Callable[[], Taken]]:
    """What is started, by name; the base of the query function is made first."""
    settings = settings_for(data)
    runtime = local_runtime(settings)
    put(runtime, "bench", markdown(8))
    index(runtime)
    runtime.close()
    least = data / "least.py"
    least.write_text(LEAST, encoding="utf-8")
    # Without telemetry, as the product itself runs.
    kept = {"PYTHONPYCACHEPREFIX": str(data / "compiled"), "ORT_DISABLE_TELEMETRY": "1"}
    folder = MODELS / MODEL
    ours = {
        **kept,
        "KB_MODE": "local",
        "KB_DATA_DIR": settings.kb_data_dir,
        "KB_MODEL_DIR": str(MODELS),
        "KB_EMBEDDING_MODEL": MODEL,
        "KB_LOG_LEVEL": "ERROR",
    }
    function = ROOT / "functions" / "query" / "main.py"
    return {
        "the least": lambda: served(least, "/", {**kept, "LEAST_MODEL": str(folder)}),
        "query function, one machine": lambda: served(function, "/v1/bases/bench/search", ours),
        "cloud clients beside the model": lambda: run(CLIENTS, str(folder), kept),
    }


def main(runs: str = str(RUNS)) -> None:
    with TemporaryDirectory() as folder:
        started = kinds(Path(folder))
        for start in started.values():
            start()
        taken: dict[str, list[Taken]] = {name: [] for name in started}
        for _ in range(int(runs)):
            for name, start in started.items():
                taken[name].append(start())
    rows = {
        name: Taken(
            median(t.ms for t in each),
            median(t.cpu_ms for t in each),
            max(t.rss_mb for t in each),
            max(t.peak_mb for t in each),
        )
        for name, each in taken.items()
    }
    least = rows["the least"]
    wanted = {"query function, one machine": f"{ALLOWED}x, RSS {MEMORY_MB} MB"}
    table(
        ("process start to first answer", "ms (median)", "ratio", "CPU ms", "CPU ratio", "RSS MB", "peak MB", "wanted"),
        [
            (name, t.ms, t.ms / least.ms, t.cpu_ms, t.cpu_ms / least.cpu_ms, t.rss_mb, t.peak_mb, wanted.get(name, ""))
            for name, t in rows.items()
        ],
    )
    report("cold_start", {name: {**t._asdict(), "ratio": t.ms / least.ms} for name, t in rows.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
