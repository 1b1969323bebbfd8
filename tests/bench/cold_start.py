"""The query function from process start to its first answer, beside the least that any such function does: its
framework, an HTTP client, onnxruntime, tokenizers, the model's load and one embedding.
`python -m tests.bench cold_start`.

Each is a process of its own, taken in turns; the answer comes through functions-framework's own application. In cloud
mode the clients of Firestore and Qdrant are imported beside the model's load, which is reported without a bound.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from common.bootstrap import local_runtime
from tests.bench.reporting import report, table
from tests.bench.setting import MODEL, MODELS, ROOT, index, markdown, put, settings_for

RUNS = 15
ALLOWED = 1.5
MEMORY_MB = 200
QUESTION = "Como configuro o ambiente?"
LEAST = """
import http.client, json, os, sys
import functions_framework, numpy as np, onnxruntime
from tokenizers import Tokenizer
folder = sys.argv[1]
def answer(request):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    session = onnxruntime.InferenceSession(folder + "/model.onnx", options, providers=["CPUExecutionProvider"])
    ids = np.array([Tokenizer.from_file(folder + "/tokenizer.json").encode("query: " + request.json["query"]).ids])
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    return {"size": len(session.run(None, {n.name: feed[n.name] for n in session.get_inputs()})[0])}
import pathlib, tempfile
source = pathlib.Path(tempfile.mkdtemp()) / "main.py"
source.write_text("def query(request):\\n    import __main__\\n    return __main__.answer(request)\\n")
app = functions_framework.create_app(target="query", source=str(source))
reply = app.test_client().post("/", json={"query": sys.argv[2]})
assert reply.status_code == 200, reply.get_data()
print(next(l.split()[1] for l in open("/proc/self/status") if l.startswith("VmHWM")))
"""
OURS = """
import sys
import functions_framework
app = functions_framework.create_app(target="query", source=sys.argv[1] + "/functions/query/main.py")
reply = app.test_client().post("/v1/bases/bench/search", json={"query": sys.argv[2], "threshold": None})
assert reply.status_code == 200, reply.get_data()
body = reply.get_json()
assert body["passages"] and not body["degraded"], body
print(next(l.split()[1] for l in open("/proc/self/status") if l.startswith("VmHWM")))
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


def start(script: str, argument: str, environment: dict[str, str]) -> tuple[float, float]:
    """Milliseconds from the process' start to its end after the first answer, and its peak memory in MB."""
    since = perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, argument, QUESTION],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    return (perf_counter() - since) * 1000, int(done.stdout.split()[-1]) / 1024


def main() -> None:
    folder = MODELS / MODEL
    with TemporaryDirectory() as data:
        settings = settings_for(Path(data))
        runtime = local_runtime(settings)
        put(runtime, "bench", markdown(8))
        index(runtime)
        runtime.close()
        here = {"KB_DATA_DIR": settings.kb_data_dir, "KB_MODEL_DIR": str(MODELS), "KB_EMBEDDING_MODEL": MODEL}
        kinds = {
            "the least": (LEAST, str(folder), {}),
            "query function, one machine": (OURS, str(ROOT), {**here, "KB_MODE": "local", "KB_LOG_LEVEL": "ERROR"}),
            "cloud clients beside the model": (CLIENTS, str(folder), {}),
        }
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
        for _ in range(RUNS):
            for name, (script, argument, environment) in kinds.items():
                taken[name].append(start(script, argument, environment))
    rows = {name: (median(t for t, _ in each), max(m for _, m in each)) for name, each in taken.items()}
    least = rows["the least"][0]
    wanted = {"query function, one machine": f"{ALLOWED}x, {MEMORY_MB} MB"}
    table(
        ("process start to first answer", "ms (median)", "ratio", "peak MB", "wanted"),
        [(name, ms, ms / least, memory, wanted.get(name, "")) for name, (ms, memory) in rows.items()],
    )
    report(
        "cold_start",
        json.loads(json.dumps({name: {"ms": ms, "ratio": ms / least, "mb": mb} for name, (ms, mb) in rows.items()})),
    )


if __name__ == "__main__":
    main()
