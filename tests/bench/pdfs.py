"""Large PDFs, and pypdfium2 alone over them: open the file, get the text of every page, close what was opened, in one
process. What reads a PDF for us is measured against that.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pypdfium2

PAGES = 300
_PARAGRAPHS = 5
_LINES = 9
_WIDTH = 88
_LEADING = 13
_WORDS = ("reserva", "de", "passagem", "com", "bagagem", "quando", "a", "viagem", "sem", "confirmação", "e", "política")


def bare_pdf(data: bytes) -> int:
    """How many characters pypdfium2 finds."""
    document = pypdfium2.PdfDocument(data)
    letters = 0
    for page in document:
        text = page.get_textpage()
        letters += len(text.get_text_range())
        text.close()
        page.close()
    document.close()
    return letters


def largest_pdf(folder: Path) -> Path:
    """The largest of a folder that is plain to read."""
    return max(folder.rglob("*.pdf"), key=lambda path: path.stat().st_size)


def made_pdf(pages: int = PAGES) -> bytes:
    """Pages of a title and five paragraphs each, about 4,000 characters, the same every time."""
    random = Random(1)  # noqa: S311 - no secret
    font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
    bodies = ["<</Type/Catalog/Pages 2 0 R>>", "", font]
    kids = []
    for number in range(1, pages + 1):
        content = "\n".join(_drawn(random, number))
        bodies.append(f"<</Length {len(content)}>>stream\n{content}\nendstream")
        shown = f"/Resources<</Font<</F1 3 0 R>>>>/Contents {len(bodies)} 0 R"
        bodies.append(f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]{shown}>>")
        kids.append(f"{len(bodies)} 0 R")
    bodies[1] = f"<</Type/Pages/Kids[{' '.join(kids)}]/Count {len(kids)}>>"
    return _file(bodies)


def _drawn(random: Random, number: int) -> Iterator[str]:
    """The page's text, line by line."""
    yield f"BT /F1 16 Tf 50 760 Td (Capítulo {number} do manual) Tj ET"
    y = 735
    for line in range(_PARAGRAPHS * _LINES):
        y -= _LEADING if line % _LINES else 2 * _LEADING
        words = ""
        while len(words) < _WIDTH:
            words += f"{random.choice(_WORDS)} "
        yield f"BT /F1 10 Tf 50 {y} Td ({words.strip()}) Tj ET"


def _file(bodies: list[str]) -> bytes:
    written, places = "%PDF-1.4\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(written))
        written += f"{number} 0 obj{body}endobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"trailer<</Size {len(bodies) + 1}/Root 1 0 R>>\nstartxref\n{len(written)}\n%%EOF"
    return f"{written}xref\n0 {len(bodies) + 1}\n0000000000 65535 f \n{table}{trailer}".encode("latin-1")
