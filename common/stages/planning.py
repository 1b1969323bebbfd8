"""What a migration will take, before anything of it runs: measured on the base's own passages, or on those of the
collection that is adopted, with the model that is to come.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from common.domain.documents import JsonValue, Passage
from common.domain.foreign import text_of
from common.domain.index_rules import LABELS
from common.domain.records import BaseRecord, DocumentRecord
from common.domain.space import VectorSpace
from common.domain.synthetic import BUDGET
from common.domain.usage import Count, Prices, Spend, uncounted
from common.ports import Catalog, Embedder, VectorIndex
from common.stages.comparing import SYNTHETIC
from common.stages.spaces import CANARIES
from common.stages.stored_documents import passage_of_payload

SAMPLED: Final = 32
"""Passages that are embedded to learn the model's speed."""
_WARM_UP: Final = 2
_SECONDS_BESIDE: Final = 0.0015
"""What a passage costs beside its embedding: read, measured, weighted, written."""
_LOOK_UPS: Final = 4
"""How often a question is looked up to compare both: ranked and judged, on each side."""
_SECONDS_PER_LOOK_UP: Final = 0.0015
_MORE_PER_PASSAGE: Final = 1.2e-7
"""A look-up takes longer in a larger base: some 3 ms among 14,000 passages."""
_QUESTION: Final = 80
"""Characters of a question as they are made of passages."""
_ASKED: Final = 4
_NUMBER_BYTES: Final = 4
_TERM_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class _Found:
    """How much there is, and a sample of it with the bytes that each takes beside its vector."""

    documents: int
    passages: int
    sample: Sequence[tuple[Passage, int]]


@dataclass(frozen=True, slots=True)
class Planning:
    """Plans migrations. Embeds a sample, which is counted as upkeep."""

    catalog: Catalog
    index: VectorIndex
    prices: Prices
    spend: Spend = uncounted

    def plan(self, record: BaseRecord, space: VectorSpace, embedder: Embedder) -> dict[str, JsonValue]:
        """Documents, passages, tokens, minutes, dollars and megabytes of disk that the new collection will take."""
        live = record.live or ""
        totals = self.catalog.totals(record.base)
        found = _Found(totals.documents, totals.passages, list(self._sample(record.base, live)))
        same = bool(live) and self._stored_model(record.base, live) == space.embedding
        return self._figures(record.base, found, space, embedder, same=same)

    def of_payloads(
        self,
        base: str,
        counted: tuple[int, int],
        payloads: Sequence[Mapping[str, Any]],
        space: VectorSpace,
        embedder: Embedder,
    ) -> dict[str, JsonValue]:
        """The same of so many documents and texts that are not ours, by a sample of their payloads."""
        sample = [(Passage(text := text_of(payload), 0, len(text), "", 0), _bytes(payload)) for payload in payloads]
        return self._figures(base, _Found(*counted, sample), space, embedder, same=False)

    def _figures(
        self, base: str, found: _Found, space: VectorSpace, embedder: Embedder, *, same: bool
    ) -> dict[str, JsonValue]:
        sample, passages = found.sample, found.passages
        seconds = 0.0 if same else self._seconds_each(base, [p for p, _ in sample], embedder)
        tokens = self._tokens(passages, [p for p, _ in sample], embedder)
        beside = self._seconds_verifying(base, passages, [p for p, _ in sample], embedder)
        each = sum(size for _, size in sample) / len(sample) if sample else 0.0
        disk = passages * (each + space.embedding.dimension * _NUMBER_BYTES)
        return {
            "documents": found.documents,
            "passages": passages,
            "tokens": tokens,
            "embedded_tokens": 0 if same else tokens,
            "seconds_per_passage": round(seconds + _SECONDS_BESIDE, 5),
            "minutes": round((passages * (seconds + _SECONDS_BESIDE) + beside) / 60, 2),
            "dollars": 0.0 if same else self.prices.cost("ingest", Count(tokens=tokens)),
            "disk_mb": round(disk / 2**20, 2),
            "model": space.embedding.model,
            "fingerprint": space.fingerprint,
        }

    def _stored_model(self, base: str, live: str) -> object:
        stored = self.catalog.collection(base, live)
        return stored.space.embedding if stored else None

    def _tokens(self, passages: int, sample: Sequence[Passage], embedder: Embedder) -> int:
        counted = sum(embedder.count_tokens(passage.embedded) for passage in sample)
        return round(counted * passages / len(sample)) if sample else 0

    def _seconds_each(self, base: str, sample: Sequence[Passage], embedder: Embedder) -> float:
        """Seconds that one passage takes, as passages are embedded: not one by one where the model takes several, and
        in pieces where it is longer than the model's window.
        """
        if not sample or not embedder.space.dimension:
            return 0.0
        texts = [piece for passage in sample for piece in _pieces(passage.embedded, embedder)]
        embedder.embed_passages(texts[:_WARM_UP])
        since = time.perf_counter()
        embedder.embed_passages(texts)
        took = time.perf_counter() - since
        self.spend(base, "upkeep", Count(2, sum(map(embedder.count_tokens, [*texts, *texts[:_WARM_UP]]))))
        return took / len(sample)

    def _seconds_verifying(self, base: str, passages: int, sample: Sequence[Passage], embedder: Embedder) -> float:
        """Seconds that it takes to fit the new collection's gate, to have its model say its canaries, and to compare
        both collections.
        """
        asked = [passage.text[:_QUESTION] for passage in sample[:_ASKED]]
        if not asked or not embedder.fit:
            return 0.0
        embedder.embed_query(asked[0])
        since = time.perf_counter()
        for text in asked:
            embedder.embed_query(text)
        each = (time.perf_counter() - since) / len(asked)
        self.spend(base, "upkeep", Count(len(asked) + 1, sum(map(embedder.count_tokens, [*asked, asked[0]]))))
        compared = min(SYNTHETIC, passages)
        questions = 2 * len(CANARIES) + min(BUDGET, passages) + 2 * compared
        return questions * each + compared * _LOOK_UPS * (_SECONDS_PER_LOOK_UP + passages * _MORE_PER_PASSAGE)

    def _sample(self, base: str, live: str) -> Iterator[tuple[Passage, int]]:
        """Passages evenly over all of them, each with the bytes that it takes beside its vector."""
        listed = [document.within(live) for document in self.catalog.documents(base)]
        for document, ordinal in _places(listed):
            found = self.index.passages(base, live, document.document_id, document.generation, [ordinal])
            for payload in found:
                yield passage_of_payload(payload), _bytes(payload)


def _pieces(text: str, embedder: Embedder) -> list[str]:
    """The text in halves of halves that the model can take."""
    limit = embedder.window - embedder.special_tokens - embedder.passage_prefix_tokens
    ends = embedder.token_ends(text)
    middle = ends[len(ends) // 2] if ends else 0
    if len(ends) <= limit or not 0 < middle < len(text):
        return [text] if len(ends) <= limit else []
    return [*_pieces(text[:middle], embedder), *_pieces(text[middle:], embedder)]


def _places(documents: Sequence[DocumentRecord]) -> Iterator[tuple[DocumentRecord, int]]:
    passages = sum(document.passages for document in documents)
    wanted = [passages * turn // SAMPLED for turn in range(SAMPLED)] if passages > SAMPLED else list(range(passages))
    before, places = 0, iter(wanted)
    place = next(places, None)
    for document in documents:
        while place is not None and place < before + document.passages:
            yield document, place - before
            place = next(places, None)
        before += document.passages


def _bytes(payload: Any) -> int:  # noqa: ANN401 - a payload of the index
    shown = {key: value for key, value in payload.items() if key != LABELS}
    return len(json.dumps(shown, ensure_ascii=False).encode()) + _TERM_BYTES * len(payload.get("terms", ()))
