"""The documents of each base as one table, read once per epoch, and what is worked out of it: links and neighbours."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from common.domain.contents import card, entry_of
from common.domain.documents import Link, LinkKind
from common.domain.links import Graph, resolve
from common.domain.records import DocumentRecord
from common.domain.related import Neighbour, Trait, groups_of, nearest, neighbours
from common.domain.search import Related
from common.ports import Catalog
from common.stages.caching import SingleFlight

DOCUMENTS_KEPT: Final = 50_000
"""Over all bases; about 2 KB each."""
_CARDS_KEPT: Final = 16
Reference = tuple[str, LinkKind]
"""A link's target as written, and its kind."""


class Contents:
    """One base's live documents by (source, object). Links and neighbours are worked out when they are first asked for;
    safe to share between threads.
    """

    def __init__(self, records: Sequence[DocumentRecord], before: "Contents | None" = None) -> None:
        """`before` is what the base held until now: most changes leave all names and links as they are."""
        self.entries = [entry_of(record) for record in records]
        self._places = {entry.source: place for place, entry in reversed(list(enumerate(self.entries)))}
        self._aliases = {alias: record.source for record in records for alias in record.aliases}
        self._references: dict[str, list[Reference]] = {record.source: [] for record in records}
        for record in records:
            self._references[record.source] += [(to, kind) for to, _, _, kind in record.links if kind != "url"]
        named = tuple((source, tuple(references)) for source, references in self._references.items())
        self.ties = hash((named, tuple(self._aliases.items())))
        self.resolved: Graph | None = before.resolved if before is not None and before.ties == self.ties else None
        self._groups: Mapping[Trait, Sequence[int]] | None = None
        self._near: dict[str, Sequence[Neighbour]] = {}
        self._cards: dict[tuple[str, str, int], str] = {}
        self._lock = threading.Lock()

    def card(self, base: str, bucket: str, max_tokens: int, count_tokens: Callable[[str], int]) -> str:
        """The base's card (domain/contents.py), made once for each size."""
        key = base, bucket, max_tokens
        if key not in self._cards:
            if len(self._cards) >= _CARDS_KEPT:
                self._cards = {}
            self._cards[key] = card(base, bucket, self.entries, max_tokens, count_tokens)
        return self._cards[key]

    @property
    def graph(self) -> Graph:
        """Which document refers to which."""
        with self._lock:
            if self.resolved is None:
                links = {
                    source: [Link(target, "", 0, kind) for target, kind in references]
                    for source, references in self._references.items()
                }
                self.resolved = resolve(links, list(links), self._aliases)
            self._references = {}
            return self.resolved

    def related(self, sources: Sequence[str]) -> list[tuple[str, str, str]]:
        """Source, title and reason of at most six documents near those, none of which is among them."""
        found = nearest(sources, self._neighbours)
        return [(source, self.entries[self._places[source]].title, reason) for source, reason in found]

    def _neighbours(self, source: str) -> Sequence[Neighbour]:
        known = self._near.get(source)
        if known is None:
            place = self._places.get(source)
            if self._groups is None:
                self._groups = groups_of(self.entries)
            known = () if place is None else neighbours(place, self.entries, self.graph, self._groups)
            self._near[source] = known
        return known


@dataclass(slots=True)
class Library:
    """The contents of bases, each under the epoch at which it was read; what was asked for longest ago goes first once
    all together hold more than `kept` documents. Safe to share between threads.
    """

    catalog: Catalog
    kept: int = DOCUMENTS_KEPT
    _shelf: OrderedDict[str, tuple[int, Contents]] = field(default_factory=OrderedDict)
    _held: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _flights: SingleFlight[Contents] = field(default_factory=SingleFlight)

    def at(self, base: str, epoch: int) -> Contents:
        """The base's contents at that epoch, or at a later one when it has moved on. Raises Unavailable."""
        with self._lock:
            known = self._shelf.get(base)
            if known is not None and known[0] >= epoch:
                self._shelf.move_to_end(base)
                return known[1]
        return self._flights.do((base, epoch), lambda: self._read(base, epoch))[0]

    def related(self, base: str, hits: Sequence[str], epoch: int) -> tuple[Related, ...]:
        """At most six documents near those of an answer (their sources, best first), as of its epoch or a later one."""
        contents = self.at(base, epoch)
        near = contents.related(list(dict.fromkeys(hits)))
        return tuple(Related(base, source, title, reason) for source, title, reason in near)

    def _read(self, base: str, epoch: int) -> Contents:
        # The catalog lists all documents as of one moment; the epoch behind it tells whether that was this epoch's.
        known = self._shelf.get(base)
        live = (record.live or "") if (record := self.catalog.base(base)) else ""
        listed = [document.within(live) for document in self.catalog.documents(base)]
        contents = Contents(listed, known[1] if known else None)
        if self.catalog.epoch(base) == epoch:
            self._put(base, epoch, contents)
        return contents

    def _put(self, base: str, epoch: int, contents: Contents) -> None:
        with self._lock:
            before = self._shelf.get(base)
            if before is not None and before[0] > epoch:
                return
            self._held += len(contents.entries) - (len(before[1].entries) if before else 0)
            self._shelf[base] = (epoch, contents)
            self._shelf.move_to_end(base)
            while self._held > self.kept and len(self._shelf) > 1:
                self._held -= len(self._shelf.popitem(last=False)[1][1].entries)
