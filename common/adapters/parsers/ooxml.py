"""Office packages (DOCX, PPTX, XLSX): parts, relationships and XML by local names, strict and transitional alike."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from lxml import etree

from common.adapters.parsers.limits import BoundedZip, Limits
from common.adapters.parsers.refusals import corrupt, limit

_PAST_BOUNDS = {etree.ErrorTypes.ERR_NO_MEMORY, etree.ErrorTypes.ERR_ENTITY_LOOP}
_BOUND_WORDS = ("Excessive depth", "huge", "too long", "Maximum entity", "limit")

Element = etree._Element  # noqa: SLF001 - lxml names its element class so


@dataclass(frozen=True, slots=True)
class Relation:
    """What a part points at: `kind` ends its type's address, `target` is a part's name, an address when `external`."""

    kind: str
    target: str
    external: bool


def parse_xml(data: bytes, what: str) -> Element:
    """The root of a document, read without network, DTD or entities. Raises DocumentError CORRUPT, PARSER_LIMIT."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        if getattr(error, "code", 0) in _PAST_BOUNDS or any(word in str(error) for word in _BOUND_WORDS):
            raise limit(what, "its XML is nested or grows past what is read") from error
        raise corrupt(what, "its XML is broken") from error


def local(element: Element) -> str:
    """The tag without its namespace, "" for comments and entities."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Element, name: str) -> str:
    """The attribute of that local name in whatever namespace, "" when there is none."""
    value = element.get(name)
    if value is not None:
        return str(value)
    for key, other in element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(other)
    return ""


def child(element: Element | None, *path: str) -> Element | None:
    """The first descendant along local names, one level a name."""
    for name in path:
        if element is None:
            return None
        element = next((part for part in element if local(part) == name), None)
    return element


def children(element: Element | None, name: str) -> list[Element]:
    return [part for part in element if local(part) == name] if element is not None else []


def descendants(element: Element | None, *names: str) -> Iterator[Element]:
    if element is not None:
        for part in element.iter():
            if local(part) in names:
                yield part


class Package:
    """One office file opened: parts by name and what they point at."""

    def __init__(self, data: bytes, what: str, limits: Limits) -> None:
        self.what = what
        self._zip = BoundedZip(data, what, limits)

    @property
    def names(self) -> list[str]:
        return self._zip.names

    def bytes_of(self, name: str) -> bytes | None:
        return self._zip.read(name)

    def xml(self, name: str) -> Element | None:
        data = self._zip.read(name)
        return parse_xml(data, self.what) if data is not None else None

    def main_part(self, fallback: str) -> str:
        """The part that the package names as its document. Raises DocumentError CORRUPT when it is not there."""
        for relation in self.relations("").values():
            if relation.kind == "officeDocument" and relation.target in self._zip:
                return relation.target
        if fallback in self._zip:
            return fallback
        raise corrupt(self.what, "its main part is missing")

    def relations(self, part: str) -> dict[str, Relation]:
        """By id, what `part` ("" for the package) points at."""
        folder, name = posixpath.split(part)
        root = self.xml(posixpath.join(folder, "_rels", f"{name}.rels"))
        found: dict[str, Relation] = {}
        for relation in root if root is not None else ():
            target, external = attribute(relation, "Target"), attribute(relation, "TargetMode") == "External"
            if not external:
                target = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
            kind = attribute(relation, "Type").rpartition("/")[2]
            found[attribute(relation, "Id")] = Relation(kind, target, external)
        return found

    def title(self) -> str:
        """The title in the package's properties."""
        root = self.xml("docProps/core.xml")
        part = child(root, "title")
        return (part.text or "") if part is not None else ""
