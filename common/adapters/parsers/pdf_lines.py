"""Reads the text lines of PDF pages with their place and size, and the links, notes and field values beside them."""

import ctypes
from collections.abc import Callable
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


def _direct(function: Any) -> Callable[..., None]:  # noqa: ANN401
    """A function of pdfium without the checks of its arguments and without giving up the interpreter's lock: a third
    of the price of a call, for what is asked three times a line. Arguments must be of exactly the C types.
    """
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    return ctypes.PYFUNCTYPE(None)(address)


_BOX = _direct(pdfium.FPDFText_GetLooseCharBox)
_ORIGIN = _direct(pdfium.FPDFText_GetCharOrigin)


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


_Address = ctypes.c_char * 2_048  # room for nearly every one
_LINE = tuple.__new__  # a named tuple's own constructor takes twice as long


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
        count = pdfium.FPDFPage_GetAnnotCount(page)
        if not count:
            return Page(lines, _runs_rightwards(lines), drawn)
        links, seen = _links(document, page)
        # To open an annotation costs more than to walk past a link, and most pages hold nothing but links.
        notes, fields = _annotations(page, form) if seen < count else ((), ())
        return Page(lines, _runs_rightwards(lines), drawn, links, notes, fields)
    finally:
        pdfium.FPDF_ClosePage(page)


def _lines(text_page: Any) -> tuple[Line, ...]:  # noqa: ANN401
    count = pdfium.FPDFText_CountChars(text_page)
    if count <= 0:
        return ()
    # An array of ctypes would be a type of its own for every length, which costs more than the call.
    buffer = bytearray((count + 1) * 2)
    written = pdfium.FPDFText_GetText(text_page, 0, count, ctypes.c_ushort.from_buffer(buffer))
    text = buffer[: max(written - 1, 0) * 2].decode("utf-16-le", "ignore")
    # Some characters of the page carry no text; only then do places in the text and on the page differ.
    at = pdfium.FPDFText_GetCharIndexFromTextIndex if written - 1 != count else None
    rect, x, y = pdfium.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    rect_at, x_at, y_at = ctypes.byref(rect), ctypes.byref(x), ctypes.byref(y)
    lines: list[Line] = []
    offset = 0
    for raw in text.split("\r\n"):
        shown = raw.strip()
        if shown:
            first = offset if shown is raw else offset + raw.index(shown[0])
            last = first + len(shown) - 1
            if at:
                first, last = at(text_page, first), at(text_page, last)
            _BOX(text_page, first, rect_at)
            _ORIGIN(text_page, first, x_at, y_at)
            base = last_y = y.value
            # Half points are as fine as sizes need to be told apart.
            size = int((rect.top - rect.bottom) * 2 + 0.5) / 2
            left = x.value
            _BOX(text_page, last, rect_at)
            if "\ufffe" in shown:
                _ORIGIN(text_page, last, x_at, y_at)
                last_y = y.value
            lines.append(_LINE(Line, (shown, left, rect.right, base, last_y, size)))
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
    directions = [
        right - x > abs(last_y - y)
        for text, x, right, y, last_y, _ in lines[:_SAMPLED]
        if len(text) > 3  # noqa: PLR2004 - shorter ones have no direction
    ]
    return sum(directions) * 2 > len(directions)


def _links(document: Any, page: Any) -> tuple[tuple[str, ...], int]:  # noqa: ANN401
    """The addresses that the page's links lead to, and how many links of any kind there are."""
    seen = 0
    found: list[str] = []
    position, link, address = ctypes.c_int(0), pdfium.FPDF_LINK(), _Address()
    while len(found) < _MAX_ANNOTATIONS and pdfium.FPDFLink_Enumerate(page, position, link):
        seen += 1
        action = pdfium.FPDFLink_GetAction(link)
        if action and pdfium.FPDFAction_GetType(action) == pdfium.PDFACTION_URI:
            size = pdfium.FPDFAction_GetURIPath(document, action, address, len(address))
            if size > len(address):
                address = ctypes.create_string_buffer(size)
                pdfium.FPDFAction_GetURIPath(document, action, address, size)
            found.append(address.value.decode("utf-8", "ignore"))
    return tuple(dict.fromkeys(target for target in found if target)), seen


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
