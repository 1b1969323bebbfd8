"""Run by a function's own Python: start it under functions-framework, send it requests, print the answers as JSON.

Standard library only: of the environment in which it runs, nothing but the function is to be relied on.
"""

import http.client
import json
import os
import re
import select
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DEADLINE = 90.0
_IMPORTED = re.compile(r"^import time:[^|]*\|[^|]*\|\s*([A-Za-z0-9_.]+)$", re.MULTILINE)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def send(address, asked):
    connection = http.client.HTTPConnection(*address, timeout=30)
    body = json.dumps(asked["body"]) if "body" in asked else None
    headers = {"Content-Type": "application/json", **asked.get("headers", {})}
    connection.request(asked["method"], asked["path"], body, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return {"status": answer.status, "body": json.loads(text) if text.startswith("{") else text}


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
    address = "127.0.0.1", free_port()
    script = Path(sys.executable).with_name("functions-framework")
    command = [script, "--target", function, "--source", sources / f"functions/{function}/main.py"]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [*map(str, command), "--host", address[0], "--port", str(address[1])],
            env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"},
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        try:
            wait(address, process)
            answers = [send(address, asked) for asked in requests]
        finally:
            process.terminate()
            process.wait(timeout=30)
            log.seek(0)
            written = log.read()
    imported = sorted({name.split(".")[0] for name in _IMPORTED.findall(written)})
    print(json.dumps({"answers": answers, "imported": imported}))


if __name__ == "__main__":
    main()
