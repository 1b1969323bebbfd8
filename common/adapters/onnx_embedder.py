"""The embedder that runs a model folder on onnxruntime directly, for processes that must start at once.

Its vectors are those of `FastembedEmbedder`, bit for bit.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as engine

from common.domain.errors import Unavailable
from common.models import Manifest, Pooling, verify
from common.tokens import Batch, ModelTokens

_ENGINE_FAULTS = (engine.EPFail, engine.Fail, engine.InvalidArgument, engine.RuntimeException)


class OnnxEmbedder:
    """Embedder over a verified model folder; safe to call from many threads.

    Raises ModelMissing and ModelFilesDiffer at construction; `full_check=False` compares sizes alone (RULES 18).
    """

    fit = True
    per_request = 0

    def __init__(self, folder: Path, threads: int = 1, *, full_check: bool = True) -> None:
        self._manifest = verify(folder, full=False)
        self._tokens, self._session = _opened(folder, self._manifest, threads, full_check)
        self._inputs = frozenset(node.name for node in self._session.get_inputs())
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
        """Unit vectors of `texts`; raises Unavailable, and PassageTooLong or EmbeddingInvalid with the position."""
        return self._tokens.embed(texts, self._manifest.passage_prefix, self._forward)

    def embed_query(self, text: str) -> list[float]:
        """Unit vector of a question of any length; raises EmbeddingInvalid, Unavailable."""
        return self._tokens.embed_question(text, self._manifest.query_prefix, self._forward)

    def _forward(self, batch: Batch) -> NDArray[np.float32]:
        feed = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": np.zeros_like(batch.ids)}
        try:
            output = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        except _ENGINE_FAULTS as error:
            raise Unavailable(f"model {self.space.model} failed ({type(error).__name__})") from error
        # Invalid numbers are judged once, by the caller that knows the text's position.
        with np.errstate(invalid="ignore", over="ignore"):
            return _unit(_pool(output, batch.mask, self._manifest.pooling))


def _opened(
    folder: Path,
    manifest: Manifest,
    threads: int,
    full: bool,  # noqa: FBT001
) -> tuple[ModelTokens, onnxruntime.InferenceSession]:
    """Tokenizer and session, read beside each other and beside the comparison of the files' hashes. Raises what is
    wrong with the files rather than what loading them led to.
    """

    def session() -> onnxruntime.InferenceSession:
        model = str(folder / manifest.model_file)
        return onnxruntime.InferenceSession(model, _options(threads), providers=["CPUExecutionProvider"])

    with ThreadPoolExecutor(2, "loading-model") as beside:
        # First the one that lets go of the interpreter: the tokenizer holds it until it is read.
        opened, compared = beside.submit(session), beside.submit(verify, folder, full=full)
        try:
            tokens = ModelTokens(folder, manifest)
            wait([opened])
        finally:
            compared.result()
        return tokens, opened.result()


def _options(threads: int) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = threads
    # The arena keeps the largest passage's activations for the life of the process.
    options.enable_cpu_mem_arena = False
    return options


def _pool(output: NDArray[np.float32], mask: NDArray[np.int64], pooling: Pooling) -> NDArray[np.floating]:
    """Sentence vectors [texts, dimension] of token vectors [texts, tokens, dimension], means summed in float64."""
    if pooling == "mean":
        total = np.sum(output, axis=1, where=mask[:, :, np.newaxis].astype(bool), dtype=np.float64)
        mean: NDArray[np.floating] = total / mask.sum(axis=1, keepdims=True)
        return mean
    if pooling == "cls":
        output = output[:, 0]
    elif pooling == "last":
        output = output[np.arange(len(output)), mask.sum(axis=1) - 1]
    return output


def _unit(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    norms = np.maximum(np.linalg.norm(vectors, ord=2, axis=1, keepdims=True), 1e-12)
    unit: NDArray[np.float32] = (vectors / norms).astype(np.float32, copy=False)
    return unit
