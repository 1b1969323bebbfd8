"""The port of embedding models."""

from collections.abc import Sequence
from typing import Protocol

from common.domain.space import EmbeddingSpace


class Embedder(Protocol):
    """One embedding model. Texts come without prefix; vectors go out L2-normalised. Only asking `space`, or for a
    vector, may ask a provider.
    """

    @property
    def space(self) -> EmbeddingSpace:
        """Raises Unavailable and Misconfigured where a provider has to say its dimension first."""

    @property
    def window(self) -> int:
        """Tokens the model reads at once, the `special_tokens` that it adds to one text included."""

    @property
    def special_tokens(self) -> int: ...

    @property
    def passage_prefix_tokens(self) -> int: ...

    @property
    def fit(self) -> bool:
        """False where no model stands behind it: the hashing embedder of tests, and none at all."""

    @property
    def per_request(self) -> int:
        """How many passages one request to the model's provider carries; 0 for a model in this process."""

    def count_tokens(self, text: str) -> int:
        """Tokens of the text alone, without prefix and special tokens."""

    def token_ends(self, text: str) -> list[int]:
        """For each token the character offset where it ends."""

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector per text. Raises EmbeddingInvalid and PassageTooLong with the text's position, Unavailable,
        and of a provider PassagesRejected and ProviderRefuses.
        """

    def embed_query(self, text: str) -> list[float]:
        """A unit vector. Raises EmbeddingInvalid, Unavailable, ProviderRefuses."""
