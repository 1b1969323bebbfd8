"""DEP-01: no kind of file makes its parser ask the network for anything, or write anything anywhere."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests" / "corpus" / "files"
NAMES = (
    "ENC-01/cafe-latin1.txt",
    "DOC-01/nested-and-header-table.docx",
    "PPT-01/notes.pptx",
    "XLS-01/formula-with-cache.xlsx",
)


def watched(work, *paths, code=()):
    work.mkdir()
    command = [sys.executable, "-B", *(code or ("-m", "tests.integration.watched_parsing")), *map(str, paths)]
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(work), "HOME": str(work)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_dep_01_a_cold_parser_reads_without_the_network_and_writes_nothing(name, tmp_path):
    path = FILES / name
    found = watched(tmp_path / "work", path)
    assert found["noted"] == []
    assert found["read"][str(path)] > 0
    assert list((tmp_path / "work").iterdir()) == []


def test_whatever_asked_or_wrote_would_be_noted(tmp_path):
    code = (
        "import pathlib, socket, sys; from tests.integration import watched_parsing as w; sys.addaudithook(w.note); "
        "w.watching = True; socket.socket(); pathlib.Path(sys.argv[1], 'a').write_text('a'); w.watching = False; "
        "import json; print(json.dumps({'noted': w.noted}))"
    )
    noted = watched(tmp_path / "work", tmp_path, code=("-c", code))["noted"]
    assert [entry.split()[0] for entry in noted] == ["socket.__new__", "open"]
