"""Which code page bytes that are not Unicode were written in: Western European where the letters make words of a
Western language, another one only on strong evidence, and none at all rather than wrong letters.
"""

import re
from collections.abc import Iterator
from typing import Final

_HIGH: Final = re.compile(r"[^\x00-\x7f]")
_SAMPLE: Final = 20_000
_PLAUSIBLE: Final = 0.8
_CERTAIN: Final = 0.9
_MARGIN: Final = 0.05
_OWN_SCRIPT: Final = 24
_JOINED: Final = 0.25

_WESTERN: Final = tuple(
    map(
        frozenset,
        (
            "áàâãçéêíóôõúü",
            "áéíñóúü",
            "àâæçéèêëîïôœùûüÿ",
            "äöüß",
            "àèéìíîòóùú",
            "àçèéíïòóúü",
            "áéëïóöüè",
            "æøåéèêóòâôäöü",
            "åäöéàü",
            "áéíóúýþæöð",
        ),
    )
)
_CENTRAL: Final = tuple(map(frozenset, ("ąćęłńóśźż", "áäčďéěíĺľňóôŕřšťúůýž", "áéíóöőúüű", "ăâîşţ", "čćđšž", "äöüß")))
_TURKISH: Final = (frozenset("çğıöşüâîûi\u0307"),)  # noqa: RUF001
_BALTIC: Final = (frozenset("ąčęėįšųūž"), frozenset("āčēģīķļņšūž"), frozenset("äöõüšž"))

_LATIN: Final = (
    ("cp1252", _WESTERN),
    ("iso8859_15", _WESTERN),
    ("cp1250", _CENTRAL),
    ("iso8859_2", _CENTRAL),
    ("cp1254", _TURKISH),
    ("cp1257", _BALTIC),
    ("cp850", _WESTERN),
    ("mac_roman", _WESTERN),
)
# The commonest characters of a script and the share of them that its text has at least.
_RUSSIAN: Final = "оеаинтсрвл"
_JAPANESE: Final = "のにはをたがでとしてれさるいあっなもかりンスルトリアイ、。ー"
_OTHER: Final = (
    ("cp1251", _RUSSIAN, 0.5),
    ("koi8_r", _RUSSIAN, 0.5),
    ("cp866", _RUSSIAN, 0.5),
    ("iso8859_5", _RUSSIAN, 0.5),
    ("cp1253", "αοιετσνηυρ", 0.5),
    ("cp1255", "יוהלאמרתבש", 0.5),
    ("cp1256", "الينومرتبه", 0.45),
    ("cp932", _JAPANESE, 0.25),
    ("euc_jp", _JAPANESE, 0.25),
    ("gb18030", "的一是不了在人有我他这中大来上国和说们为，。", 0.12),  # noqa: RUF001
    ("big5", "的一是不了在人有我他這中大來上國和說們為，。", 0.12),  # noqa: RUF001
    ("euc_kr", "이다는에을의가고지하로사도한리기", 0.2),
)
# What else is written beside letters, and what of it may stand inside a word.
_SYMBOLS: Final = frozenset("\u00a0¡¢£¥§©ª«\u00ad®°±²³·¹º»¼½¾¿×÷µ¶€–—‘’‚“”„†‡•…‰‹›™ˆ˜")  # noqa: RUF001
_INSIDE: Final = frozenset("’·\u00ad")  # noqa: RUF001
_ALONE: Final = frozenset("áàâãéèêóòôíìúùýøåöæ")


def find_code_page(data: bytes) -> str | None:
    """The name of the codec, None when no code page is certain enough."""
    scores = {codec: _latin(text, alphabets) for codec, alphabets in _LATIN if (text := _decoded(data, codec))}
    best = max(scores, key=scores.__getitem__, default=None)
    western = scores.get("cp1252", 0.0)
    if best and western >= max(_PLAUSIBLE, scores[best] - _MARGIN):
        return "cp1252"
    if best and scores[best] >= _CERTAIN:
        return best
    ratios = {page[0]: ratio for page in _OTHER if (ratio := _own_script(data, *page)) >= 1}
    return max(ratios, key=ratios.__getitem__, default=None)


def _decoded(data: bytes, codec: str) -> str:
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        return ""


def _latin(text: str, alphabets: tuple[frozenset[str], ...]) -> float:
    """The share, 0..1, of letters and symbols beyond ASCII that stand where one language would have them; 0 where less
    than a quarter of the letters has a plain letter beside it, as in a script of its own.
    """
    found = list(_places(text))
    letters = [text[place] for place in found if text[place].isalpha() and text[place] not in "ªº"]
    joined = sum(_in_latin_word(text, place) for place in found if text[place].isalpha() and text[place] not in "ªº")
    if joined < _JOINED * len(letters):
        return 0.0
    language = max(alphabets, key=lambda alphabet: sum(letter.lower() in alphabet for letter in letters))
    known = frozenset[str]().union(*alphabets)
    return sum(_fitness(text, place, language, known) for place in found) / len(found)


def _places(text: str) -> Iterator[int]:
    for count, match in enumerate(_HIGH.finditer(text)):
        if count == _SAMPLE:
            return
        yield match.start()


def _in_latin_word(text: str, place: int) -> bool:
    beside = text[max(place - 1, 0) : place] + text[place + 1 : place + 2]
    if any(character.isascii() and character.isalpha() for character in beside):
        return True
    if not any(map(str.isalpha, beside)):
        return text[place].lower() in _ALONE
    return _two_in_word(text, place)


def _two_in_word(text: str, place: int) -> bool:
    """A pair such as the one in `ação`: the neighbour has a plain letter on its other side."""
    before, after = text[max(place - 2, 0) : max(place - 1, 0)], text[place + 2 : place + 3]
    return any(character.isascii() and character.isalpha() for character in (before, after))


def _fitness(text: str, place: int, language: frozenset[str], known: frozenset[str]) -> float:
    character = text[place]
    before, after = text[max(place - 1, 0) : place], text[place + 1 : place + 2]
    if character.isalpha() and character not in "ªº":
        if character.isupper() and before.islower():
            return 0.0
        lower = character.lower()
        return 1.0 if lower in language else 0.5 if lower in known else 0.0
    inside = before.isalpha() and after.isalpha()
    if character not in _SYMBOLS or (inside and character not in _INSIDE):
        return 0.0
    return 1.0


def _own_script(data: bytes, codec: str, common: str, least: float) -> float:
    """How far the share of the script's commonest characters exceeds the least that its text has (1: reaches it)."""
    beyond = _HIGH.findall(_decoded(data, codec))[:_SAMPLE]
    if len(beyond) < _OWN_SCRIPT:
        return 0.0
    return sum(character in common for character in beyond) / len(beyond) / least
