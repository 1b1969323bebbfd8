"""Vectors of questions: remembered by vector space and text, made by a model that the collection's canaries confirm,
and waited for only so long.
"""

import math
import threading
import time
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future
from typing import Final, NamedTuple

from common.domain.errors import (
    DocumentError,
    EmbeddingInvalid,
    FicharioError,
    ProviderRefuses,
    Transient,
    Unavailable,
)
from common.domain.records import BaseRecord, CollectionRecord
from common.domain.space import EmbeddingSpace
from common.domain.usage import Count, Spend, uncounted
from common.ports import AnswerCache, Embedder
from common.stages.patience import Patience
from common.stages.spaces import CANARIES, Spaces, canaries_differ, canary_count

Vector = tuple[float, ...]
_NUMBER_BYTES: Final = 8
_LETTER_BYTES: Final = 4


class NoVector(Exception):
    """Why this question has no vector; the sentence is for the answer's warnings."""


class Vectored(NamedTuple):
    """A question's unit vector, its tokens, whether it was embedded now, and when it was there (time.perf_counter)."""

    vector: Vector
    tokens: int
    fresh: bool
    ready: float


class QuestionVectors:
    """Safe between threads; equal questions at the same time are embedded once."""

    def __init__(self, cache: AnswerCache, spaces: Spaces, patience: Patience, spend: Spend = uncounted) -> None:
        self._cache = cache
        self._spaces = spaces
        self._patience = patience
        self._spend = spend
        self._running: dict[Hashable, Future[tuple[Vector, int, float]]] = {}
        self._lock = threading.Lock()
        self._confirmed: dict[str, Embedder] = {}
        self._refused: dict[str, str] = {}
        self._canaries: dict[EmbeddingSpace, dict[str, Vector]] = {}

    def of(
        self,
        record: BaseRecord,
        collection: CollectionRecord,
        text: str,
        meanwhile: Callable[[], object] | None = None,
    ) -> Vectored:
        """The question's vector in the collection's space. `meanwhile` may be done while a model makes it.

        Raises NoVector where there is no trusted model, or it does not answer in time; ModelFilesDiffer.
        """
        key = ("vector", collection.space.embedding, text)
        known = self._known(key, collection)
        if known is not None:
            return Vectored(*known, fresh=False, ready=time.perf_counter())

        def embed() -> tuple[Vector, int, float]:
            return (*self._embed(record, collection, text, key), time.perf_counter())

        try:
            with self._lock:
                running = self._running.get(key)
                begun = self._running[key] = running or self._patience.begin(embed)
            try:
                vector, tokens, ready = self._patience.result(begun, meanwhile=meanwhile)
            finally:
                self._ended(key, begun)
        except (Transient, DocumentError, ProviderRefuses) as error:
            raise NoVector(_sentence(error)) from error
        return Vectored(vector, tokens, fresh=running is None, ready=ready)

    def _ended(self, key: Hashable, begun: "Future[tuple[Vector, int, float]]") -> None:
        """Whoever asks from now on begins anew, unless somebody else did already."""
        with self._lock:
            if self._running.get(key) is begun:
                del self._running[key]

    def warm(self, embedder: Embedder) -> None:
        """Have the model say its canaries before the first question needs them. Repeatable."""
        if embedder.fit:
            self._say(embedder, CANARIES)

    def _say(self, embedder: Embedder, texts: Iterable[str]) -> dict[str, Vector]:
        """What the model gives for the canaries, each asked for once."""
        known = self._canaries.setdefault(embedder.space, {})
        for text in texts:
            if text not in known:
                known[text] = tuple(embedder.embed_query(text))
        return known

    def _embed(self, record: BaseRecord, collection: CollectionRecord, text: str, key: Hashable) -> tuple[Vector, int]:
        # Whoever waited for this while an equal question was answered finds it here.
        known = self._known(key, collection)
        if known is not None:
            return known
        embedder = self._confirmed.get(collection.name) or self._confirm(record, collection)
        # In this order: what follows a model's run finds the processor's caches full of its weights.
        tokens, vector = embedder.count_tokens(text), tuple(embedder.embed_query(text))
        self._spend(record.base, "questions", Count(1, tokens))
        if not 0 < math.hypot(*vector) < math.inf:
            raise EmbeddingInvalid(0, "the model gave no direction for the question")
        self._cache.put(key, (vector, tokens), _NUMBER_BYTES * len(vector) + _LETTER_BYTES * len(text))
        return vector, tokens

    def _known(self, key: Hashable, collection: CollectionRecord) -> tuple[Vector, int] | None:
        """The cached vector; one of another length, as a shared cache could hold, is none."""
        known = self._cache.get(key)
        if known is None or len(known[0]) != collection.space.embedding.dimension:
            return None
        return tuple(known[0]), known[1]

    def _confirm(self, record: BaseRecord, collection: CollectionRecord) -> Embedder:
        """The model of the collection's space, once it gave the vectors of the canaries (RULES 18)."""
        if collection.name in self._refused:
            raise Unavailable(self._refused[collection.name])
        _, embedder, warning = self._spaces.answering(record)
        if embedder is None:
            raise Unavailable(warning)
        if collection.canaries and embedder.space not in self._canaries:
            self._spend(record.base, "upkeep", canary_count(embedder))
        # From the end: a first question meets the thread that says them from the beginning half way.
        known = self._say(embedder, (text for text, _ in reversed(collection.canaries)))
        differs = canaries_differ(collection, embedder, known)
        if differs:
            self._refused[collection.name] = differs
            raise Unavailable(differs)
        self._confirmed[collection.name] = embedder
        return embedder


def _sentence(error: FicharioError) -> str:
    return f"Answered by words alone: {str(error).rstrip('.')}."
