"""What the query side remembers: under an epoch, under a vector space, and equal questions asked at the same time."""

import math
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from common.domain.errors import EmbeddingInvalid
from common.domain.records import CollectionRecord
from common.ports import AnswerCache, Embedder
from common.stages.spaces import canaries_differ

T = TypeVar("T")


@dataclass(slots=True)
class EpochMemory:
    """Tables that hold for one base at one epoch; a newer epoch starts from nothing. Safe between threads: a table is
    only ever added to, and what two threads add is equal.
    """

    _bases: dict[str, tuple[int, dict[str, dict[Any, Any]]]] = field(default_factory=dict)
    bases_kept: int = 1000

    def table(self, base: str, epoch: int, name: str) -> dict[Any, Any]:
        known = self._bases.get(base)
        if known is None or known[0] < epoch:
            if len(self._bases) >= self.bases_kept:
                self._bases = {}
            known = self._bases[base] = (epoch, {})
        elif known[0] > epoch:
            return {}
        return known[1].setdefault(name, {})


class SingleFlight(Generic[T]):
    """Equal work asked for at the same time is done once; the others wait for it and share its end, error or not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, _Flight[T]] = {}

    def do(self, key: Hashable, work: Callable[[], T]) -> tuple[T, bool]:
        """The result, and whether another caller's work gave it."""
        with self._lock:
            flight = self._flights.get(key)
            leads = flight is None
            if flight is None:
                flight = self._flights[key] = _Flight()
        if not leads:
            flight.landed.wait()
            return flight.result(), True
        try:
            flight.value = work()
        except Exception as error:
            flight.error = error
            raise
        finally:
            with self._lock:
                del self._flights[key]
            flight.landed.set()
        return flight.result(), False


class _Flight(Generic[T]):
    def __init__(self) -> None:
        self.landed = threading.Event()
        self.value: T | None = None
        self.error: Exception | None = None

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # set by the leader before it landed


class QuestionCache:
    """Vectors of questions by vector space and text, and whether a collection's canaries still hold."""

    def __init__(self, cache: AnswerCache) -> None:
        self._cache = cache
        self._flights: SingleFlight[tuple[tuple[float, ...], int]] = SingleFlight()
        self._checked: dict[tuple[str, str], str | None] = {}

    def vector(self, embedder: Embedder, text: str) -> tuple[tuple[float, ...], int, bool]:
        """The question's unit vector, its tokens, and whether it had to be embedded now.

        Raises EmbeddingInvalid for one that is no direction, which is not remembered.
        """
        key = ("vector", embedder.space, text)
        known = self._cache.get(key)
        if known is not None:
            return (*known, False)

        def embed() -> tuple[tuple[float, ...], int]:
            vector = tuple(embedder.embed_query(text))
            if not 0 < math.hypot(*vector) < math.inf:
                raise EmbeddingInvalid(0, "the model gave no direction for the question")
            return vector, embedder.count_tokens(text)

        answered, shared = self._flights.do(key, embed)
        self._cache.put(key, answered, 8 * len(answered[0]) + 4 * len(text))
        return (*answered, not shared)

    def checked(self, collection: CollectionRecord, embedder: Embedder) -> str | None:
        """What is wrong with the model by the collection's canaries; asked of the model once."""
        key = (collection.name, embedder.space.files_hash)
        if key not in self._checked:
            self._checked[key] = canaries_differ(collection, embedder)
        return self._checked[key]
