"""The embedder that runs a model folder through fastembed, for the processes that index.

fastembed costs a second of imports, so the processes that answer use `OnnxEmbedder`, which gives the same vectors.
"""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from common.models import Manifest, verify
from common.tokens import Batch, ModelTokens

if TYPE_CHECKING:
    from fastembed import TextEmbedding

_REGISTRY = Lock()


class FastembedEmbedder:
    """Embedder over a verified model folder; safe to call from many threads.

    Raises ModelMissing and ModelFilesDiffer at construction; `full_check=False` compares sizes alone (RULES 18).
    """

    fit = True
    per_request = 0

    def __init__(self, folder: Path, threads: int = 1, *, full_check: bool = True) -> None:
        self._manifest = verify(folder, full=full_check)
        self._tokens = ModelTokens(folder, self._manifest)
        self._model = _register(folder, self._manifest, threads)
        # Set before loading: fastembed's own would cut at the window and read special tokens inside a text as such.
        inner: Any = self._model.model
        inner.tokenizer = self._tokens.tokenizer
        inner.load_onnx_model()
        self.space = self._manifest.space
        self.window = self._tokens.window
        self.special_tokens = self._tokens.special_tokens
        self.passage_prefix_tokens = self._tokens.passage_prefix_tokens

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` without special tokens and prefix."""
        return self._tokens.count(text)

    def token_ends(self, text: str) -> list[int]:
        """For each token the character offset where it ends, never decreasing."""
        return self._tokens.ends(text)

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of `texts`; raises PassageTooLong and EmbeddingInvalid with the text's position."""
        return self._tokens.embed(texts, self._manifest.passage_prefix, self._forward)

    def embed_query(self, text: str) -> list[float]:
        """Unit vector of a question of any length; raises EmbeddingInvalid."""
        return self._tokens.embed_question(text, self._manifest.query_prefix, self._forward)

    def _forward(self, batch: Batch) -> NDArray[np.float32]:
        with np.errstate(invalid="ignore", over="ignore"):
            return np.stack(list(self._model.embed(batch.texts, batch_size=len(batch.texts))))


def _register(folder: Path, manifest: Manifest, threads: int) -> "TextEmbedding":
    from fastembed import TextEmbedding  # noqa: PLC0415 - half a second that only the processes which embed pay
    from fastembed.common.model_description import ModelSource, PoolingType  # noqa: PLC0415

    pooling = {
        "mean": PoolingType.MEAN,
        "cls": PoolingType.CLS,
        "last": PoolingType.LAST_TOKEN,
        "none": PoolingType.DISABLED,
    }[manifest.pooling]
    # Keeps two preparations of one name apart in fastembed's process-wide registry.
    name = f"fichario/{manifest.name.replace('/', '__')}@{manifest.files_hash}-{manifest.pooling}-{manifest.dimension}"
    with _REGISTRY:
        if not any(model["model"] == name for model in TextEmbedding.list_supported_models()):
            TextEmbedding.add_custom_model(
                model=name,
                pooling=pooling,
                normalization=True,
                sources=ModelSource(hf="local/none"),
                dim=manifest.dimension,
                model_file=manifest.model_file,
            )
    return TextEmbedding(
        name,
        cache_dir=str(folder),
        specific_model_path=str(folder),
        threads=threads,
        providers=["CPUExecutionProvider"],
        lazy_load=True,
        enable_cpu_mem_arena=False,
    )
