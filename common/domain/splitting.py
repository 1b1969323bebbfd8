"""Where a long piece of text is best cut: by paragraph, record, sentence, line, clause, word, and last of all between
two graphemes. A choice depends on the text around it alone, so an edit elsewhere does not move it.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final
from zlib import crc32

from common.domain.graphemes import boundary_near, is_boundary

_WIDEST: Final = 1 << 12
_KEY: Final = 24
_DEEPEST_INDENT: Final = 40
_UNCUT: Final = 2

_BLANK_LINE: Final = re.compile(r"(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)\s*")
_LINE: Final = re.compile(r"\r\n|\n|\r")
_ITEM: Final = re.compile(r"[\r\n](?=[ \t]{0,40}(?:[-+*]|[0-9]{1,9}[.)])[ \t])")
_SENTENCE: Final = re.compile(
    "[.!?\u2026\u061f\u0964\u06d4][\"'\u201d\u2019)\\]\u00bb*_]{0,4}\\s+|[\u3002\uff01\uff1f\uff61][\u300d\u300f\uff09]?\\s*"
)
_CLAUSE: Final = re.compile("[;:,\u2014\u2013]\\s+|[\uff0c\u3001\uff1b\uff1a]")
_SPACE: Final = re.compile(r"\s+")
_SYMBOL: Final = re.compile(r"[;,})\]>|&]")
_ABBREVIATION: Final = re.compile(
    r"(?:\b[^\W\d_]|\b(?:sra?|dra?|prof|eng|av|art|arts|inc|fig|p[a\xe1]g|p|n|n[u\xfa]m|ed|vol|cap|obs|ex|tel|mr|mrs|ms"
    r"|st|vs|etc|cf|no|e\.g|i\.e|approx|dept|ltda|jan|feb|fev|mar|apr|abr|ago|aug|sep|set|sept|oct|out|nov|dec|dez))\.$",
    re.IGNORECASE,
)
_BY_LINES: Final = frozenset({"code", "table", "record", "symbol"})


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without white space around it, but with the first line's indentation; empty (start == end) when it
    holds nothing to read. Never separates a mark from the space that carries it.
    """
    if start < end and " " < text[start] <= "~" and not text[end - 1].isspace():
        return start, end
    while end > start and text[end - 1].isspace():
        end -= 1
    place = start
    while place < end and text[place].isspace():
        place += 1
    if is_blank(text[place:end]):
        return end, end
    line = max(text.rfind("\n", start, place), text.rfind("\r", start, place)) + 1
    if line == 0:
        line = start if start == 0 or text[start - 1] in "\r\n" else place
    if place - line <= _DEEPEST_INDENT:
        place = line
    while place > start and not is_boundary(text, place):
        place -= 1
    return place, end


def is_blank(text: str) -> bool:
    """Nothing is left after white space, format and control characters (RULES 24)."""
    return text.isspace() or all(
        character.isspace() or unicodedata.category(character) in {"Cc", "Cf"} for character in text
    )


def find_cut(text: str, start: int, end: int, zone: tuple[int, int], kind: str) -> int | None:
    """The best place strictly between `start` and `end` at which a new passage may begin, looked for inside the zone;
    None when the range is a single character.
    """
    low, high = _narrow(zone, start, end)
    for places in _candidates(text, low, high, kind):
        inside = [place for place in places if start < place < end]
        for place in sorted(inside, key=lambda place: _priority(text, place), reverse=True):
            if is_boundary(text, place):
                return place
    middle = min(max((low + high) // 2, start + 1), end - 1)
    near = boundary_near(text, middle, start, end)
    return near if near is not None or end - start < _UNCUT else middle


def pick(text: str, places: Sequence[int]) -> int:
    """The one of several equally good places that the text behind it chooses."""
    return max(places, key=lambda place: _priority(text, place))


def _narrow(zone: tuple[int, int], start: int, end: int) -> tuple[int, int]:
    low, high = max(zone[0], start), min(zone[1], end)
    if high - low > _WIDEST:
        middle = (low + high) // 2
        low, high = middle - _WIDEST // 2, middle + _WIDEST // 2
    return low, high


def _priority(text: str, place: int) -> int:
    # The beginning of what follows and nothing else: an edit further on must not move the cut.
    return crc32(text[place : place + _KEY].encode("utf-8", "surrogatepass"))


def _candidates(text: str, low: int, high: int, kind: str) -> Iterator[list[int]]:
    """Places in the zone, the best kind of place first."""
    if kind == "list":
        yield [match.start() + 1 for match in _ITEM.finditer(text, low, high)]
    yield _ends(_BLANK_LINE, text, low, high)
    if kind in _BY_LINES or _holds_records(text, low, high):
        yield _ends(_LINE, text, low, high)
    yield list(_sentences(text, low, high))
    for pattern in (_LINE, _CLAUSE, _SPACE, _SYMBOL):
        yield _ends(pattern, text, low, high)


def _ends(pattern: re.Pattern[str], text: str, low: int, high: int) -> list[int]:
    return [match.end() for match in pattern.finditer(text, low, high)]


def _sentences(text: str, low: int, high: int) -> Iterator[int]:
    for match in _SENTENCE.finditer(text, low, high):
        place = match.end()
        if place < len(text) and text[place].islower():
            continue
        stop = match.start() + 1
        if text[stop - 1] != "." or not _ABBREVIATION.search(text, max(low, stop - 12), stop):
            yield place


def _holds_records(text: str, low: int, high: int) -> bool:
    """Whether lines end where a thought ends (a log, a list of names), not where a page was full."""
    lines = wrapped = 0
    for match in _LINE.finditer(text, low, high):
        lines += 1
        wrapped += text[match.end() : match.end() + 1].islower()
    return lines > 0 and wrapped * 5 < lines
