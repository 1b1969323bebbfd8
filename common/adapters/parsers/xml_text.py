"""XML as a document: leaves with the path that names them, one line each, a block per record; entities stay out."""

from collections.abc import Iterator

from lxml import etree

from common.adapters.parsers.build import TextBuilder, one_line
from common.adapters.parsers.decoding import decode_text
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.ooxml import Element, local, parse_xml
from common.adapters.parsers.sniff import wide_encoding
from common.domain.documents import Parsed

_SCHEMA = "{http://www.w3.org/2001/XMLSchema"
_GROUPED = 40  # leaves per block at most


def parse_xml_document(data: bytes, name: str, limits: Limits) -> Parsed:
    """One document: `path: value` per leaf, a block per record. Raises DocumentError CORRUPT, PARSER_LIMIT."""
    root = parse_xml(_utf8(data), "XML document")
    builder = TextBuilder("XML document", characters=limits.characters)
    if any(isinstance(part, etree._Entity) for part in root.iter()):  # noqa: SLF001 - lxml's name for the class
        builder.warn("Entities that the XML defines itself were left out.")
    for group in grouped(_leaves(root)):
        builder.add("\n".join(group), "record")
    if builder.empty:
        return Parsed((), tuple(builder.warnings))
    return Parsed((builder.document(name, "xml"),))


def _utf8(data: bytes) -> bytes:
    """The bytes as a parser takes them: wide encodings turned into UTF-8, since declarations lie about them."""
    if not wide_encoding(data):
        return data.lstrip()
    text = decode_text(data).lstrip()
    if text.startswith("<?xml"):
        text = text.partition("?>")[2]
    return text.encode("utf-8")


def _leaves(root: Element) -> Iterator[tuple[int, str]]:
    """Text and attributes in order, each with its path and the number of the record (child of the root) it is in."""
    record = 0
    stack: list[tuple[Element, tuple[str, ...], int]] = [(root, (), 0)]
    while stack:
        element, path, depth = stack.pop()
        name = local(element)
        if not name:
            continue
        record += depth == 1
        here = (*path, name) if depth else path
        text = one_line(element.text or "")
        tails = [one_line(part.tail or "") for part in element]
        whole = " ".join(filter(None, [text, *tails])) if not any(map(local, element)) else text
        for key, value in element.attrib.items():
            if not str(key).startswith(_SCHEMA):
                yield record, f"{name}@{str(key).rpartition('}')[2]}: {one_line(str(value))}"
        if any(tails) and any(map(local, element)):
            # Mixed content is prose: its words belong together.
            yield record, f"{_label(here)}{one_line(' '.join(str(part) for part in element.itertext()))}"
            continue
        if whole:
            yield record, f"{_label(here)}{whole}"
        stack.extend((part, here, depth + 1) for part in reversed(element))


def _label(path: tuple[str, ...]) -> str:
    return f"{' > '.join(path[-3:])}: " if path else ""


def grouped(leaves: Iterator[tuple[int, str]]) -> Iterator[list[str]]:
    """The lines of each record together, cut where it has more than a passage can hold."""
    group: list[str] = []
    current = 0
    for record, line in leaves:
        if group and (record != current or len(group) >= _GROUPED):
            yield group
            group = []
        current = record
        group.append(line)
    if group:
        yield group
