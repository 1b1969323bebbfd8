"""EPUB: the chapters of its reading order as one document, headings kept."""

import posixpath
from urllib.parse import unquote

from common.adapters.parsers.build import TextBuilder
from common.adapters.parsers.decoding import decode_text
from common.adapters.parsers.html import GENERIC_TITLES, add_html
from common.adapters.parsers.limits import BoundedZip, Limits
from common.adapters.parsers.ooxml import Element, attribute, child, children, descendants, parse_xml
from common.adapters.parsers.refusals import corrupt, encrypted
from common.domain.documents import Parsed

_PAGES = {"application/xhtml+xml", "text/html", "application/x-dtbook+xml"}
_PROTECTIONS = (b"http://ns.adobe.com/adept", b"www.w3.org/2001/04/xmlenc#aes")


def parse_epub(data: bytes, name: str, limits: Limits) -> Parsed:
    """One document. Raises DocumentError CORRUPT, ENCRYPTED, PARSER_LIMIT."""
    book = BoundedZip(data, "EPUB book", limits)
    rights = (book.read("META-INF/encryption.xml") or b"") + (book.read("META-INF/rights.xml") or b"")
    if any(mark in rights for mark in _PROTECTIONS):
        raise encrypted("EPUB book")
    path = _package_path(book)
    package = parse_xml(book.read(path) or b"", "EPUB book")
    builder = TextBuilder("EPUB book", characters=limits.characters)
    for page in _reading_order(package, posixpath.dirname(path)):
        content = book.read(page)
        if content is None:
            builder.warn(f"The chapter {page} is missing from the book.")
        else:
            add_html(builder, decode_text(content))
    if builder.empty:
        return Parsed((), tuple(builder.warnings))
    title = next((part.text or "" for part in descendants(package, "title")), "")
    generic = title.strip().lower() in GENERIC_TITLES
    return Parsed((builder.document(name, "epub", title="" if generic else title),))


def _package_path(book: BoundedZip) -> str:
    container = book.read("META-INF/container.xml")
    if container is not None:
        for entry in descendants(parse_xml(container, "EPUB book"), "rootfile"):
            path = attribute(entry, "full-path")
            if path in book:
                return path
    path = next((entry for entry in book.names if entry.endswith(".opf")), "")
    if not path:
        raise corrupt("EPUB book", "its package document is missing")
    return path


def _reading_order(package: Element, folder: str) -> list[str]:
    """The pages of the spine, without the table of contents that reading systems build their menu from."""
    manifest = {attribute(item, "id"): item for item in children(child(package, "manifest"), "item")}
    pages: list[str] = []
    for entry in children(child(package, "spine"), "itemref"):
        item = manifest.get(attribute(entry, "idref"))
        if item is None or attribute(item, "media-type") not in _PAGES or attribute(item, "properties") == "nav":
            continue
        pages.append(posixpath.normpath(posixpath.join(folder, unquote(attribute(item, "href")))))
    return pages
