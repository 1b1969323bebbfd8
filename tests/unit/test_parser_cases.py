"""The hard cases of real uploads, each through the dispatcher as the service runs it."""

import gzip
from pathlib import Path

import pytest

from common.adapters.dispatch_parser import DispatchParser
from common.adapters.parsers.markdown import parse_markdown
from common.adapters.parsers.text import parse_text
from common.domain.documents import Parsed
from common.domain.errors import DocumentError

CASES = Path(__file__).parents[1] / "corpus" / "files"
PARSER = DispatchParser({"text": parse_text, "markdown": parse_markdown})


def read(case: str, name: str, content_type: str = "") -> Parsed:
    return PARSER.parse((CASES / case / name).read_bytes(), name, content_type)


def text_of(case: str, name: str) -> str:
    return "\n".join(document.text for document in read(case, name).documents)


def code_of(case: str, name: str) -> str:
    with pytest.raises(DocumentError) as caught:
        read(case, name)
    assert caught.value.reason
    assert caught.value.next_step
    return caught.value.code


def test_pda_01_locked_and_broken_files_are_told_apart() -> None:
    assert code_of("PDA-01", "user-password.pdf") == "ENCRYPTED"
    assert code_of("PDA-01", "truncated.pdf") == "CORRUPT"
    assert code_of("PDA-01", "garbage.pdf") == "CORRUPT"


def test_pdb_01_scan_blank_page_and_watermark_are_told_apart() -> None:
    assert code_of("PDB-01", "scan-only.pdf") == "NO_TEXT"
    assert read("PDB-01", "blank-page.pdf").documents == ()
    assert "Low text" in read("PDB-01", "watermark-only.pdf").documents[0].warnings[0]


def test_typ_01_files_are_read_by_what_they_hold() -> None:
    sheet = read("TYP-01", "planilha.docx", "application/msword").documents[0]
    assert "350" in sheet.text
    assert "4200" in sheet.text
    assert "named .docx" in sheet.warnings[0]
    assert "ARIRANHA-412" in text_of("TYP-01", "contrato.bin")
    assert "NESTED-77" in text_of("TYP-01", "reordered.docx")
    page = read("TYP-01", "pagina.pdf", "application/pdf").documents[0]
    assert (page.kind, page.title) == ("html", "404")
    assert "named .pdf" in page.warnings[0]


def test_doc_01_headers_nested_tables_and_merged_cells_are_read_once_and_in_order() -> None:
    text = text_of("DOC-01", "nested-and-header-table.docx")
    assert text.count("Faixa única mesclada") == 1
    places = [text.index(word) for word in ("R-HEADER-55", "Corpo do", "85 Nm", "NESTED-77", "Depois da tabela")]
    assert places == sorted(places)


def test_ppt_01_speaker_notes_are_marked_as_notes_of_their_slide() -> None:
    document = read("PPT-01", "notes.pptx").documents[0]
    note = next(block for block in document.blocks if block.kind == "note")
    assert "NOTES-84" in document.text[note.start : note.end]
    assert document.text[note.start :].startswith("Note of slide 1: ")
    assert note.page == 1


def test_xls_01_formulas_show_their_value_or_themselves() -> None:
    stored = text_of("XLS-01", "formula-with-cache.xlsx")
    assert "valor: 350" in stored
    assert "valor: 4200" in stored
    bare = text_of("XLS-01", "formula-no-cache.xlsx")
    assert "item: total; custo: =SUM(B2:B3)" in bare
    assert "rótulo" in bare


@pytest.mark.parametrize(
    ("name", "marker"),
    [("fragment-no-body.html", "FRAG-31"), ("pre-inline.html", "PRE-32"), ("orphan-close.html", "ORFAO-33")],
)
def test_htm_01_odd_pages_keep_their_text(name: str, marker: str) -> None:
    assert marker in text_of("HTM-01", name)


def test_eml_01_odd_attachments_do_not_lose_the_mail() -> None:
    parsed = read("EML-01", "signed-attachment.eml")
    body, inner = parsed.documents
    assert body.title == "Encaminhado: relatório"
    assert "EML-OK-71" in body.text
    assert "smime.p7s" in " ".join(body.warnings)
    assert (inner.source, inner.text) == ("signed-attachment.eml!/fwd.eml", "Signed inner text INNER-72")


@pytest.mark.parametrize("name", ["bomb-64mb.docx", "xxe.xml", "deep.json"])
def test_sec_01_hostile_files_are_refused_with_a_reason(name: str) -> None:
    assert code_of("SEC-01", name) == "PARSER_LIMIT"


def test_gzp_01_a_gzip_is_read_as_the_file_it_holds() -> None:
    note = read("GZP-01", "ata.md").documents[0]
    assert "GZ-OK-1" in note.text
    assert note.source == "ata.md"
    table = read("GZP-01", "dados.csv.gz").documents[0]
    assert "GZ-CSV-2" in table.text
    assert (table.kind, table.source) == ("csv", "dados.csv.gz")


@pytest.mark.parametrize("name", ["zero.txt", "zero.pdf", "zero.docx", "only-bom.txt", "only-space.md"])
def test_emp_01_nothing_is_an_empty_document(name: str) -> None:
    assert read("EMP-01", name).documents == ()


def refusal(data: bytes, name: str) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        PARSER.parse(data, name)
    return caught.value


@pytest.mark.parametrize(
    ("data", "name", "code"),
    [
        (b"PK\x05\x06" + b"\x00" * 18, "a.zip", "UNSUPPORTED"),
        (b"7z\xbc\xaf\x27\x1c", "a.7z", "UNSUPPORTED"),
        (b"\x00" * 257 + b"ustar" + b"\x00" * 300, "a.tar", "UNSUPPORTED"),
        (b"\x89PNG\r\n\x1a\n", "a.png", "NO_TEXT"),
        (b"\x7fELF\x00", "a", "UNSUPPORTED"),
        (b"-----BEGIN PGP MESSAGE-----\nx", "a.asc", "ENCRYPTED"),
        (b"\x01\x02\x00\x03", "a", "UNSUPPORTED"),
        (b"PK\x03\x04 word/ broken", "a.docx", "CORRUPT"),
        (gzip.compress(b"x" * 20_000_000), "a.gz", "PARSER_LIMIT"),
        (gzip.compress(b"texto")[:-9], "a.gz", "CORRUPT"),
        (gzip.compress(gzip.compress(b"texto")), "a.gz", "UNSUPPORTED"),
    ],
)
def test_what_is_not_read_says_why_and_what_to_do(data: bytes, name: str, code: str) -> None:
    error = refusal(data, name)
    assert error.code == code
    assert error.reason.endswith(".")
    assert error.next_step.endswith(".")


def test_binary_data_under_a_text_name_is_never_text() -> None:
    assert refusal(b"a\x00\x01\x02b", "a.txt").code in {"BAD_ENCODING", "UNSUPPORTED"}


def test_mails_in_mails_are_opened_only_so_deep() -> None:
    data = b"Subject: fundo\n\nfim\n"
    for depth in range(5):
        mark = b"b%d" % depth
        head = b"Subject: %s\nContent-Type: multipart/mixed; boundary=%s\n\n--%s\n\ncorpo\n--%s\n" % ((mark,) * 4)
        part = b"Content-Type: message/rfc822\nContent-Disposition: attachment; filename=m.eml\n\n"
        data = head + part + data + b"\n--%s--\n" % mark
    parsed = PARSER.parse(data, "a.eml")
    sources = [document.source for document in parsed.documents]
    assert sources == ["a.eml", "a.eml!/m.eml", "a.eml!/m.eml!/m.eml", "a.eml!/m.eml!/m.eml!/m.eml"]
    assert "3 deep" in " ".join(parsed.documents[-1].warnings)


def test_a_picture_is_read_where_recognition_is_on() -> None:
    parser = DispatchParser({"text": parse_text}, recognise=lambda _: "placa 12\n\nsaída")
    document = parser.parse(b"\x89PNG\r\n\x1a\n", "foto.png").documents[0]
    assert (document.kind, document.text) == ("picture", "placa 12\n\nsaída")
