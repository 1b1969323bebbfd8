"""Which blocks share a passage. A paragraph stands alone; short pieces of one section are joined; a heading goes with
what follows it. Every choice looks at the neighbourhood only, so an edit moves no passage further on.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

from common.domain.documents import Block, Dropped, ParsedDocument
from common.domain.splitting import pick, trim

PARAGRAPH: Final = 64
"""Tokens from which a block stands alone."""
TINY: Final = 24
"""Tokens below which pieces do not make a passage of their own when a neighbour has room."""
_section: Final = attrgetter("block.alone", "block.headings", "block.page", "stretch")
_LED_IN: Final = frozenset({"code", "table"})


class Unit(NamedTuple):
    """A block with the headings in front of it; `headed` is where the block's own text begins, `size` is in tokens, and
    `stretch` counts the dropped ranges before it: what they part is never joined again.
    """

    start: int
    end: int
    headed: int
    block: Block
    size: int
    stretch: int


class Ruler(Protocol):
    """Measures ranges of the document in tokens."""

    def size(self, start: int, end: int) -> int: ...

    def zone(self, start: int, end: int) -> tuple[int, int]:
        """The characters between which a cut leaves a third on either side."""

    def room(self, block: Block) -> int:
        """Tokens that units joined with this block may have together."""


def units(document: ParsedDocument, dropped: Sequence[Dropped], ruler: Ruler) -> Iterator[Unit]:
    """The document's units in order; what was dropped and what is blank is in none of them."""
    waiting: list[Unit] = []
    for start, end, block, stretch in _pieces(document, dropped):
        heads = block.kind == "heading" and not block.alone
        if not heads and not waiting:
            yield Unit(start, end, start, block, ruler.size(start, end), stretch)
            continue
        # Headings are measured with what follows them.
        piece = Unit(start, end, start, block, 0, stretch)
        if waiting and not _may_head(waiting, piece, ruler):
            yield _together(waiting, waiting[-1], ruler)
            waiting = []
        if heads:
            waiting.append(piece)
        else:
            yield _together(waiting or [piece], piece, ruler)
            waiting = []
    if waiting:
        yield _together(waiting, waiting[-1], ruler)


def _may_head(headings: Sequence[Unit], piece: Unit, ruler: Ruler) -> bool:
    if piece.block.alone or piece.stretch != headings[0].stretch:
        return False
    return ruler.size(headings[0].start, piece.start) * 2 <= ruler.room(piece.block)


def _together(headings: Sequence[Unit], last: Unit, ruler: Ruler) -> Unit:
    start = headings[0].start
    return Unit(start, last.end, last.start, last.block, ruler.size(start, last.end), last.stretch)


def _pieces(document: ParsedDocument, dropped: Sequence[Dropped]) -> Iterator[tuple[int, int, Block, int]]:
    """What is left of each block, without the white space around it, and how many dropped ranges lie before it."""
    text = document.text
    passed = 0
    for block in document.blocks:
        position = block.start
        while passed < len(dropped) and dropped[passed].end <= position:
            passed += 1
        if passed == len(dropped):
            start, end = trim(text, position, block.end)
            if start < end:
                yield start, end, block, passed
            continue
        place = passed
        while place < len(dropped) and dropped[place].start < block.end:
            start, end = trim(text, position, max(position, dropped[place].start))
            if start < end:
                yield start, end, block, place
            position = max(position, dropped[place].end)
            place += 1
        start, end = trim(text, position, max(position, block.end))
        if start < end:
            yield start, end, block, place


def group_by_paragraph(text: str, parts: Iterable[Unit], ruler: Ruler) -> Iterator[list[Unit]]:
    """Paragraphs kept apart, short pieces joined."""
    for section in _sections(parts):
        for group in _join(text, section, ruler):
            yield from _divide(text, group, ruler)


def group_by_size(text: str, parts: Iterable[Unit], ruler: Ruler) -> Iterator[list[Unit]]:
    """Sections packed up to the room there is."""
    for section in _sections(parts):
        yield from _divide(text, section, ruler)


def _sections(parts: Iterable[Unit]) -> Iterator[list[Unit]]:
    for key, section in groupby(parts, key=_section):
        if key[0]:
            yield from ([unit] for unit in section)
        else:
            yield list(section)


def _join(text: str, section: Sequence[Unit], ruler: Ruler) -> list[list[Unit]]:
    groups: list[list[Unit]] = []
    run: list[Unit] = []
    for unit in section:
        if unit.size < PARAGRAPH:
            run.append(unit)
            continue
        group = [unit]
        if run and _leads_in(text, run[-1], unit) and _fits(run[-1:], group, ruler):
            group.insert(0, run.pop())
        _settle(run, groups, group, ruler)
        groups.append(group)
        run = []
    _settle(run, groups, [], ruler)
    return groups


def _leads_in(text: str, unit: Unit, following: Unit) -> bool:
    return following.block.kind in _LED_IN or text[unit.end - 1] == ":"


def _settle(run: list[Unit], groups: list[list[Unit]], following: list[Unit], ruler: Ruler) -> None:
    """Make a group of short units, or add them to a neighbour when there is too little in them."""
    if not run:
        return
    tiny = ruler.size(run[0].start, run[-1].end) < TINY
    if tiny and groups and _fits(groups[-1], run, ruler):
        groups[-1].extend(run)
    elif tiny and following and _fits(run, following, ruler):
        following[:0] = run
    else:
        groups.append(list(run))


def _fits(first: Sequence[Unit], second: Sequence[Unit], ruler: Ruler) -> bool:
    return ruler.size(first[0].start, second[-1].end) <= ruler.room(first[0].block)


def _divide(text: str, group: Sequence[Unit], ruler: Ruler) -> Iterator[list[Unit]]:
    """Cut a group that is too large between two units near its middle, and each part again."""
    if len(group) == 1:
        yield list(group)
        return
    room = ruler.room(group[0].block)
    starts = [unit.start for unit in group]
    waiting = [(0, len(group))]
    while waiting:
        first, last = waiting.pop()
        start, end = starts[first], group[last - 1].end
        if last - first == 1 or ruler.size(start, end) <= room:
            yield list(group[first:last])
            continue
        low, high = ruler.zone(start, end)
        inside = starts[bisect_left(starts, low, first + 1, last) : bisect_right(starts, high, first + 1, last)]
        if inside:
            cut = bisect_left(starts, pick(text, inside))
        else:
            middle = (low + high) // 2
            cut = min(range(first + 1, last), key=lambda place: abs(starts[place] - middle))
        waiting += [(cut, last), (first, cut)]
