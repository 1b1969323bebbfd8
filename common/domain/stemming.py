"""A light stemmer for Portuguese, English and Spanish at once, on folded words. A stem depends on the word alone, so no
language is ever guessed, and the tables live here because a library's new release would change terms that are stored.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

MIN_LENGTH: Final = 4
"""Shorter words, and every word that holds a digit or a letter outside a-z, are their own stem."""

_Endings = Mapping[str, tuple[str, int]]

_VOWELS: Final = "aeiou"


def _table(*rows: tuple[str, str, int]) -> _Endings:
    """Endings -> (what replaces them, the least number of letters that must stand before them)."""
    return {ending: (replacement, least) for endings, replacement, least in rows for ending in endings.split()}


_ADVERBS: Final = _table(("mente", "", 4), ("ly", "", 5))

_NUMBER: Final = _table(
    ("s", "", 3),
    ("ss", "ss", 1),
    ("us", "us", 1),
    ("is", "is", 1),
    ("oes aes", "ao", 2),
    ("ais", "al", 2),
    ("eis", "el", 2),
    ("ois", "ol", 2),
    ("ores", "or", 2),
    ("ares", "ar", 3),
    ("eres", "er", 3),
    ("nes", "n", 3),
    ("des", "d", 3),
    ("les", "l", 3),
    ("zes", "z", 2),
    ("wares", "ware", 1),
    ("ies ied", "y", 2),
    ("sses", "ss", 1),
    ("sis", "s", 3),
)

_ENCLITICS: Final = _table(
    ("arse arlo arla arle arlos arlas", "ar", 3),
    ("erse erlo erla erlos", "er", 3),
    ("irse irlo irla", "ir", 3),
    ("andose", "ando", 3),
    ("iendose", "iendo", 3),
)

_ENDINGS: Final = _table(
    # Nouns and adjectives made of verbs and adjectives: configuração, configuración and configuration meet.
    ("acao acion ation icao icion ition ucao ucion", "", 4),
    ("cao cion", "c", 3),
    ("tion", "t", 3),
    ("sao sion", "s", 3),
    ("amento imento amiento imiento", "", 3),
    ("ment", "", 6),
    ("ness less ful", "", 4),
    ("idade idad ity abilidade ibilidade abilidad ibilidad ability ibility", "", 4),
    ("avel ivel able ible abl ibl", "", 4),
    ("ador adora adore edor edora idor idora", "", 3),
    ("ancia ance ancy", "ant", 4),
    ("encia ence ency", "ent", 4),
    ("anca", "", 4),
    ("ismo ista ism ist oso osa ous ico ica ical ic", "", 5),
    ("ativo ativa ative ate ated ating ator esa ese", "", 4),
    # Verbs.
    ("ado ada", "", 3),
    ("ido ida", "", 4),
    ("ando endo indo iendo", "", 3),
    ("ava avam aba aban ia iam ian aram eram iram aran eran iran aron eron ieron", "", 3),
    ("ara era ira arao erao irao eria iria ariam eriam iriam arian erian irian", "", 3),
    ("asse esse isse assem essem issem", "", 3),
    ("amos emos imos amo emo imo an", "", 4),
    ("aremos eremos iremos", "", 4),
    ("ar er ir arem erem irem am em en ing ed", "", 3),
    ("eed", "eed", 1),
    ("eira eiro", "eir", 1),
)


def _sizes(table: _Endings) -> Mapping[str, tuple[int, ...]]:
    """The lengths of a table's endings by their last letter, the longest first."""
    found: dict[str, set[int]] = {}
    for ending in table:
        found.setdefault(ending[-1], set()).add(len(ending))
    return {letter: tuple(sorted(sizes, reverse=True)) for letter, sizes in found.items()}


_STEPS: Final = tuple((table, _sizes(table)) for table in (_ADVERBS, _NUMBER, _ENCLITICS, _ENDINGS))

# Words of their own that the tables would drive into another word's stem, or out of their own family's.
_EXCEPTIONS: Final[Mapping[str, str]] = {
    "data": "data",
    "estado": "estad",
    "embed": "embed",
    "used": "use",
    "using": "use",
    "apis": "api",
    "clis": "cli",
    "uris": "uri",
}


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of one folded word; never empty and never longer than the word."""
    if len(word) < MIN_LENGTH or not (word.isascii() and word.isalpha()):
        return word
    for table, sizes in _STEPS:
        if word in _EXCEPTIONS:
            return _EXCEPTIONS[word]
        word = _without_ending(word, table, sizes.get(word[-1], ()))
    word = word[:3] + word[3:].rstrip(_VOWELS)
    if len(word) >= MIN_LENGTH and word[-1] == "y" and word[-2] not in _VOWELS:
        # company meets compañía, and query stays apart from the Portuguese "quer".
        word = word[:-1] if len(word) > 6 else word[:-1] + "i"  # noqa: PLR2004
    return word


def _without_ending(word: str, table: _Endings, sizes: Sequence[int]) -> str:
    """The word with its longest ending of the table replaced, or the word itself. What stays must hold a vowel."""
    for size in sizes:
        rule = table.get(word[-size:])
        if rule is None or size == len(word):
            continue
        kept, (replacement, least) = word[:-size], rule
        if len(kept) >= least and (replacement or any(letter in "aeiouy" for letter in kept)):
            return _single_consonant(kept) if word.endswith(("ing", "ed")) and not replacement else kept + replacement
    return word


def _single_consonant(word: str) -> str:
    """stopp, sett -> stop, set: what English doubles before -ing and -ed."""
    doubled = len(word) >= MIN_LENGTH and word[-1] == word[-2] and word[-1] in "bdgmnprt"
    return word[:-1] if doubled else word
