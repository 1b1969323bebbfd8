"""Hard cases of files, each ingested into a base of its own through the real parser process, and asked for."""

import json
from pathlib import Path

import pytest

from common.bootstrap import local_runtime
from common.domain.search import Search
from common.loading import WorkerParser
from common.reading import document_parser
from common.settings import read_settings
from functions.local.workers import drain
from tests.integration.one_machine import BASE, HashingEmbedder

FILES = Path(__file__).parents[1] / "corpus" / "files"
CODE = Path(__file__).parents[1] / "corpus" / "code"


@pytest.fixture(scope="module")
def reader():
    worker = WorkerParser("off")
    yield worker
    worker.close()


@pytest.fixture
def runtime(tmp_path, reader):
    settings = read_settings({"KB_DATA_DIR": str(tmp_path / "data"), "KB_CACHE_TTL": "0"})
    opened = local_runtime(settings, embedder=HashingEmbedder(), parser=reader)
    yield opened
    opened.close()


def bring_in(runtime, *paths):
    """The jobs of these files by name, once they are terminal."""
    jobs = {p.name: runtime.manage.upload(BASE, p.name, p.read_bytes(), "")["job_id"] for p in paths}
    drain(runtime)
    return {name: runtime.catalog.job(BASE, job_id) for name, job_id in jobs.items()}


def found(runtime, words):
    """The sources whose passages hold the words, and those passages."""
    answer = runtime.answers.answer(BASE, Search(words, threshold=None, mode="lexical", top_k=50))
    return [p for p in answer.passages if words.casefold() in p.text.casefold()]


MARKERS = [
    ("DOC-01/nested-and-header-table.docx", ["R-HEADER-55", "85 Nm", "NESTED-77"]),
    ("PPT-01/notes.pptx", ["NOTES-84"]),
    ("XLS-01/formula-with-cache.xlsx", ["350", "4200"]),
    ("HTM-01/fragment-no-body.html", ["FRAG-31"]),
    ("HTM-01/pre-inline.html", ["PRE-32"]),
    ("HTM-01/orphan-close.html", ["ORFAO-33"]),
    ("EML-01/signed-attachment.eml", ["EML-OK-71"]),
    ("TYP-01/planilha.docx", ["350", "4200"]),
    ("TYP-01/contrato.bin", ["ARIRANHA-412"]),
    ("TYP-01/reordered.docx", ["NESTED-77"]),
    ("FMT-01/bare-dates.md", ["DATA-1"]),
    ("FMT-01/rules-in-body.md", ["REGUA-2"]),
    ("FMT-01/no-frontmatter-rules.md", ["REGUA-3"]),
    ("FMT-01/dashed-banner.md", ["não é front matter", "BANNER-4"]),
    ("CHS-01/base64-oneword.md", ["ANTES-1", "DEPOIS-2"]),
    ("TOK-01/tokens-na-doc.md", ["endoftext"]),
    ("SEC-01/redos.md", ["RAPIDO-3"]),
]


@pytest.mark.parametrize(("name", "markers"), MARKERS, ids=[name for name, _ in MARKERS])
def test_what_a_file_says_is_found(runtime, name, markers):
    path = FILES / name
    job = bring_in(runtime, path)[path.name]
    assert job.state == "indexed"
    for marker in markers:
        assert found(runtime, marker), marker


REFUSED = [
    ("EMP-01/zero.txt", "empty", None),
    ("EMP-01/zero.pdf", "empty", None),
    ("EMP-01/zero.docx", "empty", None),
    ("EMP-01/only-bom.txt", "empty", None),
    ("EMP-01/only-space.md", "empty", None),
    ("EMP-01/only-frontmatter.md", "empty", None),
    ("PDA-01/user-password.pdf", "failed", "ENCRYPTED"),
    ("PDA-01/truncated.pdf", "failed", "CORRUPT"),
    ("PDA-01/garbage.pdf", "failed", "CORRUPT"),
    ("PDB-01/scan-only.pdf", "failed", "NO_TEXT"),
    ("PDB-01/blank-page.pdf", "empty", None),
    ("CHS-01/minified.js", "skipped", "UNSUPPORTED"),
    ("SEC-01/bomb-64mb.docx", "failed", "PARSER_LIMIT"),
    ("SEC-01/deep.json", "failed", "PARSER_LIMIT"),
    ("SEC-01/xxe.xml", "failed", "PARSER_LIMIT"),
]


@pytest.mark.parametrize(("name", "state", "code"), REFUSED, ids=[name for name, _, _ in REFUSED])
def test_what_cannot_be_read_says_so_and_is_not_tried_again(runtime, name, state, code):
    path = FILES / name
    job = bring_in(runtime, path)[path.name]
    assert (job.state, job.code, job.attempts) == (state, code, 1)
    assert job.reason
    assert job.next_step
    assert runtime.queue.waiting("kb-events") == 0
    assert runtime.catalog.totals(BASE).passages == 0


def test_a_scan_names_the_way_to_its_text(runtime):
    job = bring_in(runtime, FILES / "PDB-01" / "scan-only.pdf")["scan-only.pdf"]
    assert "tesseract" in f"{job.reason} {job.next_step}".lower()


def test_a_watermark_alone_is_flagged(runtime):
    job = bring_in(runtime, FILES / "PDB-01" / "watermark-only.pdf")["watermark-only.pdf"]
    assert job.warnings


def test_lines_of_a_corpus_are_documents_and_bad_ones_are_named():
    """JSL-01: what cannot be read is counted by its line, everything else is there."""
    lines = [
        '\ufeff{"id": 7, "source": "a.md", "content": "# A\\n\\nJL-1 primeiro"}',
        "",
        '{"source": "b.md", "content": "JL-2"',
        '["not", "an", "object"]',
        '{"source": "../c.md", "content": "JL-3"}',
        '{"source": "d.md", "content": ""}',
        '{"source": "a.md", "content": "JL-4 segundo"}',
        '{"source": "e.md", "content": "um\u2028dois JL-5"}',
    ]
    parsed = document_parser().parse("\n".join(lines).encode(), "corpus.jsonl")
    assert [d.source for d in parsed.documents] == ["a.md", "e.md"]
    first = parsed.documents[0]
    assert "JL-1" in first.text
    assert "JL-4" in first.text
    assert first.external_id == "7"
    told = " ".join(parsed.warnings)
    assert all(f"line {number} " in told for number in (3, 4, 5, 6))
    assert "line 2 " not in told


def test_blocks_of_infrastructure_and_decorated_code_are_whole():
    """COD-01: shell quotes in a heredoc and code in strings mislead nobody."""
    terraform = (
        'resource "aws_eks_cluster" "main" {\n  name = "k"\n  user_data = <<-EOT\n    echo "it\'s {"\n'
        '    resource "fake" "block" {\n  EOT\n}\n\nvariable "x" {\n  default = "}" # }\n}\n'
    )
    document = document_parser().parse(terraform.encode(), "main.tf").documents[0]
    symbols = [terraform[b.start : b.end] for b in document.blocks if b.kind == "symbol"]
    assert [s.splitlines()[0] for s in symbols] == ['resource "aws_eks_cluster" "main" {', 'variable "x" {']
    assert any("aws_eks_cluster.main" in b.headings[-1] for b in document.blocks if b.headings)
    python = (
        '@route("/x")\n@cached\ndef handle():\n    """def fake(): pass"""\n    return 1\n\n\ndef other():\n    pass\n'
    )
    document = document_parser().parse(python.encode(), "a.py").documents[0]
    units = [python[b.start : b.end] for b in document.blocks if b.kind == "symbol"]
    assert [u.splitlines()[0] for u in units] == ['@route("/x")', "def other():"]


def test_the_links_of_a_vault_are_its_graph(runtime):
    """WIK-01: an escaped bar in a table is no part of the target, code holds no links."""
    bring_in(runtime, *sorted((FILES / "WIK-01").glob("*.md")))
    expected = json.loads((FILES / "WIK-01" / "expected.json").read_text(encoding="utf-8"))
    for source in expected["links"]:
        answered = runtime.listing.links(BASE, source)
        for part in ("links", "backlinks", "unresolved", "attachments"):
            assert sorted(answered[part]) == sorted(expected[part].get(source, [])), (source, part)
