"""A light stemmer for Portuguese, English and Spanish at once, on folded words. The stem depends on the word alone, and
the tables live here because a library's new release would change terms that are already stored."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

MIN_LENGTH: Final = 4
"""Shorter words, and every word that holds a digit or a letter outside a-z, are their own stem."""

_Rule = tuple[str, str, int]

# Each row: ending, what replaces it, the least number of letters that must stand before the ending.
_PLURALS: Final[tuple[_Rule, ...]] = (
    ("oes", "ao", 2),
    ("aes", "ao", 2),
    ("ies", "y", 2),
    ("sses", "ss", 1),
    ("ais", "al", 2),
    ("eis", "el", 2),
    ("ois", "ol", 2),
    ("ns", "m", 3),
    ("ss", "ss", 1),
    ("us", "us", 1),
    ("is", "is", 1),
    ("s", "", 3),
)

_ADVERBS: Final[tuple[_Rule, ...]] = (("mente", "", 4), ("ly", "", 4))

_DERIVED: Final[tuple[_Rule, ...]] = tuple(
    (ending, replacement, least)
    for endings, replacement, least in (
        ("izacao izacion ization isation", "iz", 3),
        ("acao acion ation", "", 4),
        ("icao icion ucao ucion", "", 4),
        ("cao cion tion sao sion", "", 4),
        ("amento imento amiento imiento", "", 3),
        ("idade idad ility ity", "", 4),
        ("ador adora edor edora idor idora", "", 4),
        ("ancia encia ance ence", "", 4),
        ("avel ivel able ible", "", 4),
        ("ismo ista ism ist", "", 4),
        ("oso osa ous", "", 4),
        ("ivo iva ive", "", 4),
        ("ness ment less ful", "", 4),
    )
    for ending in endings.split()
)

_VERBS: Final[tuple[_Rule, ...]] = tuple(
    (ending, "", least)
    for endings, least in (
        ("ariam eriam iriam assem essem issem aremos eremos iremos", 3),
        ("ando endo indo iendo", 3),
        ("aram eram iram aron eron ieron", 3),
        ("avam aban", 3),
        ("ava aba iam ian", 3),
        ("arao erao irao aran eran iran", 3),
        ("ados adas idos idas ado ada ido ida", 3),
        ("aria eria iria ara era ira", 4),
        ("asse esse isse ase ese", 4),
        ("ar er ir am em an en ou eu iu ing ed", 3),
    )
    for ending in endings.split()
)

_VOWELS: Final = "aeo"


def _by_ending(rules: Iterable[_Rule]) -> dict[str, tuple[str, int]]:
    return {ending: (replacement, least) for ending, replacement, least in rules}


_STEPS: Final = tuple(
    (_by_ending(rules), max(len(rule[0]) for rule in rules)) for rules in (_PLURALS, _ADVERBS, _DERIVED, _VERBS)
)


def _strip(word: str, rules: dict[str, tuple[str, int]], longest: int) -> str:
    """The word with its longest ending of the table replaced, or the word itself."""
    for size in range(min(longest, len(word) - 1), 0, -1):
        rule = rules.get(word[-size:])
        if rule is not None and len(word) - size >= rule[1]:
            return word[:-size] + rule[0]
    return word


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of one folded word; never empty, never longer than the word."""
    if len(word) < MIN_LENGTH or not (word.isascii() and word.isalpha()):
        return word
    for rules, longest in _STEPS:
        word = _strip(word, rules, longest)
    if len(word) > MIN_LENGTH - 1 and word[-1] in _VOWELS:
        word = word[:-1]
    if len(word) > MIN_LENGTH - 1 and word[-1] == "y" and word[-2] not in "aeiou":
        word = word[:-1] + "i"
    return word
