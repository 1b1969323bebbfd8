"""Which document a name means: its source, an id, or a place in it as answers cite it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from common.domain.addresses import Place, is_passage_id, meant, names_apart, read_citation
from common.domain.errors import Refused
from common.domain.records import DocumentRecord
from common.ports import Catalog, VectorIndex
from common.stages.candidates import View

_SHOWN: Final = 200
_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class Addressed:
    """The documents that a name means, and the place in them when it was a passage's id or a citation."""

    records: Sequence[DocumentRecord]
    place: Place | None = None

    def one(self) -> DocumentRecord:
        """The only one. Raises Refused 409 AMBIGUOUS with `candidates`, names that each mean one of them alone."""
        if len(self.records) == 1:
            return self.records[0]
        candidates = names_apart(self.records)
        more = f" and {len(candidates) - _NAMED} more" if len(candidates) > _NAMED else ""
        told = f"Several documents have this name: {', '.join(candidates[:_NAMED])}{more}."
        raise Refused(409, "AMBIGUOUS", told, "source", candidates=candidates)


@dataclass(frozen=True, slots=True)
class Addressing:
    """Looks names up. What is a document's own name is never read as a citation of another one."""

    catalog: Catalog
    index: VectorIndex

    def find(self, view: View, name: str) -> Addressed:
        """At least one document. Raises Refused 404 NOT_FOUND."""
        found = self._named(view, name)
        if found:
            return Addressed(found)
        if is_passage_id(name):
            return self._holding(view, name)
        cited = read_citation(name)
        if cited is not None and (found := self._named(view, cited[0])):
            return Addressed(found, cited[1])
        raise not_found(view.base, name)

    def has(self, view: View, source: str) -> bool:
        """Whether a document has exactly this source."""
        return any(record.source == source for record in self.catalog.documents_named(view.base, source))

    def _named(self, view: View, name: str) -> Sequence[DocumentRecord]:
        found = meant(name, self.catalog.documents_named(view.base, name))
        return [record.within(view.collection.name) for record in found]

    def _holding(self, view: View, passage: str) -> Addressed:
        """The document that holds a passage of its live generation."""
        payload = self.index.payloads(view.base, view.collection.name, [passage]).get(passage)
        if payload is None:
            raise not_found(view.base, passage)
        found = self._named(view, payload["document_id"])
        if not found or found[0].generation != payload["generation"]:
            raise not_found(view.base, passage)
        return Addressed(found[:1], Place(ordinal=payload["ordinal"]))


def not_found(base: str, name: str) -> Refused:
    return Refused(404, "NOT_FOUND", f"Base {base} has no document {name[:_SHOWN]}.", "source")
