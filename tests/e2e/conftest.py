"""The console script as a user runs it, and a server of its own port."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODELS = Path(os.environ.get("KB_MODEL_DIR", ROOT / ".models")).resolve()


@dataclass
class Fichario:
    """Runs commands on one data folder."""

    data: Path
    extra: dict = field(default_factory=dict)

    @property
    def environment(self):
        kept = {
            name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG", "PYTHONPATH") if name in os.environ
        }
        return {**kept, "KB_MODEL_DIR": str(MODELS), "KB_DATA_DIR": str(self.data), **self.extra}

    def command(self, *arguments):
        return [str(Path(sys.executable).with_name("fichario")), *map(str, arguments)]

    def run(self, *arguments, **more):
        environment = {**self.environment, **more}
        return subprocess.run(
            self.command(*arguments),
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def json(self, *arguments, **more):
        done = self.run(*arguments, "--json", "-q", **more)
        assert done.returncode in {0, 3}, done.stderr
        return json.loads(done.stdout)


@dataclass
class Running:
    """A started server."""

    process: subprocess.Popen
    address: str

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(timeout=60)


@pytest.fixture
def fichario(tmp_path):
    if not (MODELS / "e5-small-enpt" / "manifest.json").exists():
        pytest.skip("model e5-small-enpt is not prepared")
    return Fichario(tmp_path / "data")


@pytest.fixture
def serve(fichario):
    started = []

    def start(*arguments):
        process = subprocess.Popen(
            fichario.command("up", "--port", "0", *arguments),
            env=fichario.environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        started.append(process)
        while True:
            line = process.stdout.readline()
            assert line, "the server ended before it was ready"
            if "answers at" in line:
                return Running(process, line.split()[3].rstrip(";"))

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()
