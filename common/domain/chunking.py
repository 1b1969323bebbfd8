"""From a parsed document to its passages (RULES 14): they tile the text, each fits the model's window by the model's
own tokenizer, and an edit changes only the passages beside it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from common.domain.coverage import dropped_ranges
from common.domain.documents import Block, ParsedDocument, Passage
from common.domain.grouping import group_by_paragraph, group_by_size, units
from common.domain.space import CHUNKING_VERSION
from common.domain.splitting import find_cut, is_blank, trim
from common.domain.titles import file_title, plain_title
from common.domain.tokens import TokenEnds, TokenMap, map_tokens

_JOINED: Final = 256
_SPLIT: Final = 384
_SMALLEST: Final = 16
# A word of thousands of characters may be one unknown token: a passage stays readable whatever the tokenizer counts.
_CHARACTERS_PER_TOKEN: Final = 16
# Text and context counted apart may differ from both together by a few tokens where they meet.
_SEAM: Final = 16
_SEPARATOR: Final = " > "
_ENTRY: Final = re.compile(r" > |\n")
_WORD: Final = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """`target` tokens to pack up to (0: paragraphs kept apart), `overlap` tokens repeated in what is embedded, the
    model's `window` and how many tokens of it are `reserved` for prefix and special tokens.
    """

    target: int
    overlap: int
    window: int
    reserved: int
    version: int = CHUNKING_VERSION


class _Span(NamedTuple):
    """A passage to be: a range of at most `limit` tokens; `headed` is where the headings in front of it end."""

    start: int
    end: int
    headed: int
    block: Block
    kind: str
    limit: int


def chunk(document: ParsedDocument, settings: ChunkSettings, token_ends: TokenEnds) -> tuple[Passage, ...]:
    """The document's passages in order; none when it holds nothing to read. Raises ValueError for a window that leaves
    less than 16 tokens of text.
    """
    if settings.window - settings.reserved < _SMALLEST:
        raise ValueError(f"a window of {settings.window} tokens, {settings.reserved} of them reserved, is too small")
    # A file's name says nothing that its words are found by: as context it cost .004 of MRR on FaQuAD (e5).
    named = document.title in {file_title(document.source), document.source.rsplit("/", 1)[-1]}
    title = "" if named else document.title
    chunker = _Chunker(document, settings, token_ends, map_tokens(document, token_ends), title)
    return tuple(_passages(document, chunker.tokens, list(chunker.cut())))


@dataclass(frozen=True, slots=True)
class _Chunker:
    """One document being cut: measures its ranges for the grouping and remembers the contexts of its sections."""

    document: ParsedDocument
    settings: ChunkSettings
    token_ends: TokenEnds
    tokens: TokenMap
    title: str
    paths: dict[tuple[str, ...], tuple[str, int]] = field(default_factory=dict)
    limits: dict[tuple[tuple[str, ...], str, int], int] = field(default_factory=dict)

    def size(self, start: int, end: int) -> int:
        return max(self.tokens.count(start, end), (end - start) // _CHARACTERS_PER_TOKEN)

    def zone(self, start: int, end: int) -> tuple[int, int]:
        if (end - start) // _CHARACTERS_PER_TOKEN > self.tokens.count(start, end):
            third = (end - start) // 3
            return start + third, end - third
        return self.tokens.zone(start, end)

    def room(self, block: Block) -> int:
        return self._limit(block, _JOINED)

    def cut(self) -> Iterator[tuple[_Span, str]]:
        """Every passage's range with its context, each verified to fit the window as it will be embedded."""
        previous: _Span | None = None
        for span in self._spans():
            waiting = [span]
            while waiting:
                piece = waiting.pop()
                context = self._fitting_context(piece, previous)
                halves = self._halve(piece) if context is None else []
                if halves:
                    waiting += reversed(halves)
                    continue
                yield piece, context or ""
                previous = piece

    def _spans(self) -> Iterator[_Span]:
        """What would be one passage each, if it fitted."""
        text = self.document.text
        group = group_by_size if self.settings.target else group_by_paragraph
        for members in group(text, units(self.document, dropped_ranges(self.document), self), self):
            first = members[0]
            kinds = {unit.block.kind for unit in members}
            most = self.settings.window if any(unit.block.whole for unit in members) else _SPLIT
            kind = first.block.kind if len(kinds) == 1 else "paragraph"
            yield _Span(first.start, members[-1].end, first.headed, first.block, kind, self._limit(first.block, most))

    def _halve(self, span: _Span) -> list[_Span]:
        """The span cut in two near its middle, without a half that is blank; nothing when it is one character."""
        text = self.document.text
        cut = find_cut(text, span.start, span.end, self.zone(span.start, span.end), span.kind)
        if cut is None:
            return []
        ranges = (trim(text, span.start, cut), trim(text, cut, span.end))
        return [span._replace(start=start, end=end) for start, end in ranges if start < end]

    def _fitting_context(self, span: _Span, previous: _Span | None) -> str | None:
        """The passage's context, None when the passage is too long."""
        size = self.size(span.start, span.end)
        if size > span.limit:
            return None
        context, length = self._context(span, previous)
        apart = size + length + self.settings.reserved
        if apart + _SEAM <= self.settings.window:
            return context
        tokens = len(self.token_ends(context + self.document.text[span.start : span.end]))
        return context if tokens + self.settings.reserved <= self.settings.window else None

    def _limit(self, block: Block, most: int) -> int:
        """Tokens of text that go into one passage of `most` tokens beside its context."""
        key = block.headings, block.header, most
        if key not in self.limits:
            self.limits[key] = self._free(block, most)
        return self.limits[key]

    def _free(self, block: Block, most: int) -> int:
        settings = self.settings
        context = self._path(block, "")[1] + self._tokens(block.header) + settings.overlap
        context = min(context, self._context_limit)
        if settings.target:
            return min(settings.target, settings.window - settings.reserved - context)
        return min(settings.window, most) - settings.reserved - context

    @property
    def _context_limit(self) -> int:
        settings = self.settings
        return min(settings.window // 4, (settings.window - settings.reserved) // 2)

    def _tokens(self, text: str) -> int:
        return len(self.token_ends(text)) if text else 0

    def _context(self, span: _Span, previous: _Span | None) -> tuple[str, int]:
        """Heading path, table head and overlap, in front of the passage in what is embedded, and their tokens."""
        text = self.document.text
        own = text[span.start : span.end if span.block.kind == "heading" else max(span.start, span.headed)]
        path, length = self._path(span.block, own)
        extra = ""
        if span.block.header and span.start > span.headed:
            extra = span.block.header.rstrip("\n") + "\n"
        if self.settings.overlap and previous is not None and previous.block.headings == span.block.headings:
            extra += self._tail(text[previous.start : previous.end])
        if not extra:
            return path, length
        return shorten(path + extra, self._context_limit, self.token_ends)

    def _path(self, block: Block, own: str) -> tuple[str, int]:
        """Title and heading path as one line, without the headings in the passage's `own` text, and its tokens."""
        names = block.headings
        if self.title and self.title not in names:
            names = (self.title, *names)
        if own:
            present = {plain_title(line.strip("# \t\r")) for line in own.split("\n")}
            names = tuple(name for name in names if name not in present)
        if names not in self.paths:
            line = f"{_SEPARATOR.join(names)}\n" if names else ""
            self.paths[names] = shorten(line, self._context_limit, self.token_ends)
        return self.paths[names]

    def _tail(self, text: str) -> str:
        """The last words of the previous passage, at most `overlap` tokens."""
        return shorten(text, self.settings.overlap, self.token_ends)[0].rstrip() + "\n"


def shorten(context: str, limit: int, token_ends: TokenEnds) -> tuple[str, int]:
    """At most `limit` tokens of the text's end, beginning at a heading, a line or a word, and how many they are; empty
    when no word fits.
    """
    while context:
        ends = token_ends(context)
        if len(ends) <= limit:
            return context, len(ends)
        floor = max(ends[-limit - 1], 1)
        for pattern in (_ENTRY, _WORD):
            match = pattern.search(context, floor - 1)
            if match and match.end() < len(context):
                context = context[match.end() :]
                break
        else:
            break
    return "", 0


def _passages(document: ParsedDocument, tokens: TokenMap, pieces: Sequence[tuple[_Span, str]]) -> Iterator[Passage]:
    text = document.text
    position, line = 0, document.first_line
    for ordinal, (span, context) in enumerate(pieces):
        before = text[position : span.start]
        line += before.count("\n")
        last_line = line + text.count("\n", span.start, span.end)
        after = text[span.end :] if ordinal == len(pieces) - 1 else ""
        yield Passage(
            text=text[span.start : span.end],
            start=span.start,
            end=span.end,
            before=before,
            ordinal=ordinal,
            after=after,
            headings=span.block.headings,
            page=span.block.page if document.paged else None,
            lines=None if document.paged else (line, last_line),
            kind=span.kind,
            context=context,
            # A tokenizer that counts white space counts it with the passage it belongs to.
            tokens=tokens.count(
                position if is_blank(before) else span.start, len(text) if after and is_blank(after) else span.end
            ),
        )
        position, line = span.end, last_line
