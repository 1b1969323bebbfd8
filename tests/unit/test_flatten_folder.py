"""A folder becomes a corpus: what is taken, what is left out and counted, and a file that is whole or not there."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.adapters.parsers.text import decode
from common.cli.flatten.plan import MAX_FILE_BYTES, FlattenFailed, FlattenOptions, Item
from common.cli.flatten.run import run
from common.cli.flatten.select import name_reason, stable_id, text_reason
from common.cli.flatten.write import parts_of, write_corpus
from common.domain.documents import Parsed


def no_page(data, name):
    return Parsed(())


def flatten(root, output, **options):
    return run(FlattenOptions(output, root=root, **options), read_page=no_page, decode=decode)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def lines_of(output):
    return [json.loads(line) for line in output.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "project"
    files = {
        "README.md": "# Projeto\n",
        "docs/guia.mdx": "guia",
        "docs/vazio.md": " \n",
        "src/main.py": "x = 1\n",
        "src/util.h": "int x;\n",
        "infra/main.tf": 'resource "a" "b" {}\n',
        "infra/.terraform/modules/x.tf": "a {}\n",
        "infra/.terraform.lock.hcl": "a {}\n",
        "k8s/app.yaml": "kind: A\n",
        "run": "#!/bin/sh\necho\n",
        "notes.txt": "nota",
        "data.json": "{}",
        "node_modules/x/README.md": "no",
        "vendor/y.go": "no",
        "web/app.min.js": "a",
        "web/big.md": "x" * (MAX_FILE_BYTES + 1),
        "package-lock.json": "{}",
        ".git/config": "x",
        ".env": "SECRET=1",
        "img.md": "\x00\x01",
        "cache/CACHEDIR.TAG": "x",
        "cache/a.md": "no",
        "~$lock.md": "x",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (root / "link.md").symlink_to(root / "README.md")
    (root / "loop").symlink_to(root)
    return root


LEFT_OUT = {
    "a lock file, written by a program for programs": 2,
    "a minified bundle, not source that people read": 1,
    "binary": 1,
    "empty": 1,
    "hidden": 3,
    "over 1 MiB": 1,
    "symbolic link": 2,
    "temporary or system file": 1,
    "vendored or generated folder": 3,
}


def test_docs_is_the_default_and_takes_markdown_alone(tree, tmp_path):
    report = flatten(tree, tmp_path / "out.jsonl")
    lines = lines_of(tmp_path / "out.jsonl")
    assert [line["source"] for line in lines] == ["README.md", "docs/guia.mdx"]
    assert lines[0] == {"id": "README", "source": "README.md", "content": "# Projeto\n"}
    assert (report.documents, report.lines, report.characters) == (2, 2, 14)
    other = {"not Markdown (--kind code or auto takes more)": 7}
    assert report.skipped == LEFT_OUT | other
    assert not report.cut_off


def test_code_adds_source_and_configuration(tree, tmp_path):
    report = flatten(tree, tmp_path / "out.jsonl", kind="code")
    assert [line["source"] for line in lines_of(tmp_path / "out.jsonl")] == [
        "README.md",
        "run",
        "docs/guia.mdx",
        "infra/main.tf",
        "k8s/app.yaml",
        "src/main.py",
        "src/util.h",
    ]
    assert report.skipped == LEFT_OUT | {"neither Markdown nor source (--kind auto takes all text)": 2}


def test_auto_takes_all_text(tree, tmp_path):
    report = flatten(tree, tmp_path / "out.jsonl", kind="auto")
    assert {"data.json", "notes.txt", "run"} < {line["source"] for line in lines_of(tmp_path / "out.jsonl")}
    assert report.skipped == LEFT_OUT
    assert "skipped 3: vendored or generated folder" in report.notices()


def test_docs_without_markdown_advises_code(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.py").write_text("x")
    output = tmp_path / "out.jsonl"
    output.write_text("old")
    with pytest.raises(FlattenFailed, match=r"no Markdown\. Run it with --kind code"):
        flatten(tmp_path / "in", output)
    assert output.read_text() == "old"
    assert names(tmp_path) == ["in", "out.jsonl"]


def test_a_root_that_is_no_folder_is_refused(tmp_path):
    with pytest.raises(FlattenFailed, match="is not a folder"):
        flatten(tmp_path / "missing", tmp_path / "out.jsonl")


def test_the_output_inside_the_root_is_not_its_own_input(tmp_path):
    (tmp_path / "a.md").write_text("a")
    output = tmp_path / "corpus.jsonl"
    first = flatten(tmp_path, output, kind="auto")
    again = flatten(tmp_path, output, kind="auto")
    assert first == again
    assert [line["source"] for line in lines_of(output)] == ["a.md"]


def test_runs_repeat_byte_for_byte(tree, tmp_path):
    flatten(tree, tmp_path / "a.jsonl", kind="auto", max_chars=5)
    flatten(tree, tmp_path / "b.jsonl", kind="auto", max_chars=5)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_parts_have_ids_and_first_lines(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.md").write_text("um\ndois\ntrês\n")
    flatten(tmp_path / "in", tmp_path / "out.jsonl", max_chars=8)
    assert lines_of(tmp_path / "out.jsonl") == [
        {"id": "a", "source": "a.md", "content": "um\ndois\n", "firstLine": 1},
        {"id": "a#2", "source": "a.md", "content": "três\n", "firstLine": 3},
    ]


def test_line_separators_are_escaped(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.md").write_text("a\u2028b\u2029c\x85d", encoding="utf-8")
    flatten(tmp_path / "in", tmp_path / "out.jsonl")
    raw = (tmp_path / "out.jsonl").read_text(encoding="utf-8")
    assert len(raw.splitlines()) == 1
    assert lines_of(tmp_path / "out.jsonl")[0]["content"] == "a\u2028b\u2029c\x85d"


def test_a_failure_half_way_leaves_the_old_file(tmp_path):
    output = tmp_path / "out.jsonl"
    output.write_text("old")

    def items():
        yield Item("a.md", "a", "a")
        raise FlattenFailed("half way")

    with pytest.raises(FlattenFailed, match="half way"):
        write_corpus(output, items(), 0, {})
    assert output.read_text() == "old"
    assert names(tmp_path) == ["out.jsonl"]


@pytest.mark.parametrize("options", [{}, {"url": "https://h/", "repo": "https://h/r"}, {"url": "u", "max_pages": 0}])
def test_options_that_exclude_each_other(tmp_path, options):
    with pytest.raises(ValueError, match="--"):
        FlattenOptions(tmp_path / "o", **options)


def test_rules_over_names_and_texts():
    assert stable_id("docs/a.md") == "docs/a"
    assert (stable_id("a.c"), stable_id("a.h")) == ("a.c", "a.h")
    assert name_reason("a" * 2000 + ".md", 1, "docs") == "a name that no document can have"
    assert name_reason("a.md", 0, "docs") == "empty"
    assert name_reason("LICENSE", 9, "code") is None
    assert text_reason("LICENSE", "MIT", "code") is not None
    assert text_reason("run", "#!/bin/sh\n", "code") is None


@given(st.text(alphabet=st.sampled_from("ab \n\t\ré"), max_size=120), st.integers(0, 20))
def test_parts_tile_the_text_and_none_is_blank(text, max_chars):
    parts = list(parts_of(text, max_chars))
    assert "".join(content for _, content in parts) == text
    line = 1
    for first_line, content in parts:
        assert first_line == line
        line += content.count("\n")
        assert content.strip() or not text.strip()
        assert max_chars == 0 or len(content.strip("\n\t\r ")) <= max_chars
