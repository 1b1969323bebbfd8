"""Shell scripts are cut by function, whatever their quotes, heredocs and expansions hold."""

from pathlib import Path

import pytest

from common.adapters.parsers.shell import parse_shell

CORPUS = Path(__file__).parents[1] / "corpus" / "code"


def units(text):
    document = parse_shell("x.sh", text)
    assert document.text == text
    return [(b.headings[-1], text[b.start : b.end]) for b in document.blocks if b.kind == "symbol"]


def titles(text):
    return [title for title, _ in units(text)]


def test_functions_and_long_statements():
    found = units((CORPUS / "sample.sh").read_text())
    assert [title for title, _ in found] == [
        "build",
        "deploy",
        "if [ -f x ]; then",
        "cat > f <<'EOF'",
        "main",
    ]
    build, deploy, branch, *_ = (text for _, text in found)
    assert build.startswith("# build it\n# twice\nbuild() {")
    assert build.endswith("EOT\n}")
    assert deploy.startswith("function deploy\n{")
    assert deploy.endswith("} 2>/dev/null")
    assert branch.endswith("fi | tee log")


def test_the_shebang_is_no_comment_of_a_function():
    assert units("#!/bin/sh\nf() {\n  x\n}\n") == [("f", "f() {\n  x\n}")]


@pytest.mark.parametrize(
    "body",
    [
        "echo '}'",
        'echo "}"',
        "echo \\}",
        "echo ${x:-a}",
        "echo {a,b}",
        "echo $(( 1 << n ))",
        'echo "$(cat "a } b")"',
        "cat <<EOT\n}\nEOT",
        "cat <<-'E'\n}\n\tE",
        "case $1 in a) echo ;; b|c) { x; } ;; esac",
        "echo if then fi done",
        "for ((i=0; i<3; i++)); do x; done",
        "x='a'\"b\"",
        "cat <<< word",
        "echo a#b $#",
        "if x; then y; elif z; then w; fi",
    ],
)
def test_what_looks_like_an_end_is_none(body):
    first = f"f() {{\n  {body}\n  after\n}}"
    found = units(f"{first}\n\ng() {{\n  x\n}}\n")
    assert [title for title, _ in found] == ["f", "g"]
    assert found[0][1] == first


def test_a_misread_line_costs_one_function():
    text = "a() {\n  [[ x =~ ( ]]\n}\n\nb() {\n  y\n}\nc() {\n  z\n}\n"
    assert titles(text)[-1] == "c"
    assert "b" in titles(text)


def test_an_open_end_is_plain_text():
    document = parse_shell("x.sh", "a() {\n  x\n}\n\nwhile true; do\n  y\n")
    assert [block.kind for block in document.blocks] == ["symbol", "code"]


def test_continued_lines_are_one_statement():
    text = "docker run \\\n  --a \\\n  --b \\\n  image\necho\n"
    assert units(text) == [("docker run", "docker run \\\n  --a \\\n  --b \\\n  image")]
