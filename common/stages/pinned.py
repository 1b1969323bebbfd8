"""The pinned documents of a base for one question: which come first, and as much of their text as a budget can hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from common.domain.index_rules import metadata_passes
from common.domain.lexical import question_terms, tokenise
from common.domain.pieces import Piece, Pinned, piece_of
from common.domain.records import DocumentRecord
from common.domain.search import Search, SearchFilter
from common.ports import Catalog, VectorIndex
from common.stages.candidates import Candidates, View

_FRONT_MATTER: Final = 4096
"""A document may have so many characters more than are shown of it."""
_KEPT: Final = 2_000_000
"""Characters of pinned documents remembered for one base."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A pinned document's record, and the terms that it is known by."""

    record: DocumentRecord
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class PinnedDocuments:
    """Reads them as of a base's view. What is remembered holds for the view's epoch."""

    catalog: Catalog
    index: VectorIndex
    candidates: Candidates

    def ranked(self, view: View, search: Search, found: Sequence[Piece], room: float) -> list[Pinned] | None:
        """Those that pass the question's filter, by relevance: those that were found, best first; then those that share
        most words with the question; then by source. None when the base moved.
        """
        known = self._known(view, search.filter)
        if not known:
            return []
        places = {piece.document_id: place for place, piece in reversed(list(enumerate(found)))}
        asked = {term.term for term in question_terms(search.query, view.mode)}

        def rank(pinned: _Known) -> tuple[int, int]:
            return places.get(pinned.record.document_id, len(places)), -len(asked & pinned.terms)

        # A stable sort: equal ones stay by source.
        return self._read(view, [pinned.record for pinned in sorted(known, key=rank)], room)

    def by_source(self, view: View, wanted: SearchFilter, room: float) -> list[Pinned] | None:
        """Those that pass the filter, in an order that depends on no question. None when the base moved."""
        return self._read(view, [pinned.record for pinned in self._known(view, wanted)], room)

    def _known(self, view: View, wanted: SearchFilter) -> list[_Known]:
        table = self.candidates.table(view, "pinned")
        if "known" not in table:
            listed = self.catalog.documents(view.base)
            records = [record.within(view.collection.name) for record in listed if record.pinned]
            table["known"] = [_Known(record, _terms(record, view)) for record in records]
        known: list[_Known] = table["known"]
        return known if wanted == SearchFilter() else [each for each in known if _passes(each.record, wanted)]

    def _read(self, view: View, records: Sequence[DocumentRecord], room: float) -> list[Pinned] | None:
        """The documents' texts for as long as there is room; of the first that does not fit, its beginning."""
        live = self.candidates.answering(view, {record.object for record in records})
        if live is None:
            return None
        pinned, begun = [], False
        for record in records:
            known = live[record.object]
            fits = record.characters <= room + _FRONT_MATTER
            pieces: tuple[Piece, ...] = ()
            if fits or not begun:
                begun |= not fits
                read = self._pieces(view, record, record.passages if fits else _enough(record, room))
                if read is None or known is None or known.generation != record.generation:
                    return None
                pieces = read
                room -= record.characters if fits else 0
            pinned.append(Pinned(record.title, pieces, whole=fits))
        return pinned

    def _pieces(self, view: View, record: DocumentRecord, count: int) -> tuple[Piece, ...] | None:
        """The document's first passages. None when they are not all there, so the base moved."""
        table = self.candidates.table(view, "pinned-text")
        key = record.document_id, count
        if key not in table:
            ordinals = None if count == record.passages else range(count)
            live = self.candidates.table(view, "live").get(record.object)
            payloads = self.index.passages(
                view.base, view.collection.name, record.document_id, record.generation, ordinals
            )
            if len(payloads) != count:
                return None
            pieces = tuple(piece_of(payload, stale=bool(live and live.stale)) for payload in payloads)
            size = sum(len(piece.text) for piece in pieces)
            if table.get("size", 0) + size > _KEPT:
                return pieces
            table["size"] = table.get("size", 0) + size
            table[key] = pieces
        read: tuple[Piece, ...] = table[key]
        return read


def _enough(record: DocumentRecord, room: float) -> int:
    """How many passages hold more characters than there is room for."""
    each = max(1, record.characters // max(1, record.passages))
    return min(record.passages, int(room) // each * 2 + 4)


def _passes(record: DocumentRecord, wanted: SearchFilter) -> bool:
    if not record.source.startswith(wanted.source_prefix):
        return False
    if wanted.categories and record.category not in wanted.categories:
        return False
    return metadata_passes(record.metadata, dict(wanted.metadata))


def _terms(record: DocumentRecord, view: View) -> frozenset[str]:
    name = " ".join(PurePosixPath(record.source).with_suffix("").parts)
    words = (record.title, *record.keywords, *record.aliases, *record.tags, *record.headings, name)
    return frozenset(tokenise(" ".join(words), view.mode))
