"""OpenDocument text and slides (ODT, ODP): headings, lists, tables once, notes; deleted text stays out."""

from typing import Final

from common.adapters.parsers.build import TextBuilder, one_line
from common.adapters.parsers.limits import BoundedZip, Limits
from common.adapters.parsers.ooxml import Element, attribute, child, children, descendants, local, parse_xml
from common.adapters.parsers.refusals import corrupt, encrypted
from common.domain.documents import Parsed

_SKIPPED_NAMES = "tracked-changes annotation annotation-end sequence-decls forms bookmark toc-mark user-index-mark"
_SKIPPED: Final = frozenset(_SKIPPED_NAMES.split())
_FURNITURE: Final = frozenset({"page-number", "date-time", "footer", "header"})
_MAX_SPACES = 200
_MAX_REPEAT = 100
_MAX_TABLE_DEPTH = 12


def parse_odf(data: bytes, name: str, limits: Limits) -> Parsed:
    """One document; slides are its pages. Raises DocumentError CORRUPT, ENCRYPTED, PARSER_LIMIT."""
    package = BoundedZip(data, "OpenDocument file", limits)
    manifest = package.read("META-INF/manifest.xml") or b""
    if b"encryption-data" in manifest:
        raise encrypted("OpenDocument file")
    content = package.read("content.xml")
    if content is None:
        raise corrupt("OpenDocument file", "its content is missing")
    body = child(parse_xml(content, "OpenDocument file"), "body")
    reader = _Reader(TextBuilder("OpenDocument file", characters=limits.characters))
    slides = children(child(body, "presentation"), "page") or children(child(body, "drawing"), "page")
    if slides:
        for number, slide in enumerate(slides, 1):
            reader.slide(slide, number)
    else:
        styles = package.read("styles.xml")
        margins = list(descendants(parse_xml(styles, "OpenDocument file"), "header")) if styles else []
        for margin in margins:
            reader.blocks(margin)
        text = child(body, "text")
        reader.blocks(text if text is not None else body)
    builder = reader.finish()
    if builder.empty:
        return Parsed((), tuple(builder.warnings))
    kind = "odp" if slides else "odt"
    return Parsed((builder.document(name, kind, title=builder.title or _title(package), paged=bool(slides)),))


def _title(package: BoundedZip) -> str:
    meta = package.read("meta.xml")
    root = parse_xml(meta, "OpenDocument file") if meta else None
    return next((part.text or "" for part in descendants(root, "title")), "")


class _Reader:
    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._page: int | None = None
        self._items: list[str] = []
        self._notes: list[str] = []

    def finish(self) -> TextBuilder:
        self._end_list()
        for note in self._notes:
            self._builder.add(note, "note", page=self._page)
        self._notes = []
        return self._builder

    def slide(self, slide: Element, number: int) -> None:
        """A page of a presentation: its title first, then its frames, then the speaker's notes."""
        self._page = number
        frames = [frame for frame in slide if local(frame) not in {"notes", "forms"}]
        title = next((one_line(_all_text(frame)) for frame in frames if _role(frame) == "title"), "")
        self._builder.section(1, "")
        if title:
            self._builder.heading(1, title, page=number)
        else:
            self._builder.section(1, f"Slide {number}")
        for frame in frames:
            if _role(frame) not in {"title", *_FURNITURE}:
                self.blocks(frame)
        self._end_list()
        for frame in children(child(slide, "notes"), "frame"):
            text = one_line(_all_text(frame)) if _role(frame) not in _FURNITURE else ""
            if text:
                self._builder.add(f"Note of slide {number}: {text}", "note", page=number)
        self.finish()

    def blocks(self, container: Element | None) -> None:
        """Everything in `container` in order."""
        stack: list[tuple[Element, int]] = [(part, 0) for part in reversed(container)] if container is not None else []
        while stack:
            element, depth = stack.pop()
            name = local(element)
            if name in _SKIPPED or not name:
                continue
            if name == "h":
                self._end_list()
                level = attribute(element, "outline-level")
                self._builder.heading(int(level) if level.isdigit() else 1, self._text(element), page=self._page)
            elif name == "p":
                self._paragraph(element, depth)
            elif name == "table":
                self._end_list()
                self._builder.table(self._grid(element, 0), page=self._page)
            elif name in {"list-item", "list-header"}:
                stack.extend((part, depth + 1) for part in reversed(element))
            else:
                stack.extend((part, depth) for part in reversed(element))

    def _paragraph(self, element: Element, depth: int) -> None:
        text = self._text(element)
        if depth and text.strip():
            self._items.append(f"{'  ' * min(depth - 1, 9)}- {one_line(text)}")
        elif text.strip():
            self._end_list()
            self._builder.add(text, page=self._page)
        for box in descendants(element, "text-box"):
            self.blocks(box)

    def _end_list(self) -> None:
        if self._items:
            self._builder.add("\n".join(self._items), "list", page=self._page)
            self._items = []

    def _text(self, element: Element) -> str:
        """The words of a paragraph; notes leave a mark here and their text at the end."""
        parts: list[str] = []
        stack: list[Element | str] = [element]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                parts.append(node)
                continue
            name = local(node)
            if name == "note":
                parts.append(self._note(node))
            elif name == "s":
                count = attribute(node, "c")
                parts.append(" " * min(int(count) if count.isdigit() else 1, _MAX_SPACES))
            elif name in {"tab", "line-break"}:
                parts.append("\t" if name == "tab" else "\n")
            elif name == "a":
                self._builder.link(attribute(node, "href"), _all_text(node))
            if name not in {*_SKIPPED, "note", "text-box", "s", "tab", "line-break", ""}:
                for part in reversed(node):
                    stack.append(part.tail or "")
                    stack.append(part)
                parts.append(node.text or "")
        return "".join(parts)

    def _note(self, node: Element) -> str:
        citation, body = child(node, "note-citation"), child(node, "note-body")
        mark = f"[^{one_line(_all_text(citation))}]" if citation is not None else "[^]"
        if body is not None:
            self._notes.append(f"{mark}: {one_line(_all_text(body))}")
        return mark

    def _grid(self, table: Element, depth: int) -> list[list[str]]:
        rows: list[list[str]] = []
        for row in _rows(table):
            line: list[str] = []
            for cell in row:
                if local(cell) not in {"table-cell", "covered-table-cell"}:
                    continue
                repeat = attribute(cell, "number-columns-repeated")
                text = self._cell(cell, depth) if local(cell) == "table-cell" else ""
                line.extend([text] * (min(int(repeat), _MAX_REPEAT) if repeat.isdigit() else 1))
            rows.append(line)
        return rows

    def _cell(self, cell: Element, depth: int) -> str:
        parts: list[str] = []
        stack = list(reversed(cell))
        while stack:
            element = stack.pop()
            name = local(element)
            if name in {"p", "h"}:
                parts.append(one_line(self._text(element)))
            elif name == "table" and depth < _MAX_TABLE_DEPTH:
                parts.extend(", ".join(filter(None, row)) for row in self._grid(element, depth + 1))
            elif name not in _SKIPPED:
                stack.extend(reversed(element))
        return "; ".join(filter(None, parts))


def _rows(table: Element) -> list[Element]:
    found: list[Element] = []
    for part in table:
        if local(part) == "table-row":
            found.append(part)
        elif local(part) in {"table-header-rows", "table-rows", "table-row-group"}:
            found.extend(_rows(part))
    return found


def _role(frame: Element) -> str:
    return attribute(frame, "class") if local(frame) in {"frame", "custom-shape"} else ""


def _all_text(element: Element) -> str:
    return " ".join("".join(str(text) for text in part.itertext()) for part in descendants(element, "p")) or "".join(
        str(text) for text in element.itertext()
    )
