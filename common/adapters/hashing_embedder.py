"""A deterministic embedder without a model, for tests and for trying the product out; unfit for real use."""

import hashlib
import math
import re
from collections.abc import Sequence
from typing import Final

from common.domain.errors import EmbeddingInvalid, PassageTooLong
from common.domain.space import EmbeddingSpace

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")


class HashingEmbedder:
    """Embedder whose vectors are sums of hashed tokens: equal words near, everything else nearly orthogonal.

    A token is a run of word characters or one other visible character.
    """

    fit = False
    per_request = 0
    window = 256
    special_tokens = 0
    passage_prefix_tokens = 0

    def __init__(self, dimension: int = 64) -> None:
        self.space = EmbeddingSpace(
            model=f"hashing-{dimension}",
            files_hash="",
            pooling="sum",
            normalisation="l2",
            query_prefix="",
            passage_prefix="",
            dimension=dimension,
            provider="hashing",
        )

    def count_tokens(self, text: str) -> int:
        """Tokens of `text`."""
        return sum(1 for _ in _TOKEN.finditer(text))

    def token_ends(self, text: str) -> list[int]:
        """For each token the character offset where it ends."""
        return [match.end() for match in _TOKEN.finditer(text)]

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of `texts`; raises PassageTooLong and EmbeddingInvalid with the text's position."""
        for position, text in enumerate(texts):
            if self.count_tokens(text) > self.window:
                raise PassageTooLong(position, self.count_tokens(text), self.window)
        return [self._embed(position, text) for position, text in enumerate(texts)]

    def embed_query(self, text: str) -> list[float]:
        """Unit vector of a question of any length, the same as that of a passage of its words."""
        return self._embed(0, text)

    def _embed(self, position: int, text: str) -> list[float]:
        tokens = _TOKEN.findall(text.casefold())
        totals = [0.0] * self.space.dimension
        for token in tokens:
            for index, value in enumerate(_signs(token, self.space.dimension)):
                totals[index] += value
        norm = math.sqrt(sum(value * value for value in totals))
        if norm == 0:
            raise EmbeddingInvalid(position, "it holds no token")
        return [value / norm for value in totals]


def _signs(token: str, dimension: int) -> list[float]:
    digits = hashlib.shake_128(token.encode("utf-8", "surrogatepass")).digest(math.ceil(dimension / 8))
    bits = int.from_bytes(digits, "big")
    return [1.0 if bits >> index & 1 else -1.0 for index in range(dimension)]
