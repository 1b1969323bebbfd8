"""Documents for real models: paragraphs of real sentences in two languages, each with a mark that says which document,
version and part it is.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from random import Random

from common.domain.search import AnswerPassage

TRAVEL = Path(__file__).parents[1] / "corpus" / "travel"
MARK = re.compile(r"doc(\w+) version(\d+) part(\d+)of(\d+)")
_SENTENCES_EACH = 4
_SENTENCE = re.compile(r"[A-ZÀ-Ú][^.!?|#*\n]{40,220}[.!?]")

Mark = tuple[str, int, int, int]
"""Name, version, part and parts of the document that a passage belongs to."""


@lru_cache(maxsize=1)
def sentences() -> tuple[str, ...]:
    texts = chain.from_iterable(sorted(TRAVEL.glob(f"{language}/*")) for language in ("pt", "en"))
    return tuple(chain.from_iterable(_SENTENCE.findall(path.read_text(encoding="utf-8")) for path in texts))


def prose(name: str, version: int, parts: int) -> bytes:
    """A document of that many paragraphs, each a passage of its own; no two of any document are equal."""
    chance = Random(f"{name} {version}")  # noqa: S311 - the same each time
    return "\n\n".join(
        f"doc{name} version{version} part{part}of{parts}. {' '.join(chance.sample(sentences(), _SENTENCES_EACH))}"
        for part in range(parts)
    ).encode()


def marks_of(text: str) -> list[Mark]:
    """The marks of a passage: short paragraphs may share one."""
    return [(name, int(version), int(part), int(parts)) for name, version, part, parts in MARK.findall(text)]


def whole_of(name: str, passages: Sequence[AnswerPassage]) -> int | None:
    """The version of a document that these passages of an answer make up; fails when they are not one whole."""
    marks = [mark for passage in passages for mark in marks_of(passage.text) if mark[0] == name]
    if not marks:
        return None
    versions = {version for _, version, _, _ in marks}
    assert len(versions) == 1, f"{name}: versions {versions} at once"
    parts = sorted(part for _, _, part, _ in marks)
    assert parts == list(range(marks[0][3])), f"{name}: parts {parts} of {marks[0][3]}"
    return versions.pop()
