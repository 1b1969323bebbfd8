"""The exact text of one generation of a document, rejoined from its stored passages (RULES 14), of which only those are
read that are asked for.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from common.domain.addresses import Place
from common.domain.errors import Unavailable

_HALF_BLOCK: Final = 16

Passages = Mapping[str, Any]
Read = Callable[[Collection[int]], Iterable[Passages]]
"""The payloads of the passages at those places, in any order."""


class StoredText:
    """A PagedText over `passages` stored passages. `length` is the document's number of characters.

    Every method raises Unavailable when a passage that it needs is not stored.
    """

    def __init__(self, name: str, passages: int, length: int, read: Read) -> None:
        self.length = length if passages else 0
        self._name = name
        self._passages = passages
        self._read = read
        self._known: dict[int, Passages] = {}

    def slice(self, start: int, end: int) -> str:
        if start >= end:
            return ""
        first = self._holding(start)
        self._fetch(range(first, min(self._passages, first + self._likely(end - start))))
        pieces, ordinal = [], first
        while True:
            passage = self._passage(ordinal)
            pieces.append(f"{passage['before']}{passage['text']}{passage.get('after', '')}")
            if _tile_end(passage) >= end:
                break
            ordinal += 1
        skipped = start - _tile_start(self._passage(first))
        text = "".join(pieces)[skipped : skipped + end - start]
        if len(text) < end - start:
            raise self._lacking(ordinal)
        return text

    def starts(self, start: int, end: int) -> Sequence[int]:
        """Where passages start in that range, in order."""
        found, ordinal = [], self._first(lambda passage: int(passage["start"]) >= start, self._guess(start))
        while ordinal < self._passages and (at := int(self._passage(ordinal)["start"])) < end:
            found.append(at)
            ordinal += 1
        return found

    def position(self, place: Place) -> int | None:
        """Where the passage starts that the place lies in or before; None when the document has no such place."""
        ordinal = self._ordinal(place)
        return int(self._passage(ordinal)["start"]) if ordinal < self._passages else None

    def _ordinal(self, place: Place) -> int:
        if place.ordinal is not None:
            return place.ordinal
        line, page = place.line, place.page
        if line is not None:
            return self._first(lambda passage: _last_line(passage) >= line, 0)
        return self._first(lambda passage: (passage["page"] or 0) >= (page or 0), 0)

    def _holding(self, position: int) -> int:
        return self._first(lambda passage: _tile_end(passage) > position, self._guess(position))

    def _first(self, holds: Callable[[Passages], bool], guess: int) -> int:
        """The first passage for which `holds` is true, as it is for all behind it; their number when there is none."""
        low, high = 0, self._passages
        while low < high:
            block = range(max(low, guess - _HALF_BLOCK), min(high, guess + _HALF_BLOCK))
            self._fetch(block)
            found = next((ordinal for ordinal in block if holds(self._passage(ordinal))), block.stop)
            if found == block.start:
                high = found
            elif found < block.stop:
                return found
            else:
                low = found
            guess = (low + high) // 2
        return low

    def _guess(self, position: int) -> int:
        return min(self._passages - 1, position * self._passages // max(1, self.length))

    def _likely(self, characters: int) -> int:
        """About how many passages hold so many characters."""
        return characters * self._passages // max(1, self.length) + 2

    def _passage(self, ordinal: int) -> Passages:
        self._fetch(range(ordinal, ordinal + 1))
        return self._known[ordinal]

    def _fetch(self, ordinals: Sequence[int]) -> None:
        missing = [ordinal for ordinal in ordinals if ordinal not in self._known]
        if missing:
            self._known |= {int(passage["ordinal"]): passage for passage in self._read(missing)}
        for ordinal in missing:
            if ordinal not in self._known:
                raise self._lacking(ordinal)

    def _lacking(self, ordinal: int) -> Unavailable:
        return Unavailable(f"the index lacks passage {ordinal} of {self._name}; `fichario reconcile` tells more")


def _tile_start(passage: Passages) -> int:
    return int(passage["start"]) - len(passage["before"])


def _tile_end(passage: Passages) -> int:
    return int(passage["end"]) + len(passage.get("after", ""))


def _last_line(passage: Passages) -> int:
    """The last line of the passage's text, with what follows the document's last one; 0 where no lines are cited."""
    return int(passage["lines"][1]) + str(passage.get("after", "")).count("\n") if passage["lines"] else 0
