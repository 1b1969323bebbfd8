"""One request at a time for each base: towards a model behind an address, which others pay for by the request and limit
by the minute, nobody of this process asks twice at once for one base.
"""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from common.domain.errors import Unavailable
from common.domain.space import EmbeddingSpace
from common.ports import Embedder

QUESTION_SECONDS: Final = 10.0
"""How long a question waits for its turn: for one request of an ingest at most, never for the whole of it."""


class Turns:
    """Whoever asks for a base's turn gets it in the order of asking. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[str, deque[threading.Event]] = {}

    @contextmanager
    def take(self, base: str, seconds: float | None = None) -> Iterator[None]:
        """Hold the base's turn. Raises Unavailable when it did not come within `seconds`."""
        mine = threading.Event()
        with self._lock:
            line = self._lines.setdefault(base, deque())
            line.append(mine)
            line[0].set()
        try:
            if not mine.wait(seconds):
                raise Unavailable("the provider of the embedding model is busy with other requests for this base")
            yield
        finally:
            with self._lock:
                line.remove(mine)
                if line:
                    line[0].set()
                else:
                    del self._lines[base]

    def of(self, base: str, embedder: Embedder) -> Embedder:
        """The embedder as this base is to use it; one in this process as it is."""
        return _InTurn(embedder, base, self) if embedder.per_request else embedder


@dataclass(frozen=True, slots=True)
class _InTurn:
    """An embedder whose every request takes the base's turn."""

    embedder: Embedder
    base: str
    turns: Turns

    @property
    def space(self) -> EmbeddingSpace:
        return self.embedder.space

    @property
    def window(self) -> int:
        return self.embedder.window

    @property
    def special_tokens(self) -> int:
        return self.embedder.special_tokens

    @property
    def passage_prefix_tokens(self) -> int:
        return self.embedder.passage_prefix_tokens

    @property
    def fit(self) -> bool:
        return self.embedder.fit

    @property
    def per_request(self) -> int:
        return self.embedder.per_request

    def count_tokens(self, text: str) -> int:
        return self.embedder.count_tokens(text)

    def token_ends(self, text: str) -> list[int]:
        return self.embedder.token_ends(text)

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        with self.turns.take(self.base):
            return self.embedder.embed_passages(texts)

    def embed_query(self, text: str) -> list[float]:
        with self.turns.take(self.base, QUESTION_SECONDS):
            return self.embedder.embed_query(text)
