"""Passages around those that an answer found, read by their place in the document. What was read once is kept: the
passage of a place in one generation never changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from common.domain.index import point_id
from common.domain.objects import ObjectRef
from common.domain.pieces import Key, Piece, piece_of
from common.ports import AnswerCache, VectorIndex
from common.stages.candidates import View

_BYTES_PER_PIECE: Final = 700


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Reads from the index of one base at a time."""

    index: VectorIndex
    cache: AnswerCache

    def read(self, view: View, wanted: Sequence[tuple[Piece, int]]) -> dict[tuple[Key, int], Piece | None]:
        """The wanted passages of documents, by document and ordinal; None where a document has none."""
        found: dict[tuple[Key, int], Piece | None] = {}
        missing: dict[str, tuple[Piece, int]] = {}
        for piece, ordinal in wanted:
            ref = ObjectRef(piece.base, piece.object)
            point = point_id(ref, piece.generation, piece.source, ordinal)
            known: Piece | None = self.cache.get(self._key(view, point))
            if known is None:
                missing[point] = piece, ordinal
                found[piece.key, ordinal] = None
            else:
                found[piece.key, ordinal] = known
        payloads = self.index.payloads(view.base, view.collection.name, list(missing)) if missing else {}
        for point, payload in payloads.items():
            beside, ordinal = missing[point]
            read = piece_of(payload, stale=beside.stale)
            found[beside.key, ordinal] = read
            self.cache.put(self._key(view, point), read, len(read.text) + _BYTES_PER_PIECE)
        return found

    def _key(self, view: View, point: str) -> tuple[str, str, str, str]:
        return "passage", view.base, view.collection.name, point
