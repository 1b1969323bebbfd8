"""What no longer answers leaves the index and the catalog. Every step may be repeated."""

from dataclasses import dataclass

from common.domain.objects import ObjectChange
from common.domain.records import ObjectRecord
from common.ports import Catalog, VectorIndex


@dataclass(frozen=True, slots=True)
class Sweeping:
    """The clean-up behind one change of one object."""

    change: ObjectChange
    index: VectorIndex
    catalog: Catalog

    def clean_up(self) -> None:
        """Delete all generations below the one that answers, and this one when it never will."""
        ref, generation = self.change.ref, self.change.generation
        known = self.catalog.object(ref)
        if known is not None and known.live != generation and known.state != "deleted":
            self.discard()
        below = _below(known)
        for collection in self._collections():
            self.index.sweep(ref.base, collection, ref.name, below)
        self.catalog.drop_documents(ref, below)

    def discard(self) -> None:
        """Delete what was written of exactly this generation."""
        ref, generation = self.change.ref, self.change.generation
        for collection in self._collections():
            self.index.discard(ref.base, collection, ref.name, generation)
        self.catalog.drop_documents(ref, generation + 1, since=generation)

    def _collections(self) -> tuple[str, ...]:
        record = self.catalog.base(self.change.ref.base)
        if record is None:
            return ()
        return tuple(dict.fromkeys((*record.writes_to, *((record.live,) if record.live else ()))))


def _below(known: ObjectRecord | None) -> int:
    if known is None:
        return 0
    return max(known.tombstone + 1, known.live if known.live is not None else 0)
