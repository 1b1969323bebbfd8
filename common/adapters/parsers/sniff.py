"""Tells what a file is from its bytes; its name and content type break ties between kinds of text, nothing more."""

import io
import re
import zipfile
from typing import Final

from common.adapters.parsers.names import text_kind
from common.domain.languages import extension

_MAGIC: Final = (
    (b"{\\rtf", "rtf"),
    (b"PK\x05\x06", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
    (b"II*\x00", "image"),
    (b"MM\x00*", "image"),
    (b"\x00\x00\x01\x00", "image"),
    (b"ID3", "media"),
    (b"OggS", "media"),
    (b"fLaC", "media"),
    (b"\x1aE\xdf\xa3", "media"),
    (b"\x7fELF", "program"),
    (b"\xca\xfe\xba\xbe", "program"),
    (b"\x00asm", "program"),
    (b"SQLite format 3\x00", "database"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
    (b"\x00\x01\x00\x00", "font"),
    (b"OTTO", "font"),
    (b"-----BEGIN PGP MESSAGE", "pgp"),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OOXML = {"word/": "docx", "ppt/": "pptx", "xl/": "workbook", "visio/": "visio"}
_ODF = {"text": "odt", "spreadsheet": "workbook", "presentation": "odp", "graphics": "odp"}
_HTML = re.compile(
    rb"(?:\s|<\?xml[^>]{0,200}\?>|<!--.{0,4000}?-->)*<(?:!doctype\s+html|html|head|body)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_XML = re.compile(rb"\s*<\?xml\s", re.IGNORECASE)
_HEADER = re.compile(rb"[!-9;-~]{1,76}:(?:[ \t][^\n]*|\r?)\n")
_STRONG = (
    b"message-id",
    b"mime-version",
    b"received",
    b"return-path",
    b"delivered-to",
    b"from",
    b"subject",
    b"date",
    b"to",
)
_STRONG_NEEDED = 3
_HEAD = 4096
# A page named like one of these is source that holds markup, whatever it begins with.
_MARKUP_SOURCES = frozenset({"code", "markdown", "rst", "org", "jsonl", "json", "csv", "tsv"})
_BOMS = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")


def sniff(data: bytes, name: str, content_type: str = "") -> str:
    """The kind of file: `pdf docx pptx workbook odt odp epub msg doc ppt rtf html mail xml json jsonl csv tsv rst org
    subtitles markdown code text`, one that is refused (`encrypted zip 7z rar tar bzip2 xz zstd image media program
    database font pgp signature ole visio binary`), `gzip`, or `empty`.
    """
    if not data:
        return "empty"
    head = data[:_HEAD]
    kind = _container(data, head)
    return kind or _text(data, head, text_kind(name, content_type), extension(name))


def _container(data: bytes, head: bytes) -> str | None:
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(_OLE):
        return _ole(data)
    if head.startswith(b"PK\x03\x04"):
        return _zip(data)
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return _placed_magic(head)


def _placed_magic(head: bytes) -> str | None:
    """Kinds whose mark does not stand alone at the beginning."""
    if head[257:262] == b"ustar":
        return "tar"
    if head[:4] == b"RIFF":
        return "image" if head[8:12] == b"WEBP" else "media"
    if head[4:8] == b"ftyp":
        return "image" if head[8:11] in {b"hei", b"mif", b"avi"} else "media"
    if head[:2] == b"MZ" and b"\x00" in head:
        return "program"
    if head[:2] == b"\x30\x82" and b"\x2a\x86\x48\x86\xf7\x0d\x01\x07" in head[:64]:
        return "signature"
    return None


def _zip(data: bytes) -> str:
    """Which zip-based format it is, by its members; a damaged one by the names that its bytes still show."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            declared = archive.read("mimetype")[:200].decode("ascii", "replace") if "mimetype" in names else ""
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, RuntimeError):
        names = [part for part in _OOXML if part.encode() in data]
        declared = "application/epub+zip" if b"application/epub+zip" in data[:200] else ""
    if declared.startswith("application/epub"):
        return "epub"
    if declared.startswith("application/vnd.oasis.opendocument."):
        return _ODF.get(declared.rsplit(".", 1)[1].split("-")[0], "zip")
    names = [name.replace("\\", "/").lower() for name in names]
    packaged = "[content_types].xml" in names or "_rels/.rels" in names or len(names) <= len(_OOXML)
    for prefix, kind in _OOXML.items():
        if packaged and any(name.startswith(prefix) for name in names):
            return kind
    if "meta-inf/container.xml" in names:
        return "epub"
    return "zip"


def _ole(data: bytes) -> str:
    """Which OLE compound file it is, by the UTF-16 names in its directory."""
    directory = {
        "EncryptedPackage": "encrypted",
        "__substg1.0_": "msg",
        "WordDocument": "doc",
        "PowerPoint Document": "ppt",
        "Workbook": "workbook",
        "Book": "workbook",
    }
    for stream, kind in directory.items():
        if stream.encode("utf-16-le") in data:
            return kind
    return "ole"


def _text(data: bytes, head: bytes, named: str | None, suffix: str) -> str:
    if head[:2] in {b"\xff\xfe", b"\xfe\xff"} or b"\x00" in head:
        return _wide(data, head, named)
    body = head.removeprefix(b"\xef\xbb\xbf")
    if named not in _MARKUP_SOURCES and _HTML.match(body):
        return "html"
    if named not in {*_MARKUP_SOURCES, "html"} and _XML.match(body):
        return "xml"
    if _is_mail(body, named, suffix):
        return "mail"
    if named is None and (data.lstrip()[:1] in {b"{", b"["} and data.rstrip()[-1:] in {b"}", b"]"}):
        return "json"
    return "text" if named is None or named == "mail" else named


def _wide(data: bytes, head: bytes, named: str | None) -> str:
    """Text of two or four bytes per character, or no text at all."""
    encoding = wide_encoding(data)
    if encoding is None:
        return "binary" if named is None else named
    text = head[: len(head) // 4 * 4].decode(encoding, "ignore").lstrip("\ufeff").encode("utf-8", "ignore")
    if named not in _MARKUP_SOURCES and _HTML.match(text):
        return "html"
    if named not in _MARKUP_SOURCES and (_XML.match(text) or named == "xml"):
        return "xml"
    if _is_mail(text, named, ""):
        return "mail"
    return "text" if named is None or named == "mail" else named


def wide_encoding(data: bytes) -> str | None:
    """`utf-16` or `utf-32` with byte order where a byte order mark or the pattern of zero bytes shows it, else None."""
    if data.startswith(_BOMS[:2]):
        return "utf-32"
    if data.startswith(_BOMS[2:4]):
        return "utf-16"
    head = data[: _HEAD // 4 * 4]
    if len(head) < 4:  # noqa: PLR2004 - one code unit of UTF-32
        return None
    zeros = [head[offset::4].count(0) / max(len(head[offset::4]), 1) for offset in range(4)]
    few, many = 0.05, 0.7
    if zeros[0] < few and min(zeros[1:]) > many:
        return "utf-32-le"
    if zeros[3] < few and min(zeros[:3]) > many:
        return "utf-32-be"
    if max(zeros[0], zeros[2]) < few and min(zeros[1], zeros[3]) > many:
        return "utf-16-le"
    if max(zeros[1], zeros[3]) < few and min(zeros[0], zeros[2]) > many:
        return "utf-16-be"
    return None


def _is_mail(head: bytes, named: str | None, suffix: str) -> bool:
    if named not in {None, "mail", "text"}:
        return False
    names: list[bytes] = []
    position = 0
    if head.startswith(b"From "):
        position = head.find(b"\n") + 1
    while match := _HEADER.match(head, position):
        names.append(match[0].split(b":")[0].lower())
        position = match.end()
        while head[position : position + 1] in {b" ", b"\t"} and b"\n" in head[position:]:
            position = head.index(b"\n", position) + 1
    known = [name for name in names if name in _STRONG]
    if named == "mail" or suffix == "p7s":
        return bool(known) or b"content-type" in names
    return len(set(known)) >= _STRONG_NEEDED and known[0] in names[:1]
