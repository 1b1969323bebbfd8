"""What a question's words may stand for in one base: themselves, and, where those fail, words that begin with them or
differ by one slip of the finger. Pure; the words of a base come with its passages.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from common.domain.lexical import Mode, QuestionTerm, fold, idf, prefix_and_typo_candidates, term_code, tokenise
from common.domain.stopwords import STOP_WORDS

PREFIX_SHARE: Final = 0.8
TYPO_SHARE: Final = 0.7
"""What a match by prefix or by one edit is worth beside an exact one, in score and in coverage."""
MOST_ALTERNATIVES: Final = 8
"""Words that one word of a question may stand for; those of the nearest length are taken."""
MOST_WORDS: Final = 20_000
"""Words that one document adds to its base's; an ordinary book has fewer."""
_WORD: Final = re.compile(r"[^\W\d_]{4,40}")
_LONGEST_OVER_TERM: Final = 2


@dataclass(frozen=True, slots=True)
class Alternative:
    """A term of the base that a question's term may stand for; `display` marks a prefix with * and a typo with ~."""

    code: int
    share: float
    display: str


class Wanted(NamedTuple):
    """One term of a question in one base: its idf, how many passages hold it, and what else may stand for it (code to
    weight and display, every weight below the term's own).
    """

    term: QuestionTerm
    weight: float
    frequency: int
    others: Mapping[int, tuple[float, str]]

    @property
    def unknown(self) -> bool:
        return not self.frequency and not self.term.optional


def written_words(texts: Iterable[str]) -> list[str]:
    """The distinct words of four letters and more, folded, in the order in which they first stand there."""
    found = dict.fromkeys(word for text in texts for word in _WORD.findall(fold(text)))
    return [word for word in found if word not in STOP_WORDS][:MOST_WORDS]


def vocabulary_of(stored: Iterable[str]) -> tuple[str, ...]:
    """The sorted words of a base from what its documents store: words with blanks between them."""
    found: set[str] = set()
    for words in stored:
        found.update(words.split())
    return tuple(sorted(found))


def alternatives(term: QuestionTerm, vocabulary: Sequence[str], mode: Mode) -> tuple[Alternative, ...]:
    """What the term may stand for in a base with this vocabulary, nearest in length first; never the term itself."""
    word = fold(term.display)
    if mode == "off" or not _WORD.fullmatch(word):
        return ()
    prefixed, typos = prefix_and_typo_candidates(word, vocabulary)
    near = [w for w in prefixed if len(w) <= _LONGEST_OVER_TERM * len(word)]
    marked = [(w, TYPO_SHARE, f"{word}~") for w in typos] + [(w, PREFIX_SHARE, f"{word}*") for w in near]
    found: dict[int, Alternative] = {}
    for candidate, share, display in sorted(marked, key=lambda row: (abs(len(row[0]) - len(word)), row[0])):
        code = term_code(tokenise(candidate, mode)[0])
        if code != term.code:
            found.setdefault(code, Alternative(code, share, display))
    return tuple(found.values())[:MOST_ALTERNATIVES]


def exact(terms: Sequence[QuestionTerm], passages: int, frequencies: Mapping[int, int]) -> tuple[Wanted, ...]:
    """The question as it is written, given the number of passages and of those that hold each term."""
    wanted = []
    for term in terms:
        frequency = frequencies.get(term.code, 0)
        if frequency or not term.optional:
            wanted.append(Wanted(term, idf(passages, frequency), frequency, {}))
    return tuple(wanted)


def expanded(wanted: Wanted, others: Sequence[Alternative], passages: int, frequencies: Mapping[int, int]) -> Wanted:
    """The term with what it may stand for. A term that no passage holds weighs as much as the rarest of those."""
    rarities = {other: idf(passages, frequencies[other.code]) for other in others if frequencies.get(other.code)}
    if not rarities:
        return wanted
    weight = wanted.weight if wanted.frequency else max(rarities.values())
    found = {other.code: (other.share * min(weight, rarity), other.display) for other, rarity in rarities.items()}
    return Wanted(wanted.term, weight, wanted.frequency, found)


def weights_of(question: Sequence[Wanted]) -> dict[int, float]:
    """The question as the sparse look-up wants it: term code to weight."""
    weights = {wanted.term.code: wanted.weight for wanted in question if wanted.frequency}
    for wanted in question:
        for code, (weight, _) in wanted.others.items():
            weights[code] = max(weight, weights.get(code, 0.0))
    return weights


def codes_of(question: Sequence[Wanted]) -> frozenset[int]:
    """All terms that a passage may hold of the question."""
    return frozenset([code for wanted in question for code in (wanted.term.code, *wanted.others)])


def total_weight(question: Sequence[Wanted]) -> float:
    """The summed idf of the question, known terms or not: what a BM25 score is measured by."""
    return sum(wanted.weight for wanted in question)


def covered(question: Sequence[Wanted], held: Collection[int]) -> float:
    """The share, 0..1, of the question's weight whose terms the passage holds; 0 for a question without terms."""
    total = total_weight(question)
    return sum(_best(wanted, held) for wanted in question) / total if total else 0.0


def reachable(question: Sequence[Wanted]) -> float:
    """What `covered` can come to at most, also once the known terms may stand for others: no other one weighs more than
    the term itself.
    """
    total = total_weight(question)
    most = sum(
        wanted.weight if wanted.frequency else max((weight for weight, _ in wanted.others.values()), default=0.0)
        for wanted in question
    )
    return most / total if total else 0.0


def matched(question: Sequence[Wanted], held: Collection[int]) -> tuple[str, ...]:
    """The question's terms that a passage holds, folded; those held only in another form carry its mark."""
    shown: dict[str, None] = {}
    for wanted in question:
        if wanted.term.code in held:
            shown[_folded(wanted.term.display)] = None
        else:
            shown.update((display, None) for code, (_, display) in wanted.others.items() if code in held)
    return tuple(shown)


_folded = lru_cache(maxsize=4096)(fold)


def _best(wanted: Wanted, held: Collection[int]) -> float:
    if wanted.term.code in held:
        return wanted.weight
    return max((weight for code, (weight, _) in wanted.others.items() if code in held), default=0.0)
