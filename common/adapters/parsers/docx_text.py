"""The words of WordprocessingML paragraphs: runs, fields, tracked changes, breaks, formulas and text in drawings."""

from typing import Final

from common.adapters.parsers.ooxml import Element, attribute, child, children, local

# Deleted or moved-away text, field codes, and the second rendering of what a Choice already holds.
_SKIPPED_NAMES = """
    del moveFrom instrText delText delInstrText rPr pPr Fallback fldChar annotationRef footnoteRef endnoteRef
    posOffset sizeRelH sizeRelV pctWidth pctHeight
    """
_SKIPPED: Final = frozenset(_SKIPPED_NAMES.split())
_MARKS: Final = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": ""}
_SYMBOL_FONTS: Final = 0xF000


class Runs:
    """Collects one paragraph: its text, its links, the text boxes drawn in it and the notes it refers to."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.boxes: list[Element] = []

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def read(self, paragraph: Element) -> "Runs":
        """Everything a reader of the accepted document sees in `paragraph`, in order."""
        stack: list[Element] = list(reversed(paragraph))
        while stack:
            element = stack.pop()
            name = local(element)
            if name in _SKIPPED or not name:
                continue
            words = _words(name, element)
            if words is not None:
                self.parts.append(words)
            elif name == "txbxContent":
                self.boxes.append(element)
            elif name == "hyperlink":
                self._link(element)
                stack.extend(reversed(element))
            elif name == "AlternateContent":
                chosen = child(element, "Choice")
                stack.append(chosen if chosen is not None else _fallback(element))
            else:
                stack.extend(reversed(element))
        return self

    def _link(self, element: Element) -> None:
        target = attribute(element, "id")
        if target:
            self.links.append((target, "".join(part.text or "" for part in element.iter() if local(part) == "t")))


def _words(name: str, element: Element) -> str | None:
    """What an element says by itself, None for one whose children say it."""
    if name == "t":
        return element.text or ""
    if name in _MARKS:
        return _MARKS[name]
    if name == "sym":
        return _symbol(attribute(element, "char"))
    if name in {"footnoteReference", "endnoteReference"}:
        return f"[^{'e' if name.startswith('e') else ''}{attribute(element, 'id')}]"
    return _formula(element) if name == "oMath" else None


def _symbol(code: str) -> str:
    """A character by its code; those of symbol fonts have no letter of their own."""
    try:
        value = int(code, 16)
    except ValueError:
        return ""
    return chr(value) if 0 < value < _SYMBOL_FONTS else ""


def _fallback(element: Element) -> Element:
    fallback = child(element, "Fallback")
    if fallback is None:
        return element.makeelement("empty")
    # Its own tag is among the skipped ones; a plain wrapper lets its children be read.
    wrapper = element.makeelement("wrapper")
    wrapper.extend(list(fallback))
    return wrapper


def _formula(element: Element) -> str:
    """A formula in one line: fractions as a/b, powers as a^b, indices as a_b."""
    name = local(element)
    if name == "t":
        return element.text or ""
    if name == "f":
        return f"({_formulas(child(element, 'num'))})/({_formulas(child(element, 'den'))})"
    if name in {"sSup", "sSub"}:
        mark, part = ("^", "sup") if name == "sSup" else ("_", "sub")
        return f"{_formulas(child(element, 'e'))}{mark}{_formulas(child(element, part))}"
    if name == "d":
        return f"({_formulas(element)})"
    if name == "nary":
        sign_of = child(element, "naryPr", "chr")
        mark = attribute(sign_of, "val") if sign_of is not None else "∫"
        limits = "".join(f"{sign}{_formulas(child(element, part))}" for sign, part in (("_", "sub"), ("^", "sup")))
        return f"{mark}{limits} {_formulas(child(element, 'e'))}"
    if name == "rad":
        return f"√({_formulas(child(element, 'e'))})"
    return _formulas(element)


def _formulas(element: Element | None) -> str:
    return "".join(_formula(part) for part in element) if element is not None else ""


def property_value(paragraph: Element, *path: str) -> str:
    """The `val` of a paragraph's property, "" when it is not set."""
    found = child(paragraph, "pPr", *path)
    return attribute(found, "val") if found is not None else ""


def cell_span(cell: Element) -> tuple[int, bool]:
    """How many columns the cell covers, and whether it only continues the one above."""
    properties = child(cell, "tcPr")
    grid = child(properties, "gridSpan")
    merge = child(properties, "vMerge")
    width = attribute(grid, "val") if grid is not None else ""
    continues = merge is not None and attribute(merge, "val") in {"", "continue"}
    return (int(width) if width.isdigit() and 0 < int(width) < 1_000 else 1), continues  # noqa: PLR2004 - sane widths


def row_offset(row: Element) -> int:
    """Columns that the row leaves out at its beginning."""
    before = child(row, "trPr", "gridBefore")
    value = attribute(before, "val") if before is not None else ""
    return int(value) if value.isdigit() and int(value) < 100 else 0  # noqa: PLR2004 - sane widths


def unwrapped(element: Element, name: str) -> list[Element]:
    """Children of that name, also where content controls, insertions or custom XML wrap them."""
    found: list[Element] = []
    for part in element:
        kind = local(part)
        if kind == name:
            found.append(part)
        elif kind == "sdt":
            content = child(part, "sdtContent")
            found.extend(unwrapped(content, name) if content is not None else [])
        elif kind in {"ins", "moveTo", "customXml", "smartTag"}:
            found.extend(unwrapped(part, name))
    return found


def note_texts(root: Element | None, name: str) -> list[tuple[str, Element]]:
    """Id and element of each foot- or endnote that is not one of the separators."""
    return [
        (attribute(note, "id"), note)
        for note in children(root, name)
        if attribute(note, "type") not in {"separator", "continuationSeparator", "continuationNotice"}
    ]
