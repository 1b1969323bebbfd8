"""The query function from process start to its first answer, beside the least that any such function does: its
framework, an HTTP client, onnxruntime, tokenizers, the model's load and one embedding.
`python -m tests.bench cold_start [RUNS]`.

Both are served as they are deployed: the `functions-framework` command, which imports the function and forks the
process that answers; the question is sent as soon as the port takes it. Each is started once before, so that its
modules are compiled, as in the image, and then they take turns. Memory is the peak of the process that answers, pages
that it shares with the one it was forked from included. In cloud mode the clients of Firestore and Qdrant are imported
beside the model's load, which is reported without a bound.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

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
print(next(l.split()[1] for l in open("/proc/self/status") if l.startswith("VmHWM")))
"""


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


def peak(process: int) -> float:
    """Megabytes, of the process or of whichever of those that it forked held most."""
    listed = Path(f"/proc/{process}/task").glob("*/children")
    processes = [process, *(int(child) for path in listed for child in path.read_text(encoding="ascii").split())]
    return max(_peak(each) for each in processes)


def _peak(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def served(source: Path, path: str, environment: dict[str, str]) -> tuple[float, float]:
    """Milliseconds from the start of the command to its first answer, and its peak memory in MB."""
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
            return took, peak(process.pid)
        finally:
            process.terminate()


def compiled(environment: dict[str, str]) -> dict[str, str]:
    """The environment in which modules are kept compiled, in a folder of this measurement's own."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **environment}


def run(script: str, argument: str, environment: dict[str, str]) -> tuple[float, float]:
    """The same of a process that only runs a script and says its memory."""
    since = perf_counter()
    command = [sys.executable, "-c", script, argument, QUESTION]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=compiled(environment))
    return (perf_counter() - since) * 1000, int(done.stdout.split()[-1]) / 1024


def kinds(data: Path) -> dict[str, Callable[[], tuple[float, float]]]:
    """What is started, by name; the base of the query function is made first."""
    settings = settings_for(data)
    runtime = local_runtime(settings)
    put(runtime, "bench", markdown(8))
    index(runtime)
    runtime.close()
    least = data / "least.py"
    least.write_text(LEAST, encoding="utf-8")
    folder, kept = MODELS / MODEL, {"PYTHONPYCACHEPREFIX": str(data / "compiled")}
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
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in started}
        for _ in range(int(runs)):
            for name, start in started.items():
                taken[name].append(start())
    rows = {name: (median(t for t, _ in each), max(m for _, m in each)) for name, each in taken.items()}
    least = rows["the least"][0]
    wanted = {"query function, one machine": f"{ALLOWED}x, {MEMORY_MB} MB"}
    table(
        ("process start to first answer", "ms (median)", "ratio", "peak MB", "wanted"),
        [(name, ms, ms / least, memory, wanted.get(name, "")) for name, (ms, memory) in rows.items()],
    )
    report("cold_start", {name: {"ms": ms, "ratio": ms / least, "mb": mb} for name, (ms, mb) in rows.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
