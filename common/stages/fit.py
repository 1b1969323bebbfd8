"""When a base's gate is fitted anew, from what is stored of it, and where the result goes (RULES 16)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from common.domain.calibration import needs_refit
from common.domain.errors import Refused
from common.domain.records import BaseRecord, CollectionRecord, Gate
from common.domain.synthetic import SourcePassage
from common.domain.usage import Count, Spend, uncounted
from common.ports import Catalog, Embedder, VectorIndex
from common.stages.calibrate import CalibrationBase, calibrate
from common.stages.spaces import Spaces


@dataclass(frozen=True, slots=True)
class GateFit:
    """Fits the gate of the live collection of a base, and has its index compacted: both are due when it changed much.
    Never on the request path: it embeds some 220 questions.
    """

    catalog: Catalog
    index: VectorIndex
    spaces: Spaces
    spend: Spend = uncounted

    def due(self) -> list[str]:
        """The bases that were never fitted, or whose passages doubled or halved since."""
        found = []
        for record in self.catalog.bases():
            if record.live is None or (record.reindex is not None and record.reindex.by_words):
                continue
            gate = record.gates.get(record.live)
            passages = self.catalog.totals(record.base).passages
            tried = gate is not None and not gate.fitted and gate.passages > 0
            if gate is None or (tried and gate.passages <= passages < 2 * gate.passages):
                continue
            if needs_refit(gate, passages):
                found.append(record.base)
        return found

    def run(self, base: str) -> Gate:
        """The base's gate, fitted on its live passages and stored; the model's constants where there is too little,
        and the share of a question's words that has to be covered where there are no vectors.

        Raises Refused 404 for no base, 409 where its model cannot be loaded.
        """
        record = self.catalog.base(base)
        if record is None or record.live is None:
            raise Refused(404, "NO_BASE", f"There is no base {base}.", sentinel="NO_KB_MATCH")
        collection, embedder, warning = self.spaces.answering(record)
        if embedder is None:
            raise Refused(409, "NO_MODEL", f"The gate cannot be fitted: {warning}.")
        prior = self.spaces.gate(collection.space.embedding)
        gate = self._fitted(collection, embedder, prior)
        self._store(base, collection.name, gate)
        self.index.optimise(base, collection.name)
        return gate

    def fit(self, base: str, collection: str) -> Gate:
        """The gate of a collection that does not answer yet, which is compacted too. Raises ModelMissing."""
        stored = self.spaces.stored(base, collection)
        embedder = self.spaces.find(stored.space.embedding)
        gate = self._fitted(stored, embedder, self.spaces.gate(stored.space.embedding))
        self.index.optimise(base, collection)
        return gate

    def _fitted(self, collection: CollectionRecord, embedder: Embedder, prior: Gate) -> Gate:
        if not collection.space.embedding.dimension:
            return replace(prior, passages=self.catalog.totals(collection.base).passages)
        stored = self._passages(collection.base, collection.name)
        counted = _Counting(embedder)
        gate = calibrate(stored, counted, collection.space.lexical.mode, prior)
        if counted.spent.calls:
            self.spend(collection.base, "upkeep", counted.spent)
        return replace(gate, passages=len(stored.passages))

    def _passages(self, base: str, collection: str) -> CalibrationBase:
        import numpy as np  # noqa: PLC0415 - only a calibration pays for it

        passages, vectors, lexical = [], [], []
        for known in self.catalog.objects(base):
            if known.live is None or not known.passages:
                continue
            for point in self.index.stored(base, collection, known.ref.name, known.live):
                if point.vector is not None:
                    passages.append(_source(point.id, point.payload))
                    vectors.append(np.asarray(point.vector, dtype=np.float32))
                    lexical.append(point.lexical)
        matrix = np.stack(vectors) if vectors else np.zeros((0, 1), dtype=np.float32)
        return CalibrationBase(passages, matrix, lexical)

    def _store(self, base: str, collection: str, gate: Gate) -> None:
        def settle(known: BaseRecord | None) -> tuple[BaseRecord | None, None]:
            if known is None or collection not in known.gates:
                return None, None
            return replace(known, gates={**known.gates, collection: gate}), None

        self.catalog.update_base(base, settle, raise_epoch=True)


@dataclass(slots=True)
class _Counting:
    """An embedder that keeps count of what it was asked."""

    embedder: Embedder
    spent: Count = field(default_factory=Count)

    def embed_query(self, text: str) -> list[float]:
        self.spent += Count(1, self.embedder.count_tokens(text))
        return self.embedder.embed_query(text)


def _source(key: str, payload: Mapping[str, Any]) -> SourcePassage:
    return SourcePassage(key, str(payload["document_id"]), str(payload["text"]), str(payload["title"]))
