"""Run by a function's own Python: start it under functions-framework, send it requests, print the answers as JSON.

Standard library only: of the environment in which it runs, nothing but the function is to be relied on.
"""

import json
import os
import re
import select
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

DEADLINE = 90.0
_IMPORTED = re.compile(r"^import time:[^|]*\|[^|]*\|\s*([A-Za-z0-9_.]+)$", re.MULTILINE)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def send(address, asked):
    body = asked.get("body")
    data = json.dumps(body).encode() if body is not None else None
    headers = {"Content-Type": "application/json", **asked.get("headers", {})}
    request = urllib.request.Request(address + asked["path"], data, headers, method=asked["method"])
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return {"status": answer.status, "body": json.load(answer)}
    except urllib.error.HTTPError as error:
        return {"status": error.code, "body": json.loads(error.read() or b"null")}


def wait(address, process):
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until and process.poll() is None:
        try:
            with socket.create_connection(address, timeout=1):
                return
        except OSError:
            select.select([], [], [], 0.05)
    raise SystemExit("the function did not start")


def main():
    function, sources, requests = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    port = free_port()
    script = Path(sys.executable).with_name("functions-framework")
    command = [script, "--target", function, "--source", sources / f"functions/{function}/main.py"]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [*map(str, command), "--host", "127.0.0.1", "--port", str(port)],
            env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"},
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        try:
            wait(("127.0.0.1", port), process)
            answers = [send(f"http://127.0.0.1:{port}", asked) for asked in requests]
        finally:
            process.terminate()
            process.wait(timeout=30)
            log.seek(0)
            written = log.read()
    imported = sorted({name.split(".")[0] for name in _IMPORTED.findall(written)})
    print(json.dumps({"answers": answers, "imported": imported}))


if __name__ == "__main__":
    main()
