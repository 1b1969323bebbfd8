"""How a long document is read page by page: pages rejoin to its exact text, begin where passages do, and are found from
any position by looking at the text around it alone. Pure.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from common.domain.graphemes import is_boundary

PAGE: Final = 12_000
"""Characters of the longest page."""
_STEP: Final = 10_000
_SLACK: Final = PAGE - _STEP
# A cluster is followed back over at most 512 characters, and ends within 257.
_BEHIND: Final = 1_024
_AHEAD: Final = 2


class PagedText(Protocol):
    """A text that may stand elsewhere and be read in parts."""

    @property
    def length(self) -> int: ...

    def slice(self, start: int, end: int) -> str:
        """The characters of that range."""

    def starts(self, start: int, end: int) -> Sequence[int]:
        """Where passages start in that range, in order."""


def page_from(text: PagedText, offset: int) -> tuple[int, int]:
    """The range of the page that begins at `offset` (0 to the text's length), or at the start of the character that
    `offset` stands in.
    """
    start = _whole(text, offset)
    if text.length - start <= PAGE:
        return start, text.length
    return start, _border(text, (start + PAGE) // _STEP)


def page_holding(text: PagedText, position: int) -> int:
    """Where that one of the pages counted from the beginning starts that holds `position`."""
    number = position // _STEP
    if position > (number + 1) * _STEP - _SLACK and _border(text, number + 1) <= position:
        number += 1
    # The last page may reach over the border behind which the rest would be short.
    if number and text.length - _border(text, number - 1) <= PAGE:
        number -= 1
    return _border(text, number)


def _border(text: PagedText, number: int) -> int:
    """Where the page of that number starts: in the `_SLACK` characters up to `number` steps, so that each can be found
    without those before it, and two neighbours are between 8,000 and 12,000 characters apart.
    """
    target = min(number * _STEP, text.length)
    if number == 0 or target == text.length:
        return target
    lowest = target - _SLACK + 1
    first = max(0, lowest - _BEHIND)
    around = text.slice(first, min(text.length, target + _AHEAD))
    starts = reversed(text.starts(lowest, target + 1))
    candidates = (*starts, *(first + place for place in _breaks(around, lowest - first, target - first)))
    return next((place for place in candidates if is_boundary(around, place - first)), target)


def _breaks(text: str, lowest: int, highest: int) -> Iterator[int]:
    """Places to cut at, best first: behind the last line break, behind the last blank, behind the last characters."""
    for mark in ("\n", " "):
        place = text.rfind(mark, lowest - 1, highest) + 1
        if place >= lowest:
            yield place
    yield from range(highest, lowest, -1)


def _whole(text: PagedText, offset: int) -> int:
    if offset >= text.length:
        return text.length
    first = max(0, offset - _BEHIND)
    around = text.slice(first, min(text.length, offset + _AHEAD))
    return next((p for p in range(offset, first, -1) if is_boundary(around, p - first)), first)
