"""What a model reads of a base beside answers: the card, the table of contents, documents page by page, and what stands
near the documents of an answer.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from common.domain.addresses import Place
from common.domain.budget import estimate_tokens
from common.domain.contents import CARD_TOKENS, Entry, under
from common.domain.errors import Refused, Unavailable
from common.domain.index import point_id
from common.domain.objects import ObjectRef
from common.domain.pages import page_from, page_holding
from common.domain.records import DocumentRecord
from common.ports import Catalog, Live, VectorIndex
from common.stages.addressing import Addressing
from common.stages.candidates import REPEATS, View
from common.stages.contents import Library
from common.stages.listing import described
from common.stages.stored_text import StoredText


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads of one base each, as of one epoch (RULES 11). `view` gives a base at its current epoch, `bucket` is where
    the bases' files lie. Safe to share between threads. Every method raises Refused 404 NO_BASE, and Unavailable.
    """

    catalog: Catalog
    index: VectorIndex
    addressing: Addressing
    library: Library
    view: Callable[[str], View]
    bucket: str
    count_tokens: Callable[[str], int] = estimate_tokens

    def resolve(self, base: str, name: str) -> DocumentRecord:
        """The document that the name means. Raises Refused 404 NOT_FOUND, or 409 AMBIGUOUS with `candidates`."""
        return self.addressing.find(self.view(base), name).one()

    def is_source(self, base: str, name: str) -> bool:
        """Whether a document has exactly this source."""
        return self.addressing.has(self.view(base), name)

    def card(self, base: str, max_tokens: int = CARD_TOKENS) -> str:
        """What there is to ask (domain/contents.py); its bytes change only with the base's epoch."""
        view = self.view(base)
        contents = self.library.at(base, view.epoch)
        return contents.card(base, f"{self.bucket}/{base}/", max_tokens, self.count_tokens)

    def toc(
        self, base: str, prefix: str = "", after: tuple[str, str] | None = None, limit: int = 0
    ) -> list[dict[str, Any]]:
        """The documents whose source starts with `prefix`, by (source, object), behind `after`; limit 0 is all."""
        entries = under(self.library.at(base, self.view(base).epoch).entries, prefix)
        first = bisect_right(entries, after, key=lambda entry: (entry.source, entry.object)) if after else 0
        shown = entries[first : first + limit if limit else None]
        live, _ = self.catalog.live(base, {entry.object for entry in shown})
        return [_row(entry, live) for entry in shown]

    def page(self, base: str, name: str, offset: int = 0) -> dict[str, Any]:
        """One page of a document's exact text, at most 12,000 characters, that begins at `offset`; without one the page
        that holds the `position` at which a passage's id or a citation points.

        Raises as `resolve` does, and Refused 400 for an offset outside of the document.
        """
        failed = Unavailable(f"a document of base {base} changes faster than it can be read")
        for _ in range(REPEATS):
            view = self.view(base)
            addressed = self.addressing.find(view, name)
            record = addressed.one()
            try:
                page = self._page(view, record, addressed.place, offset)
            except Unavailable as error:
                failed = error
                continue
            # While a generation answers nothing of it is swept: what was read until now is whole and of one moment.
            live, _ = self.catalog.live(base, {record.object})
            known = live.get(record.object)
            if known is not None and known.generation == record.generation:
                return {**page, "stale": known.stale}
        raise failed

    def _page(self, view: View, record: DocumentRecord, place: Place | None, offset: int) -> dict[str, Any]:
        ref = ObjectRef(record.base, record.object)

        def read(ordinals: Collection[int]) -> Iterable[Mapping[str, Any]]:
            # By id: no engine has a passage's position indexed, and asking for it reads the whole document's payloads.
            ids = [point_id(ref, record.generation, record.source, ordinal) for ordinal in ordinals]
            return self.index.payloads(view.base, view.collection.name, ids).values()

        text = StoredText(record.source, record.passages, record.characters, read)
        if not 0 <= offset <= text.length:
            raise Refused(400, "BAD_REQUEST", f"offset is a whole number from 0 to {text.length}.", "offset")
        position = None if place is None else text.position(place)
        if place is not None and position is None:
            raise Refused(404, "NOT_FOUND", f"{record.source} has no such place.", "source")
        if position is not None and not offset:
            offset = page_holding(text, position)
        start, end = page_from(text, offset)
        return {
            "text": text.slice(start, end),
            "offset": start,
            "next_offset": end if end < text.length else None,
            "total": text.length,
            "position": position,
            "base": view.base,
            "source": record.source,
            "document_id": record.document_id,
            "object": record.object,
            "generation": record.generation,
            **described(record),
        }


def _row(entry: Entry, live: Mapping[str, Live]) -> dict[str, Any]:
    known = live.get(entry.object)
    return {
        "source": entry.source,
        "object": entry.object,
        "title": entry.title,
        "id": entry.external_id or None,
        "category": entry.category or None,
        "pinned": entry.pinned,
        "passages": entry.passages,
        "tokens_in_source": entry.tokens,
        "stale": known is not None and known.stale,
    }
