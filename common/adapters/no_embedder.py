"""No model at all: a base of it is searched by words alone."""

from collections.abc import Sequence
from typing import Final

from common.domain.providers import NO_MODEL
from common.domain.space import EmbeddingSpace
from common.domain.token_estimate import estimated_ends, estimated_tokens

_WINDOW: Final = 512
"""What passages are kept under all the same, so that a base can be moved to a model later."""


class NoEmbedder:
    """Embedder whose vectors have no numbers. Passages are cut by estimated tokens."""

    fit = False
    per_request = 0
    window = _WINDOW
    special_tokens = 0
    passage_prefix_tokens = 0
    space = EmbeddingSpace(
        model=NO_MODEL,
        files_hash="",
        pooling="",
        normalisation="",
        query_prefix="",
        passage_prefix="",
        dimension=0,
        provider="none",
    )

    def count_tokens(self, text: str) -> int:
        """About how many tokens a model would count."""
        return estimated_tokens(text)

    def token_ends(self, text: str) -> list[int]:
        """For each of these tokens the character offset where it ends."""
        return estimated_ends(text)

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """An empty vector for each text."""
        return [[] for _ in texts]

    def embed_query(self, text: str) -> list[float]:  # noqa: ARG002 - see Embedder
        """An empty vector."""
        return []
