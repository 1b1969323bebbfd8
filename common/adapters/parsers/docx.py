"""DOCX by its XML: body in order, tables once, headers and footers, notes, insertions, content controls, comments."""

from collections.abc import Iterator

from common.adapters.parsers.build import TextBuilder, one_line
from common.adapters.parsers.docx_text import Runs, cell_span, note_texts, property_value, row_offset, unwrapped
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.ooxml import Element, Package, Relation, attribute, child, children, local
from common.adapters.parsers.refusals import corrupt
from common.domain.documents import Parsed

_MAX_TABLE_DEPTH = 12
_BODY_LEVEL = 9  # Word's outline level of plain text


def parse_docx(data: bytes, name: str, limits: Limits) -> Parsed:
    """One document. Raises DocumentError CORRUPT, ENCRYPTED, PARSER_LIMIT."""
    package = Package(data, "Word document", limits)
    reader = _Reader(package, TextBuilder("Word document", characters=limits.characters))
    builder = reader.read()
    if builder.empty:
        return Parsed((), tuple(builder.warnings))
    return Parsed((builder.document(name, "docx", title=builder.title or package.title()),))


class _Reader:
    def __init__(self, package: Package, builder: TextBuilder) -> None:
        self._package = package
        self._builder = builder
        self._part = package.main_part("word/document.xml")
        self._relations = package.relations(self._part)
        self._levels, self._titles, self._listed = _style_levels(self._related("styles"))
        self._list: list[str] = []

    def read(self) -> TextBuilder:
        root = self._package.xml(self._part)
        body = child(root, "body")
        if root is None or body is None:
            raise corrupt("Word document", "it has no body")
        margins = self._margins()
        for text in margins["header"]:
            self._builder.add(text)
        self._blocks(body)
        self._end_list()
        self._builder.section(1, "")
        self._notes("footnotes", "footnote", "")
        self._notes("endnotes", "endnote", "e")
        self._comments()
        for text in margins["footer"]:
            if text not in margins["header"]:
                self._builder.add(text)
        return self._builder

    def _related(self, kind: str) -> Element | None:
        for relation in self._relations.values():
            if relation.kind == kind and not relation.external:
                return self._package.xml(relation.target)
        return None

    def _margins(self) -> dict[str, list[str]]:
        """The distinct texts of page headers and footers; a page number alone is none."""
        found: dict[str, list[str]] = {"header": [], "footer": []}
        for relation in self._relations.values():
            if relation.kind in found and not relation.external:
                text = self._plain(self._package.xml(relation.target))
                if any(map(str.isalpha, text)) and text not in found[relation.kind]:
                    found[relation.kind].append(text)
        return found

    def _plain(self, root: Element | None) -> str:
        """The text of a part by itself, tables as Markdown."""
        if root is None:
            return ""
        outer, self._builder = self._builder, TextBuilder()
        self._blocks(root)
        self._end_list()
        built, self._builder = self._builder, outer
        return built.document("", "").text if not built.empty else ""

    def _blocks(self, container: Element) -> None:
        for element in _unfolded(container):
            if local(element) == "p":
                self._paragraph(element)
            else:
                self._end_list()
                self._table(element)

    def _paragraph(self, paragraph: Element) -> None:
        runs = Runs().read(paragraph)
        for target, text in runs.links:
            relation = self._relations.get(target, Relation("", "", external=False))
            if relation.external:
                self._builder.link(relation.target, text)
        level = self._level(paragraph)
        text = runs.text.strip()
        if text and level:
            self._end_list()
            self._builder.heading(level, text)
        elif text and (
            child(paragraph, "pPr", "numPr") is not None or property_value(paragraph, "pStyle") in self._listed
        ):
            depth = property_value(paragraph, "numPr", "ilvl")
            self._list.append("  " * (int(depth) if depth.isdigit() and int(depth) < 10 else 0) + f"- {one_line(text)}")  # noqa: PLR2004
        elif text:
            self._end_list()
            self._builder.add(text)
        for box in runs.boxes:
            self._end_list()
            self._blocks(box)

    def _end_list(self) -> None:
        if self._list:
            self._builder.add("\n".join(self._list), "list")
            self._list = []

    def _level(self, paragraph: Element) -> int:
        direct = property_value(paragraph, "outlineLvl")
        if direct.isdigit():
            return int(direct) + 1 if int(direct) < _BODY_LEVEL else 0
        style = property_value(paragraph, "pStyle")
        if style in self._titles and self._builder.empty:
            return 1
        return self._levels.get(style, 0)

    def _table(self, table: Element) -> None:
        grid = self._grid(table, 0)
        if len(grid) == 1 and len(grid[0]) == 1:
            # A single cell is a frame around text, not a table.
            for cell in (cell for row in unwrapped(table, "tr") for cell in unwrapped(row, "tc")):
                self._blocks(cell)
            return
        self._builder.table(grid)

    def _grid(self, table: Element, depth: int) -> list[list[str]]:
        """Cells by row and column; a merged cell's text stands once, in its first place."""
        rows: list[list[str]] = []
        for row in unwrapped(table, "tr"):
            line = [""] * row_offset(row)
            for cell in unwrapped(row, "tc"):
                width, continues = cell_span(cell)
                line.append("" if continues else self._cell(cell, depth))
                line.extend([""] * (width - 1))
            rows.append(line)
        return rows

    def _cell(self, cell: Element, depth: int) -> str:
        """A cell on one line: paragraphs apart by "; ", rows of a table in it by "; " and their cells by ", "."""
        parts: list[str] = []
        for element in _unfolded(cell):
            if local(element) == "p":
                runs = Runs().read(element)
                parts.append(one_line(runs.text))
                parts.extend(one_line(self._plain(box)) for box in runs.boxes)
            elif depth < _MAX_TABLE_DEPTH:
                parts.extend(", ".join(filter(None, row)) for row in self._grid(element, depth + 1))
        return "; ".join(filter(None, parts))

    def _notes(self, part: str, name: str, prefix: str) -> None:
        for number, note in note_texts(self._related(part), name):
            text = one_line(self._plain(note))
            if text:
                self._builder.add(f"[^{prefix}{number}]: {text}", "note")

    def _comments(self) -> None:
        comments = children(self._related("comments"), "comment")
        for comment in comments:
            text = one_line(self._plain(comment))
            if text:
                author = one_line(attribute(comment, "author"))
                self._builder.add(f"Comment{f' by {author}' if author else ''}: {text}", "note")
        if comments:
            self._builder.warn(f"{len(comments)} comments stand as notes after the text.")


def _unfolded(container: Element) -> Iterator[Element]:
    """Paragraphs and tables in order, through content controls, insertions and the like."""
    stack: list[Element] = list(reversed(container))
    while stack:
        element = stack.pop()
        name = local(element)
        if name in {"p", "tbl"}:
            yield element
        elif name == "AlternateContent":
            chosen = child(element, "Choice")
            stack.extend(reversed(chosen if chosen is not None else element))
        elif name not in {"del", "moveFrom", "sectPr", "tcPr", "tblPr", "sdtPr", "sdtEndPr"}:
            stack.extend(reversed(element))


def _style_levels(styles: Element | None) -> tuple[dict[str, int], set[str], set[str]]:
    """Heading level by style id, through the styles they build on, and the ids of title styles and of list styles."""
    listed: set[str] = set()
    levels: dict[str, int] = {}
    parents: dict[str, str] = {}
    titles: set[str] = set()
    for style in children(styles, "style"):
        key = attribute(style, "styleId")
        named = child(style, "name")
        title = attribute(named, "val").lower() if named is not None else ""
        outline = child(style, "pPr", "outlineLvl")
        value = attribute(outline, "val") if outline is not None else ""
        if value.isdigit() and int(value) < _BODY_LEVEL:
            levels[key] = int(value) + 1
        elif title.startswith("heading ") and title[8:].isdigit():
            levels[key] = int(title[8:])
        elif value:
            levels[key] = 0
        if title == "title":
            titles.add(key)
        if child(style, "pPr", "numPr") is not None:
            listed.add(key)
        based = child(style, "basedOn")
        if based is not None:
            parents[key] = attribute(based, "val")
    for key in parents:
        seen, at = {key}, key
        while at not in levels and at in parents and parents[at] not in seen:
            at = parents[at]
            seen.add(at)
        levels.setdefault(key, levels.get(at, 0))
    return levels, titles, listed
