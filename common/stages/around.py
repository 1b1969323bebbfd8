"""Passages around those that an answer found, read by their place in the document."""

from collections.abc import Sequence
from dataclasses import dataclass

from common.domain.index import point_id
from common.domain.objects import ObjectRef
from common.domain.pieces import Key, Piece, piece_of
from common.ports import VectorIndex
from common.stages.candidates import View


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Reads from the index of one base at a time. What a place of one generation holds never changes."""

    index: VectorIndex

    def read(self, view: View, wanted: Sequence[tuple[Piece, int]]) -> dict[tuple[Key, int], Piece | None]:
        """The wanted passages of documents, by document and ordinal; None where a document has none."""
        points = {
            point_id(ObjectRef(piece.base, piece.object), piece.generation, piece.source, ordinal): (piece, ordinal)
            for piece, ordinal in wanted
        }
        payloads = self.index.payloads(view.base, view.collection.name, list(points))
        return {
            (piece.key, ordinal): piece_of(payloads[point], stale=piece.stale) if point in payloads else None
            for point, (piece, ordinal) in points.items()
        }
