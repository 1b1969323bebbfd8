"""Reads the text lines of PDF pages with their place and size, and the links, notes and field values beside them."""

import ctypes
from dataclasses import dataclass
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium

_MAX_ANNOTATIONS = 1_000
_MANY_STROKES = 20
_SAMPLED = 40  # lines that tell a page's direction
_NOTES = frozenset(
    {
        pdfium.FPDF_ANNOT_TEXT,
        pdfium.FPDF_ANNOT_FREETEXT,
        pdfium.FPDF_ANNOT_HIGHLIGHT,
        pdfium.FPDF_ANNOT_UNDERLINE,
        pdfium.FPDF_ANNOT_STRIKEOUT,
    }
)


class Line(NamedTuple):
    """One line as the page draws it: points from the lower left; `size` is the height of its first glyph's box.

    `y` is the baseline of the first glyph, `last_y` that of the last one (they differ where pdfium joined a
    hyphenated word across two lines).
    """

    text: str
    x: float = 0.0
    right: float = 0.0
    y: float = 0.0
    last_y: float = 0.0
    size: float = 0.0


@dataclass(frozen=True, slots=True)
class Page:
    """`placed` is False where the text does not run from left to right, so places say nothing about paragraphs."""

    lines: tuple[Line, ...] = ()
    placed: bool = True
    drawn: bool = False
    links: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


def read_page(document: Any, form: Any, index: int) -> Page | None:  # noqa: ANN401 - raw handles carry no types
    """Page `index` (0-based), None when it cannot be loaded."""
    page = pdfium.FPDF_LoadPage(document, index)
    if not page:
        return None
    try:
        text_page = pdfium.FPDFText_LoadPage(page)
        if not text_page:
            return None
        try:
            lines = _lines(text_page)
        finally:
            pdfium.FPDFText_ClosePage(text_page)
        drawn = bool(lines) or _holds_pictures(page)
        if not pdfium.FPDFPage_GetAnnotCount(page):
            return Page(lines, _runs_rightwards(lines), drawn)
        notes, fields = _annotations(page, form)
        return Page(lines, _runs_rightwards(lines), drawn, _links(document, page), notes, fields)
    finally:
        pdfium.FPDF_ClosePage(page)


def _lines(text_page: Any) -> tuple[Line, ...]:  # noqa: ANN401
    count = pdfium.FPDFText_CountChars(text_page)
    if count <= 0:
        return ()
    buffer = ctypes.create_string_buffer((count + 1) * 2)
    written = pdfium.FPDFText_GetText(text_page, 0, count, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)))
    text = buffer.raw[: max(written - 1, 0) * 2].decode("utf-16-le", "ignore")
    # Some characters of the page carry no text; only then do places in the text and on the page differ.
    shifted = written - 1 != count
    rect, x, y = pdfium.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    rect_at, x_at, y_at = ctypes.byref(rect), ctypes.byref(x), ctypes.byref(y)
    get_box, get_origin = pdfium.FPDFText_GetLooseCharBox, pdfium.FPDFText_GetCharOrigin
    at = pdfium.FPDFText_GetCharIndexFromTextIndex if shifted else None
    lines: list[Line] = []
    offset = 0
    for raw in text.split("\r\n"):
        shown = raw.strip()
        if shown:
            first = offset if raw[0] == shown[0] else offset + raw.index(shown[0])
            last = first + len(shown) - 1
            if at:
                first, last = at(text_page, first), at(text_page, last)
            get_box(text_page, first, rect_at)
            get_origin(text_page, first, x_at, y_at)
            # Half points are as fine as sizes need to be told apart.
            left, base, size = x.value, y.value, int((rect.top - rect.bottom) * 2 + 0.5) / 2
            get_box(text_page, last, rect_at)
            if "\ufffe" in shown:
                get_origin(text_page, last, x_at, y_at)
            lines.append(Line(shown, left, rect.right, base, y.value, size))
        offset += len(raw) + 2
    return tuple(lines)


def _holds_pictures(page: Any) -> bool:  # noqa: ANN401
    """Pictures, or so many strokes that they may be letters drawn as shapes."""
    count = pdfium.FPDFPage_CountObjects(page)
    types = [pdfium.FPDFPageObj_GetType(pdfium.FPDFPage_GetObject(page, index)) for index in range(min(count, 200))]
    if any(kind in {pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM} for kind in types):
        return True
    return types.count(pdfium.FPDF_PAGEOBJ_PATH) >= _MANY_STROKES


def _runs_rightwards(lines: tuple[Line, ...]) -> bool:
    long = [line for line in lines[:_SAMPLED] if len(line.text) > 3]  # noqa: PLR2004 - shorter ones have no direction
    across = sum(line.right - line.x > abs(line.last_y - line.y) for line in long)
    return across * 2 > len(long)


def _links(document: Any, page: Any) -> tuple[str, ...]:  # noqa: ANN401
    found: list[str] = []
    position, link = ctypes.c_int(0), pdfium.FPDF_LINK()
    while len(found) < _MAX_ANNOTATIONS and pdfium.FPDFLink_Enumerate(page, position, link):
        action = pdfium.FPDFLink_GetAction(link)
        if action and pdfium.FPDFAction_GetType(action) == pdfium.PDFACTION_URI:
            size = pdfium.FPDFAction_GetURIPath(document, action, None, 0)
            buffer = ctypes.create_string_buffer(size)
            pdfium.FPDFAction_GetURIPath(document, action, buffer, size)
            found.append(buffer.value.decode("utf-8", "ignore"))
    return tuple(dict.fromkeys(target for target in found if target))


def _annotations(page: Any, form: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:  # noqa: ANN401
    notes: list[str] = []
    fields: list[str] = []
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MAX_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        subtype = pdfium.FPDFAnnot_GetSubtype(annotation)
        if subtype in _NOTES:
            notes.append(_wide(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents"))
        elif subtype == pdfium.FPDF_ANNOT_WIDGET and form:
            label = _wide(pdfium.FPDFAnnot_GetFormFieldName, form, annotation)
            value = _wide(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)
            fields.append(f"{label}: {value}" if label and value else "")
        pdfium.FPDFPage_CloseAnnot(annotation)
    return tuple(filter(None, notes)), tuple(filter(None, fields))


def _wide(get: Any, *arguments: Any) -> str:  # noqa: ANN401
    """What a getter of the two-call kind answers: first the size, then UTF-16."""
    size = get(*arguments, None, 0)
    if size <= 2:  # noqa: PLR2004 - the closing NUL alone
        return ""
    buffer = ctypes.create_string_buffer(size)
    get(*arguments, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "ignore").strip()
