"""A base as it would be with another collection in its place: for comparing both before anything is switched."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from common.domain.records import BaseRecord, CollectionRecord, DocumentRecord, Gate
from common.ports import Catalog, Live


@dataclass(frozen=True, slots=True)
class _Preview:
    """The part of the catalog that a question reads, with `live` and its gate in the base's record."""

    catalog: Catalog
    live_name: str
    gate: Gate

    def base(self, base: str) -> BaseRecord | None:
        record = self.catalog.base(base)
        if record is None:
            return None
        return replace(record, live=self.live_name, gates={**record.gates, self.live_name: self.gate})

    def collection(self, base: str, name: str) -> CollectionRecord | None:
        return self.catalog.collection(base, name)

    def epoch(self, base: str) -> int:
        return self.catalog.epoch(base)

    def live(self, base: str, names: Collection[str]) -> tuple[Mapping[str, Live], int]:
        return self.catalog.live(base, names)

    def documents(
        self, base: str, *, prefix: str = "", after: tuple[str, str] = ("", ""), limit: int = 0
    ) -> Sequence[DocumentRecord]:
        return self.catalog.documents(base, prefix=prefix, after=after, limit=limit)


def preview(catalog: Catalog, collection: str, gate: Gate) -> Catalog:
    """The catalog with that collection as the one that answers. Only what a question reads of it works."""
    return cast("Catalog", _Preview(catalog, collection, gate))
