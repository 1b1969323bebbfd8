"""Kinds by content: names and content types decide nothing that the bytes decide."""

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.adapters.parsers.sniff import sniff, wide_encoding

NAMES = """
    pdf docx pptx workbook odt odp epub msg doc ppt rtf html mail xml json jsonl csv tsv rst org subtitles markdown
    code text encrypted zip 7z rar tar bzip2 xz zstd image media program database font pgp signature ole visio binary
    gzip empty
"""
KINDS = set(NAMES.split())


def zipped(*names: str, mimetype: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        if mimetype:
            archive.writestr("mimetype", mimetype)
        for name in names:
            archive.writestr(name, "<x/>")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"", "a.pdf", "empty"),
        (b"%PDF-1.7\n", "a.bin", "pdf"),
        (b"\n\n%PDF-1.4", "a.txt", "pdf"),
        (zipped("[Content_Types].xml", "word/document.xml"), "a.xlsx", "docx"),
        (zipped("xl/workbook.xml", "[Content_Types].xml"), "a.docx", "workbook"),
        (zipped("[Content_Types].xml", "ppt/presentation.xml"), "a.zip", "pptx"),
        (zipped("content.xml", mimetype="application/vnd.oasis.opendocument.text"), "a", "odt"),
        (zipped("content.xml", mimetype="application/vnd.oasis.opendocument.spreadsheet"), "a", "workbook"),
        (zipped("META-INF/container.xml", mimetype="application/epub+zip"), "a", "epub"),
        (zipped("a.txt", "notes/word/x.txt", "b", "c", "d"), "a.docx", "zip"),
        (b"{\\rtf1 x}", "a.doc", "rtf"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "a.xlsx", "encrypted"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le"), "a", "doc"),
        (b"\x1f\x8b\x08rest", "a.csv", "gzip"),
        (b"7z\xbc\xaf\x27\x1crest", "a.txt", "7z"),
        (b"\x89PNG\r\n\x1a\nrest", "a.md", "image"),
        (b"\x00" * 257 + b"ustar", "a.md", "tar"),
        (b"<!doctype html><p>x", "a.pdf", "html"),
        ("\ufeff<html><p>x".encode(), "a.bin", "html"),
        ("<html><p>x".encode("utf-16"), "a.bin", "html"),
        (b"<!-- c --><html>", "a", "html"),
        (b"<p>fragment", "a.html", "html"),
        (b"<!doctype html>", "a.md", "markdown"),
        (b"<!doctype html>", "a.php", "code"),
        (b"<?xml version='1.0'?><a/>", "a.dat", "xml"),
        (b'{"a": 1}', "dados", "json"),
        (b"From: a\nTo: b\nSubject: c\nDate: d\n\nx", "a", "mail"),
        (b"From: a\nTo: b\nSubject: c\n\nx", "a.md", "markdown"),
        (b"Subject: c\n\nx", "a.eml", "mail"),
        (b"Nota: isto\nOutra: coisa\n", "a.txt", "text"),
        (b"a,b\n1,2", "a.csv", "csv"),
        (b"x = 1", "a.py", "code"),
        (b"texto", "a", "text"),
        (b"a\x00\x01\x02b", "a", "binary"),
        (b"-----BEGIN PGP MESSAGE-----\n", "a.txt", "pgp"),
    ],
)
def test_a_kind_is_told_by_content(data: bytes, name: str, kind: str) -> None:
    assert sniff(data, name) == kind


def test_the_content_type_helps_only_where_name_and_content_say_nothing() -> None:
    assert sniff(b"a,b\n1,2", "dados", "text/csv; charset=utf-8") == "csv"
    assert sniff(b"a,b\n1,2", "dados.md", "text/csv") == "markdown"
    assert sniff(b"%PDF-1.7", "dados", "text/csv") == "pdf"


@given(st.binary(max_size=300), st.sampled_from(["a", "a.pdf", "a.docx", "a.md", "a.eml", "a.json", "a.html"]))
def test_any_bytes_have_a_kind(data: bytes, name: str) -> None:
    assert sniff(data, name) in KINDS


@given(st.text(alphabet=st.characters(max_codepoint=0xFF, min_codepoint=0x20), min_size=8, max_size=60))
def test_latin_text_in_wide_encodings_is_seen_without_a_mark(text: str) -> None:
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        assert wide_encoding(text.encode(encoding)) == encoding


@given(st.text(min_size=1).filter(lambda text: "\x00" not in text))
def test_utf_8_is_never_taken_for_a_wide_encoding(text: str) -> None:
    assert wide_encoding(text.encode()) is None
