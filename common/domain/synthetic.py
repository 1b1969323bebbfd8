"""Questions made of a base's own passages, to fit its gate without any question of a person (RULES 16). Deterministic:
what a passage is asked follows from the seed, its id and the texts, never from the order of the input.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Final, Literal

from common.domain.lexical import fold, idf
from common.domain.stopwords import STOP_WORDS

Kind = Literal["keywords", "mask", "swapped", "title", "fragment"]

BUDGET: Final = 220
FRAGMENT_BUDGET: Final = 55
SWAPPED_SHARE: Final = 0.3
"""How many content words of a fragment give way to a sibling's, as a person's question rarely repeats every word."""

# Two of each kind for one of the title; of 28 recipes this mix lost least against the best cut in hindsight.
_ROUND: Final[tuple[Kind, ...]] = ("keywords", "mask", "swapped", "title", "keywords", "mask", "swapped")
_NO_SIBLINGS: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})

_WORD: Final = re.compile(r"\w+")
_SENTENCE_END: Final = re.compile(r"[.!?;:]\s|\n")
_SHORTEST: Final = 3
_CONTENT_WORDS: Final = 5
_MASKED_WORDS: Final = 12
_FRAGMENT: Final = (8, 14)


@dataclass(frozen=True, slots=True)
class SourcePassage:
    """A passage to make questions of; those of one `document` are siblings."""

    id: str
    document: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class SyntheticQuestion:
    """A question that the passage answers, and how it was made."""

    text: str
    kind: Kind
    passage_id: str


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """What a question's words are chosen from: content words of each passage, and in how many passages each occurs."""

    words: Mapping[str, Sequence[str]]
    frequencies: Mapping[str, int]
    siblings: Mapping[str, Sequence[str]]


def synthetic_questions(
    passages: Sequence[SourcePassage],
    seed: int = 0,
    budget: int = BUDGET,
    siblings: Mapping[str, Sequence[str]] = _NO_SIBLINGS,
) -> list[SyntheticQuestion]:
    """At most `budget` questions, spread over as many passages as there are, at most seven of one. `siblings` names, by
    passage id, those whose words may be swapped in; without it, those of the same document, or all where it is alone.
    """
    vocabulary = _vocabulary(passages, siblings)
    made: dict[tuple[str, str], SyntheticQuestion] = {}
    ordered = _sampled(passages, seed)
    for turn in range(len(_ROUND)):
        for place, passage in enumerate(ordered):
            if len(made) == budget:
                return list(made.values())
            kind = _ROUND[(turn + place) % len(_ROUND)]
            text = _ask(passage, kind, Random(f"{seed} {passage.id} {kind} {turn}"), vocabulary)  # noqa: S311
            if text:
                made.setdefault((passage.id, text), SyntheticQuestion(text, kind, passage.id))
    return list(made.values())


def fragment_questions(
    passages: Sequence[SourcePassage], seed: int = 0, budget: int = FRAGMENT_BUDGET
) -> list[SyntheticQuestion]:
    """At most `budget` runs of 8 to 14 words as they stand, one of a passage; they and the masked questions measure how
    a base's cosines spread.
    """
    made = []
    for passage in _sampled(passages, seed):
        words = _fragment(passage, Random(f"{seed} {passage.id} fragment"))  # noqa: S311
        if words:
            made.append(SyntheticQuestion(" ".join(words), "fragment", passage.id))
        if len(made) == budget:
            break
    return made


def _sampled(passages: Sequence[SourcePassage], seed: int) -> list[SourcePassage]:
    """All passages in an order drawn from seed and id: its head is an even sample, and stays one when others come."""
    return sorted(passages, key=lambda passage: (Random(f"{seed} {passage.id}").random(), passage.id))  # noqa: S311


def _ask(passage: SourcePassage, kind: Kind, rng: Random, vocabulary: _Vocabulary) -> str:
    """A question of the kind, or nothing where the passage has no sentence for it."""
    if kind == "keywords":
        words = _keywords(passage, rng, vocabulary)
    elif kind == "mask":
        words = _masked(passage, rng)
    elif kind == "swapped":
        words = _swapped(passage, rng, vocabulary)
    else:
        words = _titled(passage, rng, vocabulary)
    return " ".join(words)


def _keywords(passage: SourcePassage, rng: Random, vocabulary: _Vocabulary) -> list[str]:
    sentence = _sentence(passage, rng)
    common = {word for word, _ in Counter(vocabulary.words[passage.id]).most_common(2)}
    words = [word for word in sentence if _is_content(word) and word.lower() not in common]
    chosen = sorted(rng.sample(range(len(words)), min(len(words), rng.randint(5, 8))))
    return [words[place] for place in chosen]


def _masked(passage: SourcePassage, rng: Random) -> list[str]:
    """A sentence without its subject: what follows its second content word."""
    sentence = _sentence(passage, rng)
    content = [place for place, word in enumerate(sentence) if _is_content(word)]
    return sentence[content[1] + 1 :][:_MASKED_WORDS] if content else []


def _fragment(passage: SourcePassage, rng: Random) -> list[str]:
    sentence = _sentence(passage, rng, least=_FRAGMENT[0])
    size = min(len(sentence), rng.randint(*_FRAGMENT))
    start = rng.randint(0, len(sentence) - size)
    return sentence[start : start + size]


def _swapped(passage: SourcePassage, rng: Random, vocabulary: _Vocabulary) -> list[str]:
    own = set(vocabulary.words[passage.id])
    near = vocabulary.siblings[passage.id]
    foreign = [word for sibling in near for word in vocabulary.words.get(sibling, ()) if word not in own]
    return [
        rng.choice(foreign) if _is_content(word) and rng.random() < SWAPPED_SHARE and foreign else word
        for word in _fragment(passage, rng)
    ]


def _titled(passage: SourcePassage, rng: Random, vocabulary: _Vocabulary) -> list[str]:
    title = _WORD.findall(passage.title.replace("_", " "))
    if not any(word.isalpha() and _is_content(word) for word in title):
        return []
    count = len(vocabulary.words)
    counted = Counter(vocabulary.words[passage.id])
    weighty = sorted(counted, key=lambda word: (-counted[word] * idf(count, vocabulary.frequencies[word]), word))[:6]
    return title + rng.sample(weighty, min(2, len(weighty)))


def _sentence(passage: SourcePassage, rng: Random, least: int = 0) -> list[str]:
    """One of the sentences with enough content words and at least `least` words, or nothing."""
    sentences = [_WORD.findall(sentence) for sentence in _SENTENCE_END.split(passage.text)]
    fit = [words for words in sentences if len(words) >= least and sum(map(_is_content, words)) >= _CONTENT_WORDS]
    return rng.choice(fit) if fit else []


def _is_content(word: str) -> bool:
    return len(word) >= _SHORTEST and fold(word) not in STOP_WORDS


def _vocabulary(passages: Sequence[SourcePassage], siblings: Mapping[str, Sequence[str]]) -> _Vocabulary:
    words = {p.id: [word.lower() for word in _WORD.findall(p.text) if _is_content(word)] for p in passages}
    documents: dict[str, list[str]] = {}
    for passage in sorted(passages, key=lambda passage: passage.id):
        documents.setdefault(passage.document, []).append(passage.id)
    everyone = sorted(words)
    near: dict[str, Sequence[str]] = {}
    for passage in passages:
        others = documents[passage.document]
        near[passage.id] = siblings.get(passage.id) or (others if len(others) > 1 else everyone)
    return _Vocabulary(words, Counter(word for each in words.values() for word in set(each)), near)
