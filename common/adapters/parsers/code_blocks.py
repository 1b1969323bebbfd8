"""From the units that a structural scanner found to the blocks of a document: what no unit covers becomes plain code
blocks, so nothing of the text is lost whatever the scanner made of it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from common.domain.documents import Block, ParsedDocument

SMALL: Final = 1_200
"""Characters up to which a class or a block of configuration stays one unit: about 300 tokens."""
BIG_STATEMENT: Final = 4
"""Lines from which a statement that declares no symbol is a unit of its own."""
_LONGEST_TITLE: Final = 120
_SHORT_PIECE: Final = 80
_BLANK_LINES: Final = re.compile(r"\n[ \t\r]*(?=\n)")
_LEADING: Final = re.compile(r"\s*(?://|/\*|\*|#\s|#$|#!|#\[|\[\w[^\]]*\]\s*$|--|@|\"\"\"|'''|;;|<!--|\{\{/\*)")
_DANGLING: Final = " {([=:;,>\\"
_CLOSERS: Final = re.compile(r"(?:[})\]][ \t;,]*//[^\n]*|[\s})\];,]|\bend\b|#[ \t]*endif\b[^\n]*)*")


@dataclass(frozen=True, slots=True)
class Unit:
    """`text[start:end]` with the titles it stands under, its own last. A loose one is what lies between symbols: it
    may be joined with its neighbours and is cut at blank lines. `opens` numbers a unit that its scanner is still to
    open into smaller ones; 0 is none.
    """

    start: int
    end: int
    headings: tuple[str, ...] = ()
    loose: bool = False
    opens: int = 0


def cover(text: str, start: int, end: int, symbols: Sequence[Unit], headings: tuple[str, ...]) -> list[Unit]:
    """The symbols of one region, in order, with loose units for what lies between them.

    Closing brackets and keywords behind a symbol are no unit of their own: the symbol takes them in.
    """
    units: list[Unit] = []
    position = start
    for symbol in symbols:
        begin = max(symbol.start, position)
        _add_loose(text, position, begin, units, headings)
        if begin < symbol.end:
            units.append(Unit(begin, symbol.end, symbol.headings, symbol.loose, symbol.opens))
            position = symbol.end
    _add_loose(text, position, end, units, headings)
    return units


def line_start(text: str, floor: int, position: int) -> int:
    """The start of the line when only indentation stands before `position` on it."""
    start = position
    while start > floor and text[start - 1] in " \t":
        start -= 1
    return start if start == 0 or text[start - 1] == "\n" else position


def above(text: str, start: int, comment: re.Pattern[str]) -> int:
    """The start of the comment lines right above a definition, which begins at `start`, if that is a line's start."""
    while start > 0 and text[start - 1] == "\n":
        line = text.rfind("\n", 0, start - 1) + 1
        if not comment.match(text, line, start):
            break
        start = line
    return start


def _add_loose(text: str, start: int, end: int, units: list[Unit], headings: tuple[str, ...]) -> None:
    closers = _CLOSERS.match(text, start, end)
    stop = closers.end() if closers else start
    if stop == end and units and not units[-1].loose:
        units[-1] = replace(units[-1], end=start + len(text[start:end].rstrip()))
    elif start < end:
        units.append(Unit(start, end, headings, loose=True))


def blocks_of(text: str, units: Iterable[Unit]) -> tuple[Block, ...]:
    """The blocks of units that do not overlap, in order. Blank ones are left out, white space around them too."""
    blocks: list[Block] = []
    for unit in units:
        if unit.loose:
            blocks += [
                Block(start, end, "code", unit.headings) for start, end in paragraphs(text, unit.start, unit.end)
            ]
        else:
            blocks += [
                Block(start, end, "symbol", unit.headings, whole=True, alone=True)
                for start, end in _trimmed(text, unit.start, unit.end)
            ]
    return tuple(blocks)


def paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The ranges between blank lines; a piece shorter than a line stays with what follows it."""
    for match in _BLANK_LINES.finditer(text, start, end):
        if match.start() - start >= _SHORT_PIECE:
            yield from _trimmed(text, start, match.end())
            start = match.end()
    yield from _trimmed(text, start, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The range from the first line that is not blank to its last visible character; nothing when it is blank."""
    piece = text[start:end]
    visible = piece.lstrip()
    if visible:
        indent = text.rfind("\n", start, end - len(visible)) + 1
        yield max(start, indent), start + len(piece.rstrip())


def code_document(source: str, text: str, units: Iterable[Unit]) -> ParsedDocument:
    """A document of kind `code`, its text raw: what follows are the exact lines of the file."""
    return ParsedDocument(source=source, title=source, text=text, blocks=blocks_of(text, units), kind="code")


def signature(text: str) -> str:
    """The first line that says something, without what only opens a body: the title of a unit that has no name."""
    for line in text.split("\n", 40)[:40]:
        if line.strip() and not _LEADING.match(line):
            line = " ".join(line.split())  # noqa: PLW2901 - the same line, cleaned
            cleaned = line.split(" {", 1)[0].rstrip(_DANGLING) or line.rstrip(_DANGLING)
            cleaned = cleaned.removesuffix(" do")
            if cleaned:
                return cleaned[:_LONGEST_TITLE].rstrip()
    return ""
