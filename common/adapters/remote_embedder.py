"""The Embedder port over a model behind an address: what is the same whichever provider is asked. Requests are bounded,
asked again when they fail in passing, and believed only as far as their vectors can be checked.
"""

import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Protocol

from common.domain.backoff import Backoff
from common.domain.errors import (
    EmbeddingInvalid,
    Misconfigured,
    PassagesRejected,
    PassageTooLong,
    ProviderRefuses,
    Unavailable,
)
from common.domain.parts import parts
from common.domain.providers import RemoteModel
from common.domain.space import EmbeddingSpace
from common.domain.surrogates import encodable
from common.domain.token_estimate import estimated_ends, estimated_tokens

Role = Literal["query", "passage"]
MOST_PASSAGES: Final = 64
PROBE: Final = "Qual é o prazo do reembolso?"
"""Asked to learn the dimension, and to tell one text that is refused from a provider that refuses all."""
AGAIN_SECONDS: Final = 5.0
"""How long a provider that did not say its dimension is not asked for it again."""
_SPECIAL_TOKENS: Final = 4
_BACKOFF: Final = Backoff(first=0.5, factor=2.0, cap=8.0)


class NotNow(Unavailable):
    """A failure in passing; `after` is how many seconds the provider asks to be left alone, None where it does not."""

    def __init__(self, said: str, after: float | None = None) -> None:
        super().__init__(said)
        self.after = after


class Endpoint(Protocol):
    """One provider. `who` names it in sentences; the prefixes stand for how it tells a question from a passage."""

    who: str
    provider: str
    per_request: int
    query_prefix: str
    passage_prefix: str

    def ask(self, texts: Sequence[str], role: Role, seconds: float) -> Sequence[Any]:
        """One request: a vector for each text, as the provider gave them. Raises NotNow, Unavailable,
        PassagesRejected, ProviderRefuses.
        """


@dataclass(frozen=True, slots=True)
class Bounds:
    """In seconds: of one request, of all attempts together, and of one wait between two of them."""

    attempts: int
    request: float
    total: float
    wait: float


PASSAGES: Final = Bounds(attempts=4, request=30.0, total=45.0, wait=20.0)
"""Together less than a lease, which is read between two requests."""
QUESTION: Final = Bounds(attempts=2, request=4.0, total=4.5, wait=1.0)
"""Somebody waits for the answer, and gets one from words alone behind it."""


class RemoteEmbedder:
    """Embedder over `endpoint`; safe to call from many threads. Tokens are estimated, and counted high."""

    fit = True

    def __init__(
        self,
        model: str,
        known: RemoteModel,
        endpoint: Endpoint,
        *,
        passages: Bounds = PASSAGES,
        question: Bounds = QUESTION,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._known = known
        self._bounds = {"passage": passages, "query": question}
        self._pause = pause
        self._learning = threading.Lock()
        self._space: EmbeddingSpace | None = None
        self._failed: tuple[float, str] = (-math.inf, "")
        self.per_request = min(endpoint.per_request, MOST_PASSAGES)
        self.window = known.window
        self.special_tokens = _SPECIAL_TOKENS
        self.passage_prefix_tokens = estimated_tokens(known.passage_prefix)
        self._blank = EmbeddingSpace(
            model=model,
            files_hash="",
            pooling="",
            normalisation="l2",
            query_prefix=endpoint.query_prefix + known.query_prefix,
            passage_prefix=endpoint.passage_prefix + known.passage_prefix,
            dimension=0,
            provider=endpoint.provider,
        )

    @property
    def space(self) -> EmbeddingSpace:
        """With the dimension of the first vector that the provider gave, which is asked for once."""
        with self._learning:
            if self._space is None:
                self._space = replace(self._blank, dimension=self._dimension())
            return self._space

    def count_tokens(self, text: str) -> int:
        """About how many tokens `text` has, rather too many than too few."""
        return estimated_tokens(text)

    def token_ends(self, text: str) -> list[int]:
        """For each of these tokens the character offset where it ends."""
        return estimated_ends(text)

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of `texts`, asked for in requests of at most `per_request`."""
        reserved = self.special_tokens + self.passage_prefix_tokens
        for position, text in enumerate(texts):
            tokens = estimated_tokens(text) + reserved
            if tokens > self.window:
                raise PassageTooLong(position, tokens, self.window)
        return self._vectors(texts, "passage")

    def embed_query(self, text: str) -> list[float]:
        """Unit vector of a question of any length: of one longer than the window the mean of its parts' vectors."""
        room = self.window - self.special_tokens - estimated_tokens(self._known.query_prefix)
        pieces = parts(text, room, estimated_ends)
        try:
            vectors = self._vectors(pieces, "query")
        except PassagesRejected as error:
            raise EmbeddingInvalid(0, str(error)) from error
        if len(vectors) == 1:
            return vectors[0]
        weights = [estimated_tokens(piece) for piece in pieces]
        return _unit(0, [_weighted(weights, column) for column in zip(*vectors, strict=True)])

    def _vectors(self, texts: Sequence[str], role: Role) -> list[list[float]]:
        prefix = self._known.query_prefix if role == "query" else self._known.passage_prefix
        whole = [encodable(prefix + text) for text in texts]
        vectors: list[list[float]] = []
        for start in range(0, len(whole), self.per_request):
            answered = self._answered(whole[start : start + self.per_request], role)
            vectors += [_unit(start + place, vector) for place, vector in enumerate(answered)]
        if vectors:
            self._check_dimension(vectors)
        return vectors

    def _answered(self, texts: Sequence[str], role: Role) -> Sequence[Any]:
        try:
            answered = self._asked(texts, role)
        except PassagesRejected:
            if len(texts) == 1:
                self._probe()
            raise
        if len(answered) != len(texts):
            raise Unavailable(f"{self._endpoint.who} answered {len(answered)} vectors for {len(texts)} texts")
        return answered

    def _asked(self, texts: Sequence[str], role: Role) -> Sequence[Any]:
        """One request, made again a few times when it fails in passing."""
        bounds, started = self._bounds[role], time.monotonic()
        attempt = 1
        while True:
            left = started + bounds.total - time.monotonic()
            try:
                return self._endpoint.ask(texts, role, min(bounds.request, left))
            except NotNow as error:
                own = min(bounds.wait, _BACKOFF.delay(attempt, random.random()))  # noqa: S311 - spreads retries
                wait = own if error.after is None else error.after
                left = started + bounds.total - time.monotonic()
                if attempt == bounds.attempts or wait > bounds.wait or wait >= left:
                    raise
            self._pause(wait)
            attempt += 1

    def _probe(self) -> Sequence[Any]:
        """The answer for a text that nobody can object to. Raises ProviderRefuses when even that is refused."""
        try:
            return self._asked([encodable(self._known.query_prefix + PROBE)], "query")
        except PassagesRejected as error:
            raise ProviderRefuses(
                f"{self._endpoint.who} refuses every text for model {self._blank.model}: check KB_EMBEDDING_MODEL."
            ) from error

    def _dimension(self) -> int:
        until, said = self._failed
        if time.monotonic() < until:
            raise Unavailable(said)
        try:
            answered = self._probe()
        except Unavailable as error:
            self._failed = time.monotonic() + AGAIN_SECONDS, str(error)
            raise
        if len(answered) != 1:
            raise Unavailable(f"{self._endpoint.who} answered {len(answered)} vectors for 1 text")
        try:
            return len(_unit(0, answered[0]))
        except EmbeddingInvalid as error:
            raise ProviderRefuses(f"{self._endpoint.who} gives no vector for model {self._blank.model}.") from error

    def _check_dimension(self, vectors: Sequence[Sequence[float]]) -> None:
        expected = self.space.dimension
        for vector in vectors:
            if len(vector) != expected:
                raise Misconfigured(
                    f"{self._endpoint.who} gives vectors of {len(vector)} numbers for model {self._blank.model}, which "
                    f"gave {expected} before. Start again, and move its bases by `fichario reindex`."
                )


def _weighted(weights: Sequence[int], column: Sequence[float]) -> float:
    return math.fsum(weight * value for weight, value in zip(weights, column, strict=True))


def _unit(position: int, vector: object) -> list[float]:
    """The vector at length 1. Raises EmbeddingInvalid for what is no direction."""
    if not isinstance(vector, list) or not vector or any(type(value) not in {int, float} for value in vector):
        raise EmbeddingInvalid(position, "its vector is no list of numbers")
    try:
        length = math.hypot(*vector)
    except OverflowError:
        length = math.inf
    if not math.isfinite(length):
        raise EmbeddingInvalid(position, "its vector holds numbers that are not finite")
    if length == 0:
        raise EmbeddingInvalid(position, "its vector has length 0 instead of 1")
    return [value / length for value in vector]
