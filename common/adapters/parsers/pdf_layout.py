"""Turns a page's lines into paragraphs and headings: what belongs together by place and size, in the page's own order.

The order of a page's text is the one its producer wrote, which keeps columns apart; lines are never sorted.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from common.adapters.parsers.pdf_lines import Line, Page

_ROW = 0.35  # of the line's size: baselines this near are one row
_LEADING = 1.9  # of the smaller size: a wider step between baselines begins a paragraph
_PROSE = 28  # letters a line of running text has at least
_PROSE_OF_TWO = 45
_FIGURES = 0.25  # of the characters: more digits than that make a row of a table
_MOSTLY = 0.6  # of the lines have no room for the word that follows
_INDENT = 0.9  # of the size
_OTHER_SIZE = 1.27  # times: lines of so different sizes are no one paragraph
_SCRIPT = 3  # letters: what is as short may be an index or a power
_HEADING = 1.15  # times the body's size
_HEADING_LENGTH = 160
_HEADING_SHARE = 0.2  # of all characters: more than that is no heading but a second body size
_BULLET = re.compile(r"(?:[•▪◦‣●■\u2013\u2014*o-]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s")
_SOFT_HYPHEN = re.compile(r"\ufffe(?=[a-zà-öø-ÿ])")
_SENTENCE_END = (".", "!", "?", ":", ";")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_DIGIT = re.compile(r"\d")
_LABEL = re.compile(r"[^:.]{2,30}: ")
_NUMBERED = re.compile(r"^\d+(?:\.\d+)*\.?\s+")


class Piece(NamedTuple):
    """A paragraph (`level` 0) or a heading of that level."""

    text: str
    level: int = 0
    listed: bool = False


def heading_sizes(pages: Sequence[Page]) -> dict[float, int]:
    """Size (in half points) to heading level, for the sizes clearly above the one most text is set in."""
    texts: dict[float, list[str]] = defaultdict(list)
    for page in pages:
        if page.placed:
            for text, _, _, _, _, size in page.lines:
                texts[size].append(text)
    if not texts:
        return {}
    letters = {size: sum(map(len, found)) for size, found in texts.items()}
    body = max(letters, key=letters.__getitem__)
    larger = [size for size in letters if size >= body * _HEADING and size > 0]
    candidates = {size: sum(len(text) for text in texts[size] if _reads_as_heading(text)) for size in larger}
    if sum(candidates.values()) > _HEADING_SHARE * sum(letters.values()):
        return {}
    sizes = sorted((size for size in larger if candidates[size] * 2 >= letters[size]), reverse=True)
    return {size: min(level, 6) for level, size in enumerate(sizes, 1)}


def pieces(page: Page, sizes: dict[float, int], outline: dict[str, int]) -> list[Piece]:
    """The page's text in order. `outline` maps folded titles of the file's bookmarks for this page to their level."""
    if not page.placed:
        return [Piece(dehyphenated("\n".join(line.text for line in page.lines)))] if page.lines else []
    found: list[Piece] = []
    lines, start, level = page.lines, 0, 0
    for at, line in enumerate(lines):
        own = _level(line, sizes, outline) if outline or line.size in sizes else 0
        if own != level or (_apart(lines[at - 1], line) if own else _breaks(lines, start, at)):
            if start < at:
                found.append(_piece(lines[start:at], level))
            start = at
        level = own
    if start < len(lines):
        found.append(_piece(lines[start:], level))
    return found


def folded(title: str) -> str:
    """A title as bookmarks and pages spell it alike: without number, case and white space."""
    title = title.strip()
    if title[:1].isdecimal():
        title = _NUMBERED.sub("", title)
    return "".join(title.lower().split())


def dehyphenated(text: str) -> str:
    """Words that pdfium joined across lines (it marks the place) without the hyphen that only the line end made."""
    return _SOFT_HYPHEN.sub("", text).replace("\ufffe", "-") if "\ufffe" in text else text


def _reads_as_heading(text: str) -> bool:
    return len(text) <= _HEADING_LENGTH and bool(_LETTERS.search(text)) and not text.endswith((".", ",", ";"))


def _level(line: Line, sizes: dict[float, int], outline: dict[str, int]) -> int:
    level = outline.get(folded(line.text), 0) if outline and len(line.text) <= _HEADING_LENGTH else 0
    if level or line.size not in sizes:
        return level
    return sizes[line.size] if _reads_as_heading(line.text) else 0


def _apart(last: Line, line: Line) -> bool:
    """Two headings rather than one over two lines."""
    return not 0 <= last.last_y - line.y <= _LEADING * last.size


def _breaks(lines: Sequence[Line], start: int, at: int) -> bool:
    """Whether line `at` is no part of the paragraph that lines `start` to `at - 1` make."""
    if start == at:
        return False
    last_text, _, last_right, _, last_y, last_size = lines[at - 1]
    text, x, _, y, _, size = lines[at]
    step = last_y - y
    smaller, larger = (last_size, size) if last_size < size else (size, last_size)
    if abs(step) <= _ROW * larger and x >= last_right - last_size:
        return False
    if step > _LEADING * smaller and step > _LEADING:
        return True
    if larger > smaller * _OTHER_SIZE and len(last_text) > _SCRIPT and len(text) > _SCRIPT:
        return True
    if step < -larger:
        # The next column or a place higher up: the sentence may go on there.
        return last_text.endswith(_SENTENCE_END) or text[:1].isupper()
    if _bulleted(text):
        return True
    if at == start + 1 or not last_text.endswith(_SENTENCE_END):
        return False
    return x - min(part.x for part in lines[start:at]) > _INDENT * size


def _bulleted(text: str) -> bool:
    # Running text begins with two letters, which no bullet does.
    return not text[:2].isalpha() and _BULLET.match(text) is not None


def _piece(group: Sequence[Line], level: int) -> Piece:
    first = group[0].text
    if level:
        return Piece(dehyphenated(" ".join([line.text for line in group])), level)
    text = first if len(group) == 1 else _joined(group)
    return Piece(dehyphenated(text), 0, _bulleted(first))


def _joined(group: Sequence[Line]) -> str:
    """The lines with a blank between two that the column or the row joins, with a line feed where their author did."""
    joined, _, last_right, _, last_y, last_size = group[0]
    for (text, x, right, y, end_y, size), wraps in zip(group[1:], _wrapped(group), strict=True):
        in_row = x >= last_right - last_size and abs(last_y - y) <= _ROW * max(last_size, size)
        joined += f" {text}" if wraps or in_row else f"\n{text}"
        last_right, last_y, last_size = right, end_y, size
    return joined


def _wrapped(group: Sequence[Line]) -> list[bool]:
    """Which lines but the last end where the column does, rather than where their author ended them."""
    nowhere = [False] * (len(group) - 1)
    texts = [line.text for line in group]
    lengths = list(map(len, texts))
    if max(lengths) < _PROSE or (len(group) == 2 and lengths[0] < _PROSE_OF_TWO):  # noqa: PLR2004 - two lines
        return nowhere
    sample = texts[0] + texts[len(group) // 2]
    labelled = sum([": " in text and _LABEL.match(text) is not None for text in texts])
    if len(_DIGIT.findall(sample)) > _FIGURES * len(sample) or labelled * 2 >= len(group):
        return nowhere
    edge = max([line.right for line in group])
    full: list[bool] = []
    last_right = group[0].right
    for text, left, right, _, _, _ in group[1:]:
        length = len(text)
        glyph = max(right - left, 1.0) / length
        full.append(edge - last_right < glyph * (text.find(" ") % length + 2))
        last_right = right
    return full if sum(full) >= _MOSTLY * len(full) else nowhere
