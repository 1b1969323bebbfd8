"""How much of a document its passages embed, and the reasons for what they do not (RULES 15)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from common.domain.documents import Dropped, ParsedDocument, Passage
from common.domain.graphemes import is_boundary
from common.domain.splitting import is_blank
from common.domain.tokens import TokenEnds, map_tokens

_LONGEST: Final = 2_048
_ENCODED: Final = re.compile(rf"(?<![A-Za-z0-9+/=_%-])[A-Za-z0-9+/=_%-]{{{_LONGEST},}}")
_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class Coverage:
    """Tokens of the parsed text and of the passages, without special tokens; each warning explains a difference."""

    tokens_in_source: int
    tokens_embedded: int
    warnings: tuple[str, ...] = ()


def encoded_runs(text: str) -> Iterator[Dropped]:
    """Words of 2,048 and more base64, hexadecimal or percent characters (embedded pictures, keys): no question asks for
    them. Their first 64 characters stay, so that the place is still found.
    """
    for match in _long_words(text):
        end = match.end()
        while not is_boundary(text, end):
            end -= 1
        length = match.end() - match.start()
        yield Dropped(
            match.start() + _KEPT, end, f"encoded data of {length:,} characters without a space is not embedded"
        )


def _long_words(text: str) -> Iterator[re.Match[str]]:
    # Only a line as long as such a word can hold one, and hardly any document has a line of that length.
    start = 0
    for line in text.split("\n"):
        if len(line) >= _LONGEST:
            yield from _ENCODED.finditer(text, start, start + len(line))
        start += len(line) + 1


def dropped_ranges(document: ParsedDocument) -> tuple[Dropped, ...]:
    """What the parser left out and the encoded data in the rest, by position."""
    ranges = [*document.dropped, *encoded_runs(document.text)]
    return tuple(sorted(ranges, key=lambda dropped: (dropped.start, -dropped.end)))


def coverage(document: ParsedDocument, passages: Sequence[Passage], token_ends: TokenEnds) -> Coverage:
    """Adds up what the passages counted; the text is tokenised again only when some of it is in none of them."""
    embedded = sum(passage.tokens for passage in passages)
    gaps = [gap for gap in _gaps(document, passages) if not is_blank(document.text[slice(*gap)])]
    if not gaps:
        return Coverage(embedded, embedded)
    tokens = map_tokens(document, token_ends)
    warnings = []
    layout = 0
    for start, end, reason in _explained(gaps, dropped_ranges(document)):
        count = tokens.count(start, end)
        if reason and count:
            warnings.append(f"characters {start}-{end}: {reason} ({count} tokens)")
        layout += 0 if reason or is_blank(document.text[start:end]) else count
    if layout:
        warnings.append(f"rules and other layout between passages are not embedded ({layout} tokens)")
    return Coverage(len(tokens.ends), embedded, tuple(warnings))


def _gaps(document: ParsedDocument, passages: Iterable[Passage]) -> Iterator[tuple[int, int]]:
    position = 0
    for passage in passages:
        if passage.start > position:
            yield position, passage.start
        position = passage.end
    if position < len(document.text):
        yield position, len(document.text)


def _explained(gaps: Iterable[tuple[int, int]], dropped: Sequence[Dropped]) -> Iterator[tuple[int, int, str]]:
    """The parts of the gaps with the reason of each, empty for layout."""
    passed = 0
    for gap_start, end in gaps:
        start = gap_start
        while passed < len(dropped) and dropped[passed].end <= start:
            passed += 1
        place = passed
        while place < len(dropped) and dropped[place].start < end:
            hole = dropped[place]
            if hole.start > start:
                yield start, hole.start, ""
            if hole.end > start:
                yield max(start, hole.start), min(end, hole.end), hole.reason
            start = max(start, min(end, hole.end))
            place += 1
        if start < end:
            yield start, end, ""
