"""What a base holds, document by document: the entries of its table of contents, and the card that a model is shown of
it. Pure.
"""

import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Final

from common.domain.budget import estimate_tokens
from common.domain.documents import JsonValue
from common.domain.records import DocumentRecord

COMMIT_SHOWN: Final = 12
CARD_TOKENS: Final = 900
"""What a card takes where nobody says how long it may be."""
_BREAKING: Final = frozenset({"Cc", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One document of a table of contents. `origin` is its repository and commit, empty where it names none; `traits`
    are the folder, the category and the keywords that it may share with others, each behind its kind.
    """

    source: str
    object: str
    title: str
    external_id: str
    category: str
    pinned: bool
    passages: int
    tokens: int
    origin: tuple[str, str]
    traits: tuple[tuple[str, str], ...]


def entry_of(record: DocumentRecord) -> Entry:
    folder = record.source.rpartition("/")[0]
    words = dict.fromkeys(word.casefold() for word in (*record.keywords, *record.tags))
    return Entry(
        source=record.source,
        object=record.object,
        title=record.title,
        external_id=record.external_id,
        category=record.category,
        pinned=record.pinned,
        passages=record.passages,
        tokens=record.tokens_in_source,
        origin=_origin(record.metadata),
        traits=(
            *((("folder", folder),) if folder else ()),
            *((("category", record.category),) if record.category else ()),
            *(("keyword", word) for word in words),
        ),
    )


def under(entries: Sequence[Entry], prefix: str) -> Sequence[Entry]:
    """Those whose source starts with the prefix; `entries` are sorted by source."""
    first = bisect_left(entries, prefix, key=lambda entry: entry.source)
    return list(takewhile(lambda entry: entry.source.startswith(prefix), islice(entries, first, None)))


def card(
    base: str,
    bucket: str,
    entries: Sequence[Entry],
    max_tokens: int,
    count_tokens: Callable[[str], int] = estimate_tokens,
) -> str:
    """What there is to ask, for a model to read first: at most `max_tokens`, cut at a whole line, equal for equal
    entries (sorted by source). `bucket` is where the base's files come from, unless all documents name one repository.
    """
    passages, tokens = sum(entry.passages for entry in entries), sum(entry.tokens for entry in entries)
    scale = f"{len(entries)} document(s), {passages} passage(s), ~{tokens} tokens of source material (NOT in context)"
    head = [
        f"Knowledge base: {base}",
        f"Origin: {_common_origin(entries) or one_line(bucket)}",
        f"Scale: {scale}",
        "Table of contents:",
    ]
    # No line takes less than a token, so what a budget can hold bounds the work whatever the base holds.
    lines = [*head, *(entry_line(entry.source, entry.passages, entry.title) for entry in entries[:max_tokens])]

    def shown(count: int) -> str:
        left = len(entries) + len(head) - count
        more = [f"… and {min(left, len(entries))} more (toc)"] if left and entries else []
        return "".join(f"{line}\n" for line in (*lines[:count], *more))

    if count_tokens(shown(len(lines))) <= max_tokens:
        return shown(len(lines))
    fitting = bisect_left(range(len(lines)), max_tokens + 1, key=lambda count: count_tokens(shown(count)))
    return shown(fitting - 1) if fitting else ""


def entry_line(source: str, passages: int, title: str) -> str:
    """One line of a table of contents."""
    return f"- {_unbroken(source)} ({passages} passages) — {one_line(title)}"


def one_line(text: str) -> str:
    """The text as one line, white space as single blanks."""
    return " ".join(_unbroken(text).split())


def _unbroken(text: str) -> str:
    """The text with a blank for every line end and control character: a name cannot add lines of its own."""
    if text.isprintable():
        return text
    return "".join(" " if unicodedata.category(character) in _BREAKING else character for character in text)


def _origin(metadata: Mapping[str, JsonValue]) -> tuple[str, str]:
    repository, commit = metadata.get("repoUrl"), metadata.get("commit")
    return (repository if isinstance(repository, str) else "", commit if isinstance(commit, str) else "")


def _common_origin(entries: Sequence[Entry]) -> str:
    """`<repository> @ <commit>` when every document names the same; empty otherwise."""
    origins = {entry.origin for entry in entries}
    repository, commit = origins.pop() if len(origins) == 1 else ("", "")
    if not repository:
        return ""
    return one_line(f"{repository} @ {commit[:COMMIT_SHOWN]}" if commit else repository)
