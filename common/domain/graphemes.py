"""Where a text may be cut without breaking what a reader sees as one character: the extended grapheme clusters of
UAX #29, from the general categories of `unicodedata` and the few ranges it does not know. In doubt it does not cut.
"""

import unicodedata
from typing import Final

_ZWJ: Final = "\u200d"
_VIRAMA: Final = 9  # canonical combining class
_LOOK_BACK: Final = 256

# Grapheme_Extend beyond the categories Mn and Me; SpacingMark beyond Mc; Prepend.
_EXTEND: Final = frozenset("\u200c\u200d\uff9e\uff9f") | frozenset(map(chr, range(0xE0020, 0xE0080)))
_SKIN_TONES: Final = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
_SPACING: Final = frozenset("\u0e33\u0eb3")
_PREPEND: Final = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd\U000111c2\U000111c3"
    "\U0001193f\U00011941\U00011a3a\U00011a84\U00011a85\U00011a86\U00011a87\U00011a88\U00011a89\U00011d46\U00011f02"
)
_PICTOGRAPHS: Final = frozenset("\u00a9\u00ae\u203c\u2049\u2122\u2139\u3030\u303d\u3297\u3299")
_FIRST_JOINABLE: Final = "\u0300"
_FOLLOWS: Final = {"L": "LVS", "V": "VT", "S": "VT", "T": "T", "": ""}
_FINALS: Final = 28


def is_boundary(text: str, position: int) -> bool:
    """Whether a cut before `text[position]` leaves every grapheme cluster whole. The ends of the text are boundaries;
    so is every place further than 256 characters into one cluster, which no script needs.
    """
    if position <= 0 or position >= len(text):
        return True
    before, after = text[position - 1], text[position]
    if after < _FIRST_JOINABLE and before < _FIRST_JOINABLE:
        return not (before == "\r" and after == "\n")
    if _is_control(before) or _is_control(after):
        return True
    if _continues(after) or before in _PREPEND:
        return not _within_cluster(text, position)
    return not (
        _hangul_joins(before, after)
        or _flag_joins(text, position)
        or _emoji_joins(text, position)
        or _conjunct_joins(text, position)
    )


def boundary_near(text: str, position: int, start: int, end: int) -> int | None:
    """The boundary strictly between `start` and `end` that is nearest to `position`, or None when there is none within
    256 characters to either side.
    """
    for distance in range(_LOOK_BACK + 1):
        for place in (position - distance, position + distance):
            if start < place < end and is_boundary(text, place):
                return place
    return None


def _is_control(character: str) -> bool:
    if character in _EXTEND or character in _PREPEND:
        return False
    return unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp"}


def _continues(character: str) -> bool:
    """Extend, ZWJ or SpacingMark: never the first character of a cluster (GB9, GB9a)."""
    if character < _FIRST_JOINABLE:
        return False
    if character in _EXTEND or character in _SPACING or character in _SKIN_TONES:
        return True
    return unicodedata.category(character) in {"Mn", "Me", "Mc"}


def _within_cluster(text: str, position: int) -> bool:
    """True unless the run of continuing characters before `position` is longer than any real cluster."""
    floor = position - _LOOK_BACK
    return floor < 0 or not all(map(_continues, text[floor:position]))


def _hangul_joins(before: str, after: str) -> bool:
    """GB6 to GB8: a leading consonant, a vowel or a syllable with what may follow it."""
    first, second = _hangul(before), _hangul(after)
    closed = first == "S" and (ord(before) - ord("\uac00")) % _FINALS != 0
    return second != "" and second in ("T" if closed else _FOLLOWS[first])


def _hangul(character: str) -> str:
    """Leading consonant, vowel, final consonant or syllable."""
    if "\u1100" <= character <= "\u115f" or "\ua960" <= character <= "\ua97c":
        return "L"
    if "\u1160" <= character <= "\u11a7" or "\ud7b0" <= character <= "\ud7c6":
        return "V"
    if "\u11a8" <= character <= "\u11ff" or "\ud7cb" <= character <= "\ud7fb":
        return "T"
    return "S" if "\uac00" <= character <= "\ud7a3" else ""


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_joins(text: str, position: int) -> bool:
    """GB12 and GB13: regional indicators pair up from the start of their run."""
    if not (_is_flag_letter(text[position]) and _is_flag_letter(text[position - 1])):
        return False
    start = position
    floor = max(0, position - 2 * _LOOK_BACK)
    while start > floor and _is_flag_letter(text[start - 1]):
        start -= 1
    return (position - start) % 2 == 1


def _emoji_joins(text: str, position: int) -> bool:
    """GB11: pictograph, marks, ZWJ, pictograph."""
    if text[position - 1] != _ZWJ or not _is_pictograph(text[position]):
        return False
    place = position - 2
    floor = max(0, position - _LOOK_BACK)
    while place > floor and _continues(text[place]) and text[place] != _ZWJ:
        place -= 1
    return place >= 0 and _is_pictograph(text[place])


def _is_pictograph(character: str) -> bool:
    if "\U0001f000" <= character <= "\U0001faff":
        return not _is_flag_letter(character)
    return "\u2190" <= character <= "\u2bff" or character in _PICTOGRAPHS


def _conjunct_joins(text: str, position: int) -> bool:
    """GB9c: a consonant after a virama stays with the consonant before it."""
    place = position - 1
    if not text[position].isalpha() or not _continues(text[place]):
        return False
    floor = max(0, position - _LOOK_BACK)
    while place >= floor and _continues(text[place]):
        if unicodedata.combining(text[place]) == _VIRAMA:
            return True
        place -= 1
    return False
