"""What a base's live generations hold for a question: document frequencies, words, and scored candidates, all at one
epoch (RULES 11-13).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from common.domain.expansion import Wanted, alternatives, exact, expanded, vocabulary_of
from common.domain.index import Hit, IndexFilter, Lookup
from common.domain.lexical import Mode, QuestionTerm
from common.domain.records import BaseRecord, CollectionRecord, Gate
from common.domain.search import SearchFilter
from common.ports import Catalog, Live, VectorIndex
from common.stages.caching import EpochMemory

REPEATS: Final = 4
"""How often a base that moves is looked at: once, and three times again."""


@dataclass(frozen=True, slots=True)
class View:
    """What stands still while one question is asked: the base's record and collection at one epoch. One that has tables
    of its own (`own`) is of a base that does not stand still: nothing of it is remembered, and whoever answers from it
    looks himself whether what he shows still answers.
    """

    record: BaseRecord
    collection: CollectionRecord
    epoch: int
    fingerprint: str
    own: dict[str, dict[Any, Any]] | None = None

    @property
    def base(self) -> str:
        return self.record.base

    @property
    def gate(self) -> Gate:
        return self.record.gates[self.collection.name]

    @property
    def mode(self) -> Mode:
        return self.collection.space.lexical.mode


class Alive(NamedTuple):
    """Candidates that answer, with what is known of the objects that hold them."""

    hits: Sequence[Hit]
    objects: Mapping[str, Live | None]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Asks the index, and keeps under the epoch what every question needs again. Safe to share between threads."""

    catalog: Catalog
    index: VectorIndex
    remembered: EpochMemory

    def table(self, view: View, name: str) -> dict[Any, Any]:
        """What is remembered of the view's collection for as long as its epoch stands."""
        if view.own is not None:
            return view.own.setdefault(name, {})
        return self.remembered.table(view.base, view.epoch, name, view.collection.name)

    def question(self, view: View, terms: Sequence[QuestionTerm]) -> tuple[Wanted, ...]:
        """The question's terms as this base knows them; one that no passage holds with what it may stand for."""
        passages, known = self._frequencies(view, [term.code for term in terms])
        wanted = exact(terms, passages, known)
        return self._expand(view, wanted, known_too=False) if any(w.unknown for w in wanted) else wanted

    def loosened(self, view: View, question: Sequence[Wanted]) -> tuple[Wanted, ...]:
        """The same question with what its known terms may stand for too."""
        return self._expand(view, question, known_too=True)

    def live(self, view: View, lookup: Lookup, wanted: SearchFilter, enough: int) -> Alive | None:
        """Candidates of live generations; looks again without the dead ones while fewer than `enough` are left
        (RULES 12). None when the base moved.
        """
        narrowed = self._filter(view, wanted)
        if narrowed is None:
            return Alive((), {})
        lookup = replace(lookup, filter=narrowed)
        for _ in range(REPEATS):
            found = self.index.lookup(view.base, view.collection.name, lookup)
            live = self.answering(view, {hit.object for hit in found.hits})
            if live is None:
                return None
            hits = [hit for hit in found.hits if (known := live[hit.object]) and known.generation == hit.generation]
            alive = Alive(hits, live)
            if len(hits) == len(found.hits) or not found.full or len(hits) >= enough:
                break
            dead = {(hit.object, hit.generation) for hit in found.hits} - {(h.object, h.generation) for h in hits}
            lookup = replace(lookup, dead=lookup.dead | dead)
        return alive

    def answering(self, view: View, names: set[str]) -> Mapping[str, Live | None] | None:
        """Which generation of each object answers at the view's epoch; None when the base moved."""
        known = self.table(view, "live")
        missing = names - known.keys()
        if missing:
            found, epoch = self.catalog.live(view.base, missing)
            if epoch != view.epoch and view.own is None:
                return None
            known |= {name: found.get(name) for name in missing}
        return known

    def _expand(self, view: View, question: Sequence[Wanted], *, known_too: bool) -> tuple[Wanted, ...]:
        vocabulary = self._vocabulary(view) if view.mode != "off" else ()
        others = {
            wanted.term.code: alternatives(wanted.term, vocabulary, view.mode)
            for wanted in question
            if vocabulary and (known_too or wanted.unknown)
        }
        codes = {other.code for found in others.values() for other in found}
        if not codes:
            return tuple(question)
        passages, known = self._frequencies(view, sorted(codes))
        return tuple(expanded(wanted, others.get(wanted.term.code, ()), passages, known) for wanted in question)

    def _frequencies(self, view: View, codes: Sequence[int]) -> tuple[int, Mapping[int, int]]:
        """How many passages there are and how many hold each term, remembered for as long as the epoch stands."""
        known = self.table(view, "frequencies")
        missing = [code for code in codes if code not in known]
        if missing or -1 not in known:
            passages, found = self.index.frequencies(view.base, view.collection.name, missing)
            known |= {**dict.fromkeys(missing, 0), **found, -1: passages}
        return known[-1], known

    def _vocabulary(self, view: View) -> Sequence[str]:
        known = self.table(view, "vocabulary")
        if "words" not in known:
            known["words"] = vocabulary_of(self.index.vocabulary(view.base, view.collection.name))
        words: Sequence[str] = known["words"]
        return words

    def _filter(self, view: View, wanted: SearchFilter) -> IndexFilter | None:
        """The filter in the index's terms; None when no document can pass it."""
        documents = None
        if wanted.source_prefix:
            listed = self.catalog.documents(view.base, prefix=wanted.source_prefix)
            documents = tuple(document.document_id for document in listed)
            if not documents:
                return None
        return IndexFilter(documents, wanted.categories, dict(wanted.metadata))
