"""PPTX by its XML: slides in order, title first, tables, groups, charts and diagrams; notes and comments marked."""

from collections.abc import Iterator

from common.adapters.parsers.build import TextBuilder, one_line
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.ooxml import Element, Package, Relation, attribute, child, children, descendants, local
from common.adapters.parsers.refusals import corrupt
from common.domain.documents import Parsed

_TITLES = frozenset({"title", "ctrTitle"})
_FURNITURE = frozenset({"sldNum", "hdr"})
_REPEATED = frozenset({"dt", "ftr"})
_BODY_PLACEHOLDERS = frozenset({"", "body", "subTitle", "obj"})


def parse_pptx(data: bytes, name: str, limits: Limits) -> Parsed:
    """One document whose pages are its slides. Raises DocumentError CORRUPT, ENCRYPTED, PARSER_LIMIT."""
    package = Package(data, "presentation", limits)
    builder = TextBuilder("presentation", characters=limits.characters)
    part = package.main_part("ppt/presentation.xml")
    relations = package.relations(part)
    listed = [attribute(entry, "id") for entry in descendants(package.xml(part), "sldId")]
    authors = _authors(package, relations)
    # Every entry also has a numeric id; the relationship's one is what the relations know.
    targets = [relations[key].target for key in _relation_ids(package.xml(part)) if key in relations]
    if listed and not targets:
        raise corrupt("presentation", "its slides are missing")
    repeated: set[str] = set()
    for number, target in enumerate(targets, 1):
        _Slide(package, builder, target, number, repeated).add(authors)
    if builder.empty:
        return Parsed((), tuple(builder.warnings))
    return Parsed((builder.document(name, "pptx", title=builder.title or package.title(), paged=True),))


def _relation_ids(presentation: Element | None) -> Iterator[str]:
    for entry in descendants(presentation, "sldId"):
        for key, value in entry.attrib.items():
            if str(key).endswith("}id"):
                yield str(value)


def _authors(package: Package, relations: dict[str, Relation]) -> dict[str, str]:
    found: dict[str, str] = {}
    for relation in relations.values():
        if relation.kind in {"commentAuthors", "authors"} and not relation.external:
            for author in descendants(package.xml(relation.target), "cmAuthor", "author"):
                found[attribute(author, "id")] = attribute(author, "name")
    return found


class _Slide:
    def __init__(self, package: Package, builder: TextBuilder, part: str, number: int, repeated: set[str]) -> None:
        self._package = package
        self._builder = builder
        self._number = number
        self._repeated = repeated
        self._root = package.xml(part)
        self._relations = package.relations(part)

    def add(self, authors: dict[str, str]) -> None:
        """Append the slide: its title as a heading, then its shapes in their order, notes and comments."""
        if self._root is None:
            self._builder.warn(f"Slide {self._number} is missing from the file.")
            return
        if attribute(self._root, "show") == "0":
            self._builder.warn(f"Slide {self._number} is hidden in the show and was read.")
        shapes = list(_shapes(child(self._root, "cSld", "spTree")))
        title = next((text for shape in shapes if _placeholder(shape) in _TITLES and (text := _text(shape))), "")
        self._builder.section(1, "")
        if title:
            self._builder.heading(1, title, page=self._number)
        else:
            self._builder.section(1, f"Slide {self._number}")
        for shape in shapes:
            self._shape(shape)
        for kind, word in (("notesSlide", "Note"), ("comments", "Comment")):
            for relation in self._related(kind):
                root = self._package.xml(relation.target)
                for text in _notes(root) if kind == "notesSlide" else _comments(root, authors):
                    mark = f"{word} {'of' if word == 'Note' else 'on'} slide {self._number}"
                    self._builder.add(f"{mark}: {text}", "note", page=self._number)

    def _related(self, kind: str) -> list[Relation]:
        return [entry for entry in self._relations.values() if entry.kind == kind and not entry.external]

    def _shape(self, shape: Element) -> None:
        kind = local(shape)
        if kind == "graphicFrame":
            self._graphic(shape)
        elif kind == "pic":
            described = child(shape, "nvPicPr", "cNvPr")
            text = one_line(attribute(described, "descr")) if described is not None else ""
            if text and "." not in text[-5:-3]:
                self._builder.add(f"Picture: {text}", page=self._number)
        elif _placeholder(shape) in _REPEATED:
            self._once(shape)
        elif _placeholder(shape) not in _TITLES | _FURNITURE:
            self._paragraphs(shape)

    def _once(self, shape: Element) -> None:
        """A footer or date line that says something, on the first slide that shows it."""
        text = _text(shape)
        if any(map(str.isalpha, text)) and text not in self._repeated:
            self._repeated.add(text)
            self._paragraphs(shape)

    def _paragraphs(self, shape: Element) -> None:
        """A text shape: its bullets as one list, other text as paragraphs."""
        body = child(shape, "txBody")
        lines = [(_level(part), _run_text(part)) for part in children(body, "p")]
        lines = [(level, text) for level, text in lines if text.strip()]
        for link in descendants(body, "hlinkClick"):
            relation = self._relations.get(attribute(link, "id"))
            if relation is not None and relation.external:
                self._builder.link(relation.target, "")
        holder = _placeholder(shape)
        if holder in _BODY_PLACEHOLDERS and holder is not None and len(lines) > 1:
            items = (f"{'  ' * level}- {one_line(text)}" for level, text in lines)
            self._builder.add("\n".join(items), "list", page=self._number)
        else:
            self._builder.add("\n".join(text for _, text in lines), page=self._number)

    def _graphic(self, frame: Element) -> None:
        for table in descendants(frame, "tbl"):
            rows = [[_cell(cell) for cell in children(row, "tc")] for row in children(table, "tr")]
            self._builder.table(rows, page=self._number)
        for chart in descendants(frame, "chart"):
            relation = self._relations.get(attribute(chart, "id"))
            if relation is not None and not relation.external:
                self._chart(self._package.xml(relation.target))
        for diagram in descendants(frame, "relIds"):
            relation = self._relations.get(attribute(diagram, "dm"))
            root = self._package.xml(relation.target) if relation is not None and not relation.external else None
            texts = [_run_text(part) for part in descendants(root, "p") if _run_text(part).strip()]
            self._builder.add("\n".join(f"- {one_line(text)}" for text in texts), "list", page=self._number)

    def _chart(self, root: Element | None) -> None:
        """A chart as the table of its cached values, one column a series."""
        title = child(root, "chart", "title")
        if title is not None:
            self._builder.add("".join(part.text or "" for part in descendants(title, "t")), page=self._number)
        series = list(descendants(root, "ser"))
        if not series:
            return
        categories = _cached(child(series[0], "cat"))
        columns = [_cached(child(entry, "val")) or _cached(child(entry, "yVal")) for entry in series]
        names = [next(iter(_cached(child(entry, "tx")).values()), f"Series {at}") for at, entry in enumerate(series, 1)]
        keys = sorted({*categories, *(key for column in columns for key in column)})
        rows = [[categories.get(key, str(key + 1)), *(column.get(key, "") for column in columns)] for key in keys[:500]]
        self._builder.table([["", *names], *rows], page=self._number)


def _shapes(tree: Element | None) -> Iterator[Element]:
    """Shapes in drawing order, those of groups in the group's place."""
    stack = list(reversed(tree)) if tree is not None else []
    while stack:
        shape = stack.pop()
        kind = local(shape)
        if kind == "grpSp":
            stack.extend(reversed(shape))
        elif kind == "AlternateContent":
            chosen = child(shape, "Choice")
            stack.extend(reversed(chosen if chosen is not None else shape))
        elif kind in {"sp", "graphicFrame", "pic", "cxnSp"}:
            yield shape


def _placeholder(shape: Element) -> str | None:
    """The placeholder's type ("" where it names none), None for a shape that fills no placeholder."""
    for part in shape:
        if local(part).startswith("nv"):
            holder = child(part, "nvPr", "ph")
            return attribute(holder, "type") if holder is not None else None
    return None


def _text(shape: Element) -> str:
    return one_line(" ".join(_run_text(part) for part in children(child(shape, "txBody"), "p")))


def _run_text(paragraph: Element) -> str:
    parts: list[str] = []
    for element in paragraph.iter():
        name = local(element)
        if name == "t":
            parts.append(element.text or "")
        elif name == "br":
            parts.append("\n")
        elif name == "tab":
            parts.append("\t")
    return "".join(parts)


def _level(paragraph: Element) -> int:
    properties = child(paragraph, "pPr")
    level = attribute(properties, "lvl") if properties is not None else ""
    return int(level) if level.isdigit() and int(level) < 10 else 0  # noqa: PLR2004 - PowerPoint has nine levels


def _cell(cell: Element) -> str:
    if attribute(cell, "hMerge") == "1" or attribute(cell, "vMerge") == "1":
        return ""
    return "; ".join(filter(None, (one_line(_run_text(part)) for part in descendants(cell, "p"))))


def _cached(holder: Element | None) -> dict[int, str]:
    """The stored values of a chart reference by their index."""
    found: dict[int, str] = {}
    for point in descendants(holder, "pt"):
        value, index = child(point, "v"), attribute(point, "idx")
        if value is not None and index.isdigit():
            found.setdefault(int(index), one_line(value.text or ""))
    if not found and holder is not None:
        value = child(holder, "v")
        return {0: one_line(value.text or "")} if value is not None else {}
    return found


def _notes(root: Element | None) -> Iterator[str]:
    for shape in _shapes(child(root, "cSld", "spTree")):
        if local(shape) == "sp" and _placeholder(shape) not in {*_FURNITURE, *_REPEATED, "sldImg"}:
            text = "\n".join(_run_text(part) for part in children(child(shape, "txBody"), "p"))
            if text.strip():
                yield text.strip()


def _comments(root: Element | None, authors: dict[str, str]) -> Iterator[str]:
    for comment in descendants(root, "cm"):
        text = "".join(part.text or "" for part in descendants(comment, "text", "t"))
        author = authors.get(attribute(comment, "authorId"), "")
        if text.strip():
            yield f"{author}: {one_line(text)}" if author else one_line(text)
