"""What is not worth embedding is told apart from what only looks strange."""

import time

import pytest

from common.domain.unfit import ENDLESS, LOCK_FILE, MINIFIED, SOURCE_MAP, unfit_reason

STATEMENTS = "".join(f"var v{n}={n};" for n in range(900))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a/package-lock.json", "{}", LOCK_FILE),
        ("Cargo.lock", "", LOCK_FILE),
        (".terraform.lock.hcl", "", LOCK_FILE),
        ("go.sum", "", LOCK_FILE),
        ("dist/app.js.map", "{}", SOURCE_MAP),
        ("x.min.js", "a()\n", MINIFIED),
        ("x-min.css", "a{}", MINIFIED),
        ("minified.js", f"function a(){{{STATEMENTS}}}//MINI-3", MINIFIED),
        ("a.txt", "A" * 5000, ENDLESS),
        ("a.txt", "=" * 1000, ENDLESS),
        ("key.pem", "KEY " + "aGk/+" * 900 + "==", ENDLESS),
    ],
)
def test_refused(name, text, expected):
    assert unfit_reason(name, text) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("map.txt", "x"),
        ("admin.js", "a()\n" * 2000),
        ("a.js", STATEMENTS[:3000]),
        ("base64-oneword.md", f"# Anexo\n\nCabeçalho útil ANTES-1 data:image/png;base64,{'aGk/+' * 12_000} DEPOIS-2\n"),
        ("umlauts.txt", "äöüçãõ" * 4000),
        ("thai.txt", "ภาษาไทย" * 1000),
        ("api.json", '{"a":"b","c":[1,2,3]},' * 500),
        ("long.md", "palavra " * 5000),
        ("locks.md", "about package-lock.json"),
        ("a.txt", "A" * 999),
    ],
)
def test_taken(name, text):
    assert unfit_reason(name, text) is None


@pytest.mark.parametrize("piece", ["ab" * 499 + ".", "é" * 999 + " ", "a", "\n", "a\n", "= "])
def test_linear(piece):
    text = piece * (4_000_000 // len(piece))
    started = time.thread_time()
    unfit_reason("a.txt", text)
    assert time.thread_time() - started < 2
