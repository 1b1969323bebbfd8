"""What of the material is shown within a budget: pinned documents, then what was found, then whole sections around it,
then the beginning of what did not fit, then what stands next to it. Pure.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from common.domain.budget import Size
from common.domain.cutting import cut_at_word
from common.domain.framing import frame
from common.domain.pieces import Key, Material, Piece, Pinned
from common.domain.writing import LEAST_FRAGMENT, Chosen, Writer

READS: Final = 3
"""How many passages around the best one are read at most: each takes up to a tenth of a millisecond."""
_FRAME: Final = frame("")


@dataclass(slots=True)
class Layout:
    """Chooses; `left` is what the budget still has, `truncated` whether anything was cut or left out. `share` is the
    part of the budget that a pinned document which does not fit must leave to what was found.
    """

    writer: Writer
    material: Material
    max_documents: int | None
    share: Callable[[Size], Size] | None = None
    slack: float = 0
    left: Size = field(init=False)
    truncated: bool = False
    chosen: dict[Key, Chosen] = field(default_factory=dict)
    _placed: list[Piece] = field(default_factory=list)
    _left_out: list[Piece] = field(default_factory=list)
    _begun: tuple[Size, dict[Key, Chosen]] = field(init=False)

    def __post_init__(self) -> None:
        around = self.writer.budget.size(_FRAME).plus(Size(self.slack, self.slack))
        self.left = self.writer.budget.limit.minus(around)
        self._pin()
        self._place()
        self.truncated |= bool(self._left_out)
        self._begun = self.left, self.chosen
        if self.material.known is not None:
            self.surround(self.material.known)

    def surround(self, known: Mapping[tuple[Key, int], Piece | None]) -> None:
        """Fill what is left of the budget, with what is known around what was found; knowing more, do it again."""
        self.material = replace(self.material, known=known)
        self.left, self.chosen = self._begun[0], dict(self._begun[1])
        self._complete_sections()
        for piece in self._left_out:
            self._cut(piece)
        self._widen()
        self._in_order()

    def wanted(self) -> list[tuple[Piece, int]]:
        """The places that the best passage's section may go on to and that are worth reading: the passage, and each
        ordinal near it, the nearest first. A document without headings has no sections; nothing when the budget is
        spent.
        """
        best = next((piece for piece in self._placed if piece.headings), None)
        if best is None:
            return []
        reads = min(READS, self._affordable())
        near = (best.ordinal + step * distance for distance in range(1, READS + 1) for step in (1, -1))
        unknown = [ordinal for ordinal in near if ordinal >= 0 and not self._knows(best.key, ordinal)]
        return [(best, ordinal) for ordinal in unknown[:reads]]

    def _affordable(self) -> int:
        """How many passages may still fit, were they half as long as those found."""
        if not self._placed:
            return 0
        mean = sum(len(piece.text) for piece in self._placed) / len(self._placed)
        return int(min(2 * self.left.characters / max(1.0, mean), self.left.tokens))

    def _pin(self) -> None:
        """Whole documents first; of the first one that does not fit, what is left to it."""
        partial: list[Pinned] = []
        for document in self.material.pinned:
            if not document.pieces:
                self.truncated = True
                continue
            if not (document.whole and self._add(document.pieces, document.title, pinned=True)):
                self.truncated = True
                partial.append(document)
        if partial:
            self._begin(partial[0])

    def _in_order(self) -> None:
        """Documents stand as they were found, also one whose beginning came last."""
        keys = [document.pieces[0].key for document in self.material.pinned if document.pieces]
        keys += [piece.key for group in self.material.found for piece in group]
        self.chosen = {key: self.chosen[key] for key in dict.fromkeys(keys) if key in self.chosen}

    def _begin(self, document: Pinned) -> None:
        """As much of the pinned document's beginning as its share holds."""
        reserved = self._reserved(self.left)
        self.left = self.left.minus(reserved)
        low, high = 0, len(document.pieces)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._fits(document.pieces[:middle], document.title) else (low, middle - 1)
        self._add(document.pieces[:low], document.title, pinned=True)
        if low < len(document.pieces):
            self._cut(document.pieces[low], document.title, pinned=True)
        self.left = self.left.plus(reserved)

    def _reserved(self, whole: Size) -> Size:
        if self.share is not None:
            return self.share(whole)
        found = Size()
        for piece in (piece for group in self.material.found for piece in group):
            found = found.plus(self._alone(piece))
        return whole.times(0.5).least(found)

    def _place(self) -> None:
        """What was found, base by base. A base leaves to each one behind it room for its best passage, or an equal
        share of what there is.
        """
        groups = [group for group in self.material.found if group]
        for number, group in enumerate(groups):
            behind = groups[number + 1 :]
            fair = self.left.times(1 / (len(behind) + 1))
            reserve = Size()
            for other in behind:
                reserve = reserve.plus(self._alone(other[0]).least(fair))
            self.left = self.left.minus(reserve)
            self._place_group(group)
            self.left = self.left.plus(reserve)

    def _place_group(self, group: Sequence[Piece]) -> None:
        for number, piece in enumerate(group):
            if self._is_whole(piece) or self._add([piece], piece.title):
                self._placed.append(piece)
            elif number or not self._cut(piece):
                self._left_out.append(piece)

    def _complete_sections(self) -> None:
        for piece in self._placed:
            section = list(self._section(piece)) if piece.headings else []
            if section and self._is_closed(piece, section):
                self._add(section, piece.title)

    def _widen(self) -> None:
        """Neighbours of the same section, the nearest first, as long as they fit."""
        for piece in self._placed:
            for step in (1, -1):
                ordinal = piece.ordinal + step
                while self._knows(piece.key, ordinal):
                    neighbour = self._at(piece.key, ordinal)
                    if neighbour is None or not _same_section(piece, neighbour):
                        break
                    if ordinal not in self.chosen[piece.key].pieces and not self._add([neighbour], piece.title):
                        break
                    ordinal += step

    def _section(self, piece: Piece) -> Iterator[Piece]:
        """The known passages of the passage's section that are not yet shown."""
        shown = self.chosen[piece.key].pieces
        for step in (-1, 1):
            ordinal = piece.ordinal + step
            while (other := self._at(piece.key, ordinal)) is not None and _same_section(piece, other):
                if ordinal not in shown:
                    yield other
                ordinal += step

    def _is_closed(self, piece: Piece, section: Sequence[Piece]) -> bool:
        """Whether the section's ends are known."""
        shown = self.chosen[piece.key].pieces
        ordinals = {other.ordinal for other in section} | set(shown)
        for step in (-1, 1):
            ordinal = piece.ordinal
            while ordinal in ordinals and _same_section(piece, self._at(piece.key, ordinal)):
                ordinal += step
            if ordinal >= 0 and not self._knows(piece.key, ordinal):
                return False
        return True

    def _is_whole(self, piece: Piece) -> bool:
        shown = self.chosen.get(piece.key)
        return shown is not None and piece.ordinal in shown.pieces and piece.ordinal != shown.cut

    def _knows(self, key: Key, ordinal: int) -> bool:
        return (key, ordinal) in (self.material.known or {}) or ordinal in self._shown(key)

    def _at(self, key: Key, ordinal: int) -> Piece | None:
        shown = self._shown(key)
        return shown[ordinal] if ordinal in shown else (self.material.known or {}).get((key, ordinal))

    def _shown(self, key: Key) -> dict[int, Piece]:
        chosen = self.chosen.get(key)
        return chosen.pieces if chosen else {}

    def _alone(self, piece: Piece) -> Size:
        return self.writer.size_of(Chosen(piece.title, pieces={piece.ordinal: piece}))

    def _fits(self, pieces: Sequence[Piece], title: str) -> bool:
        return self.left.holds(self.writer.size_of(Chosen(title, pieces={p.ordinal: p for p in pieces})))

    def _add(self, pieces: Sequence[Piece], title: str, *, pinned: bool = False) -> bool:
        """Show them if they fit, all of them or none."""
        if not pieces:
            return True
        before = self.chosen.get(pieces[0].key)
        if before is None and self.max_documents is not None and len(self.chosen) >= self.max_documents:
            return False
        after = Chosen(title, pinned or (before is not None and before.pinned))
        if before is not None:
            after.pieces, after.cut, after.beginning = dict(before.pieces), before.cut, before.beginning
        after.pieces |= {piece.ordinal: piece for piece in pieces}
        if after.cut in {piece.ordinal for piece in pieces}:
            after.cut = None
        return self._replace(pieces[0].key, before, after)

    def _cut(self, piece: Piece, title: str | None = None, *, pinned: bool = False) -> bool:
        """Show the beginning of the passage if any of it fits. A document shows one beginning at most."""
        before = self.chosen.get(piece.key)
        if before is None and self.max_documents is not None and len(self.chosen) >= self.max_documents:
            return False
        if before is not None and before.cut is not None:
            return False
        after = Chosen(title or piece.title, pinned or (before is not None and before.pinned))
        after.pieces = {**(before.pieces if before else {}), piece.ordinal: piece}
        after.cut = piece.ordinal
        room = self.left.plus(before.size if before else Size()).minus(self.writer.size_of(after))
        if room.characters <= 0 or room.tokens <= 0:
            return False
        text = self.writer.safe(piece)
        most = int(min(room.characters, len(text)))
        after.beginning = cut_at_word(text, most, lambda beginning: room.holds(self.writer.budget.size(beginning)))
        if not after.beginning or (self.chosen and len(after.beginning) < LEAST_FRAGMENT):
            return False
        self.truncated = True
        return self._replace(piece.key, before, after)

    def _replace(self, key: Key, before: Chosen | None, after: Chosen) -> bool:
        room = self.left.plus(before.size) if before else self.left
        after.size = self.writer.size_of(after)
        if after.pinned and not room.holds(after.size):
            # Masking may have made it shorter.
            after.size = self.writer.size_of(after, exact=True)
        if not room.holds(after.size):
            return False
        self.left = room.minus(after.size)
        self.chosen[key] = after
        return True


def _same_section(piece: Piece, other: Piece | None) -> bool:
    return other is not None and other.headings == piece.headings
