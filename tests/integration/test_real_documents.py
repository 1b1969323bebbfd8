"""Real documents, each through the sandbox: every one is read or refused with a reason, none reaches the network.

The worker's audit hook turns any attempt to connect into an INTERNAL failure, so none of those proves that none tried.
"""

import importlib.util
import os
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.adapters.sandbox_parser import SandboxParser
from common.domain.documents import Parsed
from common.domain.errors import DocumentError

HERE = Path(__file__).parent
SHARED = Path(os.environ.get("KB_SHARED_DATA", HERE.parents[1].parent / "shared" / "data")) / "docs"
# Read where LibreOffice and unstructured are installed, refused elsewhere.
LEGACY = {"office/unstructured/fake-doc-emphasized-text.doc", "office/unstructured/fake-power-point.ppt"}
READS_LEGACY = shutil.which("soffice") is not None and importlib.util.find_spec("unstructured") is not None
FILES = sorted(
    str(path.relative_to(SHARED))
    for path in SHARED.glob("*/**/*")
    if path.is_file() and "LICENSES" not in path.parts and path.name != "SOURCES.md"
)
MIB = 1024 * 1024

pytestmark = pytest.mark.skipif(not FILES, reason="the real documents are not on this machine (KB_SHARED_DATA)")

REFUSED = {
    "office/unstructured/password_protected.xlsx": "ENCRYPTED",
    "pdf/unstructured/password.pdf": "ENCRYPTED",
    "pdf/docling/2206.01062_pg3.pdf": "ENCRYPTED",
    "pdf/py-pdf/libreoffice-writer-password.pdf": "ENCRYPTED",
    "mail/unstructured/fake-encrypted.eml": "ENCRYPTED",
    "mail/unstructured/mime-no-body.eml": "NO_TEXT",
    "pdf/unstructured/loremipsum-flat.pdf": "NO_TEXT",
    "pdf/unstructured/single_table.pdf": "NO_TEXT",
    "pdf/docling/nemotron_multipage.pdf": "NO_TEXT",
    "pdf/docling/ocr_test_rotated_90.pdf": "NO_TEXT",
    "pdf/docling/sample_with_rotation_mismatch.pdf": "NO_TEXT",
    "pdf/haystack/non_text_searchable.pdf": "NO_TEXT",
    "text/markitdown/test_mskanji.csv": "BAD_ENCODING",
}
EMPTY = {
    "office/unstructured/empty.xlsx",
    "mail/unstructured/empty.eml",
    "text/unstructured/empty.txt",
    "text/unstructured/fake-text-all-whitespace.txt",
}
if not READS_LEGACY:
    REFUSED |= dict.fromkeys(LEGACY, "UNSUPPORTED")
HOLDS = {
    "office/unstructured/docx-tables.docx": ["| d | e, f; g&t, h | i |", "| Lorem ipsum | A link example |"],
    "office/unstructured/docx-hdrftr.docx": ["First header para", "Main document", "para1"],
    "office/unstructured/tables-with-incomplete-rows.docx": ["|  | c | d |", "| e |  |  | f |"],
    "office/unstructured/teams_chat.docx": ["0:0:3.270 --> 0:0:4.250\nJames Bond\nUmm."],
    "office/unstructured/eng_spa_mult.doc": ["Todos los seres humanos"],
    "office/unstructured/eng_spa_mult.epub": ["Todos los seres humanos"],
    "office/unstructured/tests-example.xls": ["Question Type: Multiple Choice"],
    "office/unstructured/stanley-cups.xlsx": ["Team: Maple Leafs; Location: TOR; Stanley Cups: 13"],
    "office/unstructured/emoji.xlsx": ["🤠😅"],
    "office/unstructured/fake-power-point-malformed.pptx": ["Test Slide", "Problem Date Placeholder"],
    "office/unstructured/fake-doc.rtf": ["| Row 1, Cell 1 | Row 1, Cell 2 |"],
    "office/unstructured/fake.odt": ["| Leader | Sarah | Mark | Ryan |"],
    "office/docling/Strict.docx": ["Some text"],
    "office/docling/drawingml.docx": ["Text 1", "Torque v/s Speed"],
    "office/docling/docx_comments.docx": ["Comment by Jane Editor: Another comment"],
    "office/docling/equations.docx": ["inline equation: A=πr^2 ."],
    "office/docling/xlsx_06_edge_cases_.xlsx": ["Column A: Overview; Sub-category: Purpose"],
    "office/docling/xlsx_07_gap_tolerance_.xlsx": ["2 | Rated system frequency | Hz | : | 134"],
    "office/docling/odf_presentation_01.odp": ["Note of slide 2: Some notes"],
    "office/docling/odf_table_with_title_01.ods": ["Year: 2021; Freshwater Ducks: 150"],
    "office/docling/powerpoint_sample.pptx": [
        "A rectangle shape with this text inside.",
        "Note of slide 3: Final notes",
    ],
    "office/markitdown/test.pptx": [
        "2cdda5c8-e50e-4db4-b5f0-9722a649f455",
        "This is a nested shape",
        "| 2001 | 2001 |",
    ],
    "office/markitdown/test.xls": ["ColD: affc7dad-52dc-4b98-9b5d-51e65d8a8ad0"],
    "office/markitdown/rlink.docx": ["Testing Linked Images"],
    "pdf/unstructured/fake-bold-sample.pdf": ["BOLD TEXT SAMPLE"],
    "pdf/unstructured/figure-overlay-text.pdf": ["Printed Name: Jane Doe"],
    "pdf/unstructured/all-number-table.pdf": ["200.01 1\n400.01 3\n600.01 5"],
    "pdf/unstructured/rotated-page-90.pdf": ["Second line of text here"],
    "pdf/unstructured/header-test-doc.pdf": ["Here is a lovely sentences."],
    "pdf/docling/bookmark_sample.pdf": ["### 3.1 Payment Schedule"],
    "pdf/docling/code_and_formula.pdf": ["function add(a, b) {\nreturn a + b;\n}"],
    "pdf/docling/right_to_left_01.pdf": ["البرمجة"],
    "pdf/markitdown/movie-theater-booking-2024.pdf": ["Customer ID: CUST-98765", "December 2024 48 $12,500.00"],
    "pdf/markitdown/SPARSE-2024-INV-1234_borderless_table.pdf": ["SKU-9201 Hardware $32.50 $25,285.00 2024-10-22"],
    "pdf/py-pdf/multicolumn.pdf": ["consectetuer adipiscing elit"],
    "pdf/py-pdf/annotated_pdf.pdf": ["Note on page 1: This is a text annotation."],
    "pdf/py-pdf/reportlab-overlay.pdf": ["Name: Foo Bar"],
    "mail/unstructured/mime-word-encoded-subject.eml": ["☸☿"],
    "mail/unstructured/fake-email-utf-16-le.eml": ["Roses are red"],
    "mail/unstructured/signed-doc.p7s": ["This is a test"],
    "mail/docling/msg_simple.msg": ["This is a simple email body."],
    "mail/docling/eml_with_attachment.eml": ["It contains some dummy content."],
    "web/unstructured/fake-html-cp1252.html": ["ñoquis", "João"],
    "web/unstructured/factbook-utf-16.xml": ["country > capital: Ottawa"],
    "web/docling/html_description_list.html": ["Coffee: Black hot drink"],
    "web/docling/html_rich_table_cells.html": ["| Teal | Pond; Marsh; Riverbank |"],
    "web/docling/kvp_data_example.html": ["Telephone (123) 456-7890"],
    "text/unstructured/csv-with-line-delimiter.csv": ["col1: d; col2: e; col3: f"],
    "text/unstructured/table-semicolon-delimiter.csv": ["Revenue: 143,1; Costs: -814,38"],
    "text/unstructured/semicolon-delimited.csv": ["dolor sit: et, dolore"],
    "text/docling/webvtt_example_03.vtt": ["Speaker B: I was also thinking."],
}
# So short that its letters may be uncertain: right or refused, never wrong.
UNCERTAIN = {"text/unstructured/umlauts-non-utf8.md": "können"}
LACKS = {
    "web/markitdown/test_blog.html": ["function(", "window."],
    "web/docling/wiki_duck.html": ["Afrikaans", "Toggle the table"],
    "mail/unstructured/mime-multi-to-cc-bcc.eml": ["Bcc"],
    "office/docling/xlsx_04_inflated.xlsx": ["Sheet4"],
    "text/docling/webvtt_example_03.vtt": ["-->"],
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SandboxParser]:
    parser = SandboxParser("document_parsers:everything", paths=(str(HERE),))
    yield parser
    parser.close()


def read(sandbox: SandboxParser, file: str) -> Parsed:
    return sandbox.parse((SHARED / file).read_bytes(), file)


@pytest.mark.parametrize("file", sorted(UNCERTAIN))
def test_letters_are_right_or_refused(sandbox: SandboxParser, file: str) -> None:
    try:
        outcome = read(sandbox, file).documents[0].text
    except DocumentError as error:
        outcome = error.code
    assert outcome == "BAD_ENCODING" or UNCERTAIN[file] in outcome


@pytest.mark.parametrize("file", sorted(set(FILES) - set(UNCERTAIN)))
def test_a_real_document_is_read_whole_or_refused_with_a_reason(sandbox: SandboxParser, file: str) -> None:
    if file in REFUSED:
        with pytest.raises(DocumentError) as caught:
            read(sandbox, file)
        assert caught.value.code == REFUSED[file]
        assert caught.value.reason
        assert caught.value.next_step
        return
    parsed = read(sandbox, file)
    assert bool(parsed.documents) == (file not in EMPTY)
    for document in parsed.documents:
        assert document.source.startswith(file)
        assert document.title
        assert not set(document.text) & set("\x00\ufffd")
        end = 0
        for block in document.blocks:
            assert end <= block.start < block.end <= len(document.text)
            end = block.end
        assert not document.paged or all(block.page for block in document.blocks)
    text = "\n".join(document.text for document in parsed.documents)
    for words in HOLDS.get(file, []):
        assert unicodedata.normalize("NFC", words) in text
    for words in LACKS.get(file, []):
        assert words not in text


def test_every_expectation_names_a_file_that_is_there() -> None:
    assert {*REFUSED, *EMPTY, *LEGACY, *HOLDS, *LACKS} <= set(FILES)


def test_headings_of_a_long_document_form_paths(sandbox: SandboxParser) -> None:
    document = read(sandbox, "office/unstructured/handbook-872p.docx").documents[0]
    paths = {block.headings for block in document.blocks}
    assert max(map(len, paths)) >= 3
    assert len(document.text) > 800_000


def test_pages_are_those_of_the_file_though_one_is_blank(sandbox: SandboxParser) -> None:
    document = read(sandbox, "pdf/haystack/sample_pdf_1.pdf").documents[0]
    last = document.blocks[-1]
    assert last.page == 4
    assert "page 3 is empty" in document.text[last.start : last.end]


def test_the_worker_stays_small(sandbox: SandboxParser) -> None:
    for file in ("office/unstructured/handbook-872p.docx", "pdf/py-pdf/GeoTopo-komprimiert.pdf"):
        read(sandbox, file)
    worker = sandbox._worker
    assert worker is not None
    status = Path(f"/proc/{worker._process.pid}/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
    assert peak < 512 * MIB
