"""Plain text as paragraphs: blank lines part them, and so does every line end of a text whose lines are not wrapped."""

import re
from collections.abc import Iterator
from typing import Final

from common.domain.documents import Block
from common.domain.markdown_lines import level_line_ends

_BLANK: Final = re.compile(r"\n(?:[^\S\n]*\n)+")
_UNWRAPPED: Final = re.compile(r"[^\n]{240}")


def paragraphs(text: str, start: int = 0) -> tuple[Block, ...]:
    """The text's paragraphs from `start` on. A paragraph with a line of 240 or more characters was written one line per
    paragraph, so its lines are blocks of their own.
    """
    return tuple(Block(first, last) for first, last in _ranges(level_line_ends(text), start) if first < last)


def _ranges(text: str, start: int) -> Iterator[tuple[int, int]]:
    position = start
    for match in _BLANK.finditer(text, start):
        yield from _lines(text, position, match.start())
        position = match.end()
    yield from _lines(text, position, len(text))


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if not _UNWRAPPED.search(text, start, end):
        yield start, end
        return
    while start < end:
        line = text.find("\n", start, end)
        stop = end if line < 0 else line
        yield start, stop
        start = stop + 1
