"""Where a text is cut so that its beginning fits: between two words, never inside one or inside a grapheme."""

import re
from collections.abc import Callable
from typing import Final

from common.domain.graphemes import is_boundary

_STOPS: Final = re.compile("[\u3002\uff01\uff1f\uff1b\uff0c\u3001\u300d\u300f\uff09]")
"""Where scripts without blanks pause."""


def cut_at_word(text: str, most: int, fits: Callable[[str], bool] = lambda _: True) -> str:
    """The longest beginning of at most `most` characters that `fits`, ends between two words and is not the whole text;
    '' when there is none. White space parts words; a text without any is cut behind a stop of such scripts.
    """
    most = min(most, len(text) - 1)
    for ends in (_blank_before, _stop_before):
        found = _longest(text, most, fits, ends)
        if found:
            return found
    return ""


def _longest(text: str, most: int, fits: Callable[[str], bool], ends: Callable[[str, int], int]) -> str:
    end = ends(text, most)
    if end and not fits(text[:end]):
        low, high = 0, end
        while high - low > 1:
            middle = (low + high) // 2
            end = ends(text, middle)
            if not end or fits(text[:end]):
                low = middle
            else:
                high = end
        end = ends(text, low)
    return text[:end]


def _blank_before(text: str, position: int) -> int:
    """The end of the last whole word that ends at `position` or before it; 0 when there is none."""
    while position > 0:
        if text[position].isspace() and not text[position - 1].isspace() and is_boundary(text, position):
            return position
        position -= 1
    return 0


def _stop_before(text: str, position: int) -> int:
    while position > 0:
        if _STOPS.match(text, position - 1) and is_boundary(text, position):
            return position
        position -= 1
    return 0
