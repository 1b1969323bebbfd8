"""Turns a page's lines into paragraphs and headings: what belongs together by place and size, in the page's own order.

The order of a page's text is the one its producer wrote, which keeps columns apart; lines are never sorted.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
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
_LABEL = re.compile(r"[^:.]{2,30}: ")
_NUMBERED = re.compile(r"^\d+(?:\.\d+)*\.?\s+")


class Piece(NamedTuple):
    """A paragraph (`level` 0) or a heading of that level."""

    text: str
    level: int = 0
    listed: bool = False


def heading_sizes(pages: Sequence[Page]) -> dict[float, int]:
    """Size (in half points) to heading level, for the sizes clearly above the one most text is set in."""
    counts: dict[float, int] = {}
    for page in pages:
        if page.placed:
            for line in page.lines:
                counts[line.size] = counts.get(line.size, 0) + len(line.text)
    by_size = Counter(counts)
    if not by_size:
        return {}
    body = by_size.most_common(1)[0][0]
    larger = {size for size in by_size if size >= body * _HEADING and size > 0}
    candidates: Counter[float] = Counter()
    if not larger:
        return {}
    for page in pages:
        for line in page.lines if page.placed else ():
            if line.size in larger and _reads_as_heading(line.text):
                candidates[line.size] += len(line.text)
    if sum(candidates.values()) > _HEADING_SHARE * by_size.total():
        return {}
    sizes = sorted((size for size in candidates if candidates[size] * 2 >= by_size[size]), reverse=True)
    return {size: min(level, 6) for level, size in enumerate(sizes, 1)}


def pieces(page: Page, sizes: dict[float, int], outline: dict[str, int]) -> list[Piece]:
    """The page's text in order. `outline` maps folded titles of the file's bookmarks for this page to their level."""
    if not page.placed:
        return [Piece(dehyphenated("\n".join(line.text for line in page.lines)))] if page.lines else []
    found: list[Piece] = []
    group: list[Line] = []
    level = 0
    for line in page.lines:
        own = _level(line, sizes, outline)
        if group and (own != level or (not level and _breaks(group, line)) or (level and _apart(group[-1], line))):
            found.append(_piece(group, level))
            group = []
        group.append(line)
        level = own
    if group:
        found.append(_piece(group, level))
    return found


def folded(title: str) -> str:
    """A title as bookmarks and pages spell it alike: without number, case and white space."""
    return "".join(_NUMBERED.sub("", title.strip()).lower().split())


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


def _same_row(last: Line, line: Line) -> bool:
    return abs(last.last_y - line.y) <= _ROW * max(last.size, line.size) and line.x >= last.right - last.size


def _breaks(group: list[Line], line: Line) -> bool:
    last = group[-1]
    if _same_row(last, line):
        return False
    smaller, larger = (last.size, line.size) if last.size < line.size else (line.size, last.size)
    step = last.last_y - line.y
    if step > _LEADING * smaller and step > _LEADING:
        return True
    if larger > smaller * _OTHER_SIZE and len(last.text) > _SCRIPT and len(line.text) > _SCRIPT:
        return True
    if step < -larger:
        # The next column or a place higher up: the sentence may go on there.
        return last.text.endswith(_SENTENCE_END) or line.text[:1].isupper()
    if _BULLET.match(line.text):
        return True
    if len(group) == 1 or not last.text.endswith(_SENTENCE_END):
        return False
    return line.x - min(part.x for part in group) > _INDENT * line.size


def _piece(group: list[Line], level: int) -> Piece:
    if level:
        return Piece(dehyphenated(" ".join(line.text for line in group)), level)
    if len(group) == 1:
        return Piece(dehyphenated(group[0].text), 0, bool(_BULLET.match(group[0].text)))
    ends = _wrapped(group)
    parts = [group[0].text]
    for last, line, wraps in zip(group, group[1:], ends, strict=False):
        parts.append(" " if wraps or _same_row(last, line) else "\n")
        parts.append(line.text)
    return Piece(dehyphenated("".join(parts)), 0, bool(_BULLET.match(group[0].text)))


def _wrapped(group: list[Line]) -> list[bool]:
    """Which lines but the last end where the column does, rather than where their author ended them."""
    nowhere = [False] * (len(group) - 1)
    longest = max(len(line.text) for line in group)
    if longest < _PROSE or (len(group) == 2 and len(group[0].text) < _PROSE_OF_TWO):  # noqa: PLR2004 - two lines
        return nowhere
    sample = group[0].text + group[len(group) // 2].text
    labelled = sum(bool(_LABEL.match(line.text)) for line in group)
    if sum(map(str.isdigit, sample)) > _FIGURES * len(sample) or labelled * 2 >= len(group):
        return nowhere
    edge = max(line.right for line in group)
    full: list[bool] = []
    for last, line in pairwise(group):
        glyph = max(line.right - line.x, 1.0) / len(line.text)
        full.append(edge - last.right < glyph * (line.text.find(" ") % len(line.text) + 2))
    return full if sum(full) >= _MOSTLY * len(full) else nowhere
