"""The words of texts and questions as terms, and their BM25 weights. Every adapter stores and asks for what is built
here, so a change of any term or weight must raise LEXICAL_VERSION.
"""

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final, Literal, NamedTuple

from common.domain.stemming import stem
from common.domain.stopwords import STOP_WORDS

LEXICAL_VERSION: Final = 1
"""Part of the fingerprint: stored terms and weights of two versions are never compared."""

Mode = Literal["stem", "fold", "off"]

# Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009); values measured on FaQuAD and XQuAD. The
# average length is a constant so that a stored weight never depends on the rest of the base.
K1: Final = 1.2
B: Final = 0.75
AVERAGE_LENGTH: Final = 150

FIELD_WEIGHTS: Final[Mapping[str, float]] = {
    "text": 1.0,
    "title": 1.0,
    "headings": 1.0,
    "keywords": 1.0,
    "source": 0.5,
}
"""How many occurrences in the text one occurrence in a field is worth (BM25F); only the text has a length."""

_Kind = Literal["word", "stop", "name", "hyphenated"]
_Piece = tuple[str, _Kind, str]

_MARKS: Final = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_INVISIBLE: Final = re.compile("[\u00ad\u200b\u2060\ufeff]")
_PLAIN: Final = re.compile(r"\w+")
_CHUNK: Final = re.compile("[^\\W_]+(?:(?:_+|[-.\u2010])[^\\W_]+)*")
_SEPARATOR: Final = re.compile("[-_.\u2010]+")
# A separator between two digits is part of the number: 3.11 is not 311.
_JOINT: Final = re.compile("(?<![0-9])[-_.\u2010]+|[-_.\u2010]+(?![0-9])")
_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+|[0-9]+")
_PLURAL_ACRONYM: Final = re.compile(r"[A-Z]{2,}s")
_LONG: Final = 64
_LAST: Final = "\U0010ffff"


# A tuple, not a dataclass: a dozen are made per question, and a frozen dataclass takes four times as long to make.
class QuestionTerm(NamedTuple):
    """One distinct term of a question: as it is stored, as it was written, and whether it may be unknown for free (the
    joined form of a hyphenated word, whose parts are terms of their own).
    """

    term: str
    code: int
    display: str
    optional: bool = False


def fold(text: str) -> str:
    """The text without accents and case (NFKD, marks dropped, casefold); folding twice changes nothing."""
    if text.isascii():
        return text.lower()
    folded = _without_marks(_without_marks(text).casefold())
    return folded if folded.isascii() else _without_marks(folded.casefold())


def _without_marks(text: str) -> str:
    return _MARKS.sub("", unicodedata.normalize("NFKD", text))


def tokenise(text: str, mode: Mode) -> list[str]:
    """The terms of a text in order. `stem` and `fold` split compound names and keep the joined name beside its parts;
    `stem` also leaves out stop words, unless there is nothing else. `off` gives the lower-cased words.
    """
    pieces = list(_pieces(text, mode))
    content = [term for term, kind, _ in pieces if kind != "stop"]
    return content or [term for term, _, _ in pieces]


def question_terms(text: str, mode: Mode) -> tuple[QuestionTerm, ...]:
    """The distinct terms of a question in order, each with the form in which it was first written."""
    found: dict[str, tuple[str, _Kind]] = {}
    for term, kind, display in _pieces(text, mode):
        found.setdefault(term, (display, kind))
    only_stop_words = all(kind == "stop" for _, kind in found.values())
    return tuple(
        QuestionTerm(term, term_code(term), display, optional=kind == "hyphenated")
        for term, (display, kind) in found.items()
        if only_stop_words or kind != "stop"
    )


@lru_cache(maxsize=1 << 17)
def term_code(term: str) -> int:
    """The term as an unsigned 32-bit number, the same on every machine: the index of the sparse vector and the value in
    the payload's `terms`. A question's term meets a foreign one of a base with v distinct terms with odds v / 2^32
    (one in 43,000 at 100,000 terms).
    """
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "big")


def lexical_weights(fields: Mapping[str, str], mode: Mode) -> dict[int, float]:
    """The BM25 term-frequency part of a passage by term code, over its text and the fields of FIELD_WEIGHTS. Stop words
    are kept, for a question that has nothing else, but add nothing to the length. Raises KeyError on a foreign field.
    """
    frequencies: dict[str, float] = {}
    length = 0
    for field, text in fields.items():
        weight = FIELD_WEIGHTS[field]
        for term, kind, _ in _pieces(text, mode):
            frequencies[term] = frequencies.get(term, 0.0) + weight
            length += field == "text" and kind == "word"
    norm = K1 * (1 - B + B * length / AVERAGE_LENGTH)
    return {term_code(term): tf * (K1 + 1) / (tf + norm) for term, tf in frequencies.items()}


def idf(passages: int, frequency: int) -> float:
    """ln(1 + (N - df + .5) / (df + .5)): positive, and smaller the more passages hold the term."""
    return math.log1p((passages - min(frequency, passages) + 0.5) / (frequency + 0.5))


def question_weights(terms: Sequence[QuestionTerm], passages: int, frequencies: Mapping[int, int]) -> dict[int, float]:
    """The idf of each of the question's terms by code, given the number of passages and of those that hold each term.
    An unknown term keeps its weight, so that it lowers the coverage, unless it is optional.
    """
    weights = {}
    for term in terms:
        frequency = frequencies.get(term.code, 0)
        if frequency or not term.optional:
            weights[term.code] = idf(passages, frequency)
    return weights


def bm25(question: Mapping[int, float], passage: Mapping[int, float]) -> float:
    """The BM25 score of a passage's stored weights for a question's idf weights."""
    return sum(weight * passage[code] for code, weight in question.items() if code in passage)


def prefix_and_typo_candidates(term: str, vocabulary: Sequence[str]) -> tuple[list[str], list[str]]:
    """Words of a sorted vocabulary that begin with the term (from 4 letters on), and those one Damerau-Levenshtein step
    away from it (from 5 letters on); neither list holds the term itself.
    """
    prefixed: list[str] = []
    if len(term) >= 4:  # noqa: PLR2004
        start, end = _range(term, vocabulary)
        prefixed = [word for word in vocabulary[start:end] if word != term]
    typos = _one_edit_away(term, vocabulary) if len(term) >= 5 else set[str]()  # noqa: PLR2004
    return prefixed, sorted(typos - {term})


def _one_edit_away(term: str, vocabulary: Sequence[str]) -> set[str]:
    """Walks the sorted list as a trie along the term; one edit at a time, the rest must then stand there exactly."""
    found: set[str] = set()
    start, end = 0, len(vocabulary)
    for place in range(len(term) + 1):
        head, rest = term[:place], term[place:]
        start, end = _range(head, vocabulary, start, end)
        if start == end:
            break
        tries = [head + rest[1:], head + rest[1:2] + rest[:1] + rest[2:]]
        for letter in _next_letters(head, vocabulary, start, end):
            tries += (head + letter + rest[1:], head + letter + rest)
        found.update(word for word in tries if _holds(vocabulary, word, start, end))
    return found


def _next_letters(head: str, vocabulary: Sequence[str], start: int, end: int) -> Iterator[str]:
    place = len(head)
    if start < end and len(vocabulary[start]) == place:
        start += 1
    while start < end:
        letter = vocabulary[start][place]
        yield letter
        start = bisect_left(vocabulary, head + letter + _LAST, start, end)


def _range(head: str, vocabulary: Sequence[str], start: int = 0, end: int | None = None) -> tuple[int, int]:
    """Where the words that begin with `head` stand, all of which stand from `start` to `end`."""
    start = bisect_left(vocabulary, head, start, end)
    return start, bisect_left(vocabulary, head + _LAST, start, end)


def _holds(vocabulary: Sequence[str], word: str, start: int, end: int) -> bool:
    place = bisect_left(vocabulary, word, start, end)
    return place < end and vocabulary[place] == word


def _pieces(text: str, mode: Mode) -> Iterator[_Piece]:
    """Each term of a text with what kind it is and the written form it stands for, in order."""
    if mode == "off":
        for word in _PLAIN.findall(text.lower()):
            yield word, "word", word
        return
    stemmed = mode == "stem"
    if not text.isascii():
        text = unicodedata.normalize("NFC", _INVISIBLE.sub("", text))
    for chunk in _CHUNK.findall(text):
        yield from _cached(chunk, stemmed) if len(chunk) <= _LONG else _expanded(chunk, stemmed)


def _expanded(chunk: str, stemmed: bool) -> tuple[_Piece, ...]:  # noqa: FBT001
    """The terms of one written word: of its parts, and of the whole when it has several."""
    if chunk.islower() and chunk.isalnum():
        return (_single(chunk, stemmed),)
    parts = _SEPARATOR.split(chunk)
    names = [name for part in parts for name in _camel(part)]
    pieces = [_single(name, stemmed) for name in names]
    if len(names) > 1 and len(chunk) <= _LONG:
        natural = len(names) == len(parts) and "_" not in chunk and "." not in chunk
        whole, _, _ = _single(_JOINT.sub("", chunk), stemmed)
        pieces.append((whole, "hyphenated" if natural else "name", chunk))
    return tuple(pieces)


_cached = lru_cache(maxsize=1 << 16)(_expanded)


def _camel(part: str) -> list[str]:
    """The humps of a camelCase name; a name with a one-letter hump (iPhone, OAuth2, PhD) is left whole."""
    if len(part) > _LONG or part.islower() or part.isupper() or part[1:].islower():
        return [part]
    plain = part if part.isascii() else _without_marks(part)
    if _PLURAL_ACRONYM.fullmatch(plain) or not plain.isascii():
        return [part]
    humps: list[str] = _CAMEL.findall(plain)
    return humps if len(humps) > 1 and min(map(len, humps)) > 1 else [part]


def _single(word: str, stemmed: bool) -> _Piece:  # noqa: FBT001
    folded = fold(word)
    if not stemmed:
        return folded, "word", word
    return (folded, "stop", word) if folded in STOP_WORDS else (stem(folded), "word", word)
