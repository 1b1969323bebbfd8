"""Tokens of a text for a model whose tokenizer is not here. Counts high on purpose: what fits by this estimate is to
fit for the provider too. Pure, and the same wherever it runs, for passages are cut by it.
"""

import re
from bisect import bisect_right
from typing import Final

_CONSONANT: Final = "[bcdfghjklmnpqrstvwxz]"
_ACCENTED: Final = "[\u00c0-\u024f]"
_PARTS: Final = re.compile(
    # What no vocabulary holds in one piece: runs of accented letters and of capitals (keys, base64).
    rf"{_ACCENTED}(?={_ACCENTED})"
    r"|[A-Z](?![a-z])|(?<=[A-Za-z0-9])[A-Z]"
    # Else up to three Latin letters of a word, though not on into a run of consonants.
    rf"|[A-Za-z\u00c0-\u024f](?:(?!{_CONSONANT}{{4}})[a-z\u00df-\u024f]){{0,2}}"
    # Digits one by one, and the blank before a number or another script, which byte-level vocabularies keep apart.
    r"| (?=[\d\u0370-\U0010ffff])"
    # Layout: line ends, tabs, runs of blanks. A single blank belongs to the word behind it.
    r"| {2,8}|[^\S ]"
    r"|\S"
)
_RANGES: Final = (0x530, 0x590, 0x700, 0x2000, 0x2E80, 0xA000, 0x10000)
_COSTS: Final = (1, 2, 1, 3, 2, 2, 3, 4)
"""Tokens of one character by where its code lies between `_RANGES`: at most its bytes, fewer for large scripts."""


def estimated_ends(text: str) -> list[int]:
    """For each token the character offset where it ends, never decreasing; some characters are several tokens."""
    ends: list[int] = []
    for match in _PARTS.finditer(text):
        end = match.end()
        code = ord(text[end - 1])
        if code < _RANGES[0]:
            ends.append(end)
        else:
            ends += [end] * _COSTS[bisect_right(_RANGES, code)]
    return ends


def estimated_tokens(text: str) -> int:
    """How many tokens `estimated_ends` lists."""
    return len(estimated_ends(text))
