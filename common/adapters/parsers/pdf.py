"""PDF through pypdfium2: text by page in the order it was written, headings by size or bookmark, notes and fields."""

import re
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from common.adapters.parsers.build import TextBuilder, one_line
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.pdf_layout import folded, heading_sizes, pieces
from common.adapters.parsers.pdf_lines import Page, read_page
from common.adapters.parsers.refusals import corrupt, encrypted, no_text
from common.domain.documents import Parsed

# PDFium keeps process-wide state and is not safe to enter twice at once.
_PDFIUM = Lock()
_LOW_TEXT = 25  # letters and digits per page
_OCR_SCALE = 2.5  # times 72 dpi
_FORGETTABLE = re.compile(
    r"^(untitled|microsoft word|document\d*|.*\.(docx?|pdf|odt|indd|tex|pptx?|xlsx?))\b", re.IGNORECASE
)

Recogniser = Callable[[bytes], str]
"""From a picture of a page (PGM) to the text on it; "" when there is none."""


def parse_pdf(data: bytes, name: str, limits: Limits, recognise: Recogniser | None = None) -> Parsed:
    """One document with a page for every block. Raises DocumentError ENCRYPTED, CORRUPT, NO_TEXT, PARSER_LIMIT."""
    with _PDFIUM:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            if getattr(error, "err_code", None) == pdfium.FPDF_ERR_PASSWORD or "assword" in str(error):
                raise encrypted("PDF") from error
            raise corrupt("PDF") from error
        try:
            return _parse(document, name, limits, recognise)
        finally:
            document.close()


def _parse(document: Any, name: str, limits: Limits, recognise: Recogniser | None) -> Parsed:  # noqa: ANN401
    if document.get_formtype():
        document.init_forms()
    form = document.formenv.raw if document.formenv else None
    read = [read_page(document.raw, form, index) for index in range(len(document))]
    if not read or all(page is None for page in read):
        raise corrupt("PDF", "none of its pages can be opened")
    pages = [page or Page() for page in read]
    builder = TextBuilder("PDF", characters=limits.characters)
    unreadable = [number for number, page in enumerate(read, 1) if page is None]
    if unreadable:
        builder.warn(f"Pages that could not be opened: {_numbers(unreadable)}.")
    recognised: set[int] = set()
    sizes, outline = heading_sizes(pages), _outline(document)
    for number, page in enumerate(pages, 1):
        words = "" if page.lines or not page.drawn or recognise is None else _recognised(document, number, recognise)
        _add_page(builder, page, number, sizes, outline.get(number, {}), words)
        if words.strip():
            recognised.add(number)
    _judge(builder, pages, recognised)
    if builder.empty:
        return Parsed((), tuple(builder.warnings))
    _mention_attachments(document, builder)
    return Parsed((builder.document(name, "pdf", title=_title(document, builder), paged=True),))


def _add_page(
    builder: TextBuilder, page: Page, number: int, sizes: dict[float, int], outline: dict[str, int], recognised: str
) -> None:
    for target in page.links:
        builder.link(target, "")
    for piece in pieces(page, sizes, outline):
        if piece.level:
            builder.heading(piece.level, piece.text, page=number)
        else:
            builder.add(piece.text, "list" if piece.listed else "paragraph", page=number)
    if recognised:
        builder.add(recognised, page=number)
    if page.fields:
        builder.add("\n".join(one_line(value) for value in page.fields), page=number)
    for note in page.notes:
        builder.add(f"Note on page {number}: {one_line(note)}", "note", page=number)


def _judge(builder: TextBuilder, pages: Sequence[Page], recognised: set[int]) -> None:
    """Raises NO_TEXT for pictures alone; warns of pages without text and of a file with hardly any."""
    silent = [number for number, page in enumerate(pages, 1) if page.drawn and not page.lines]
    drawn = [number for number in silent if number not in recognised]
    if recognised:
        builder.warn(
            f"Text recognised in pictures (OCR), which may hold mistakes: pages {_numbers(sorted(recognised))}."
        )
    if builder.empty and drawn:
        raise no_text("PDF", f"only pictures (pages {_numbers(drawn)})")
    if drawn and not builder.empty:
        builder.warn(f"Pages with pictures and no text layer: {_numbers(drawn)}; text in pictures needs OCR.")
    _flag_low_text(builder, [page for page in pages if page.drawn])


def _flag_low_text(builder: TextBuilder, pages: Sequence[Page]) -> None:
    letters = 0
    for page in pages:
        letters += sum(sum(map(str.isalnum, line.text)) for line in page.lines)
        if letters >= _LOW_TEXT * len(pages):
            return
    if letters:
        builder.warn(f"Low text: {letters} letters on {len(pages)} pages; the rest may be pictures (OCR).")


def _numbers(pages: Sequence[int]) -> str:
    shown = ", ".join(str(page) for page in pages[:20])
    return shown if len(pages) <= 20 else f"{shown} and {len(pages) - 20} more"  # noqa: PLR2004 - a readable list


def _outline(document: Any) -> dict[int, dict[str, int]]:  # noqa: ANN401
    """By page (1-based): the folded titles of the bookmarks that lead there, each with its level."""
    found: dict[int, dict[str, int]] = {}
    try:
        for count, bookmark in enumerate(document.get_toc(max_depth=6)):
            if count >= 5_000:  # noqa: PLR2004 - enough for any book
                break
            target = bookmark.get_dest()
            index = target.get_index() if target else None
            title = folded(bookmark.get_title() or "")
            if index is not None and title:
                found.setdefault(index + 1, {})[title] = bookmark.level + 1
    except pypdfium2.PdfiumError:
        return {}
    return found


def _title(document: Any, builder: TextBuilder) -> str:  # noqa: ANN401
    declared = one_line(document.get_metadata_value("Title"))
    return declared if not builder.title and declared and not _FORGETTABLE.match(declared) else ""


def _mention_attachments(document: Any, builder: TextBuilder) -> None:  # noqa: ANN401
    count = document.count_attachments()
    if count > 0:
        names = [one_line(document.get_attachment(index).get_name()) for index in range(min(count, 20))]
        builder.warn(f"Files attached inside the PDF are not read: {', '.join(names)}.")


def _recognised(document: Any, number: int, recognise: Recogniser) -> str:  # noqa: ANN401
    page = document[number - 1]
    try:
        pixels = page.render(scale=_OCR_SCALE, grayscale=True).to_numpy()
        height, width = pixels.shape[:2]
        return recognise(b"P5 %d %d 255\n" % (width, height) + pixels.tobytes())
    finally:
        page.close()
