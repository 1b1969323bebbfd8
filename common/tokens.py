"""The text side of an embedding model: counting, offsets, prefixes, the window and batches.

Every runtime of a model folder composes this, so that the same text costs the same tokens and becomes the same vector
in all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from common.domain.errors import EmbeddingInvalid, PassageTooLong
from common.domain.parts import parts
from common.domain.surrogates import encodable
from common.models import Manifest

# Vectors of a dynamically quantised graph depend on what shares their batch.
_BATCH: Final = {"int8": 1, "fp32": 16}
_UNIT_TOLERANCE: Final = 1e-3
_SMALLEST: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts with their prefix, and their token ids and attention mask, both [texts, longest], padded on the right."""

    texts: list[str]
    ids: NDArray[np.int64]
    mask: NDArray[np.int64]


Forward = Callable[[Batch], NDArray[np.float32]]


class ModelTokens:
    """The tokenizer of one model folder, reading special tokens in a text as ordinary text and cutting nothing."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.window = manifest.window
        # Padding touches batches alone, so one tokenizer serves counting and the runtimes that encode by themselves.
        self.tokenizer: Tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.enable_padding(pad_id=manifest.pad_id)
        self.tokenizer.encode_special_tokens = True
        self._pad_id = manifest.pad_id
        self._batch = _BATCH[manifest.quantisation]
        self.special_tokens: int = self.tokenizer.num_special_tokens_to_add(is_pair=False)
        # The space that ends a prefix belongs to the first word of what follows.
        self.passage_prefix_tokens = self.count(manifest.passage_prefix.rstrip())

    def count(self, text: str) -> int:
        """Tokens of `text` alone, without special tokens and prefix."""
        return len(self.tokenizer.encode(encodable(text), add_special_tokens=False).ids)

    def ends(self, text: str) -> list[int]:
        """For each token of `text`, the character offset where it ends; never decreasing."""
        offsets = self.tokenizer.encode(encodable(text), add_special_tokens=False).offsets
        return list(accumulate((end for _, end in offsets), max))

    def embed(self, texts: Sequence[str], prefix: str, forward: Forward) -> list[list[float]]:
        """Unit vectors of `texts` in their order, `forward` giving those of one batch.

        Raises PassageTooLong before anything is embedded, EmbeddingInvalid for a vector that is no direction.
        """
        whole = [encodable(prefix + text) for text in texts]
        encodings = [self._fitting(position, text) for position, text in enumerate(whole)]
        vectors: list[list[float]] = [[]] * len(whole)
        by_length = sorted(range(len(whole)), key=lambda position: len(encodings[position].ids))
        for positions in _slices(by_length, self._batch):
            batch = self._padded([whole[i] for i in positions], [encodings[i] for i in positions])
            for position, vector in zip(positions, forward(batch), strict=True):
                vectors[position] = _direction(position, vector)
        return vectors

    def embed_question(self, text: str, prefix: str, forward: Forward) -> list[float]:
        """Unit vector of a question of any length.

        One longer than the window is embedded in parts; its vector is the parts' mean, weighted by their tokens.
        """
        room = self.window - self.special_tokens - self.count(prefix.rstrip())
        pieces = parts(text, room, self.ends)
        vectors = self.embed(pieces, prefix, forward)
        if len(pieces) == 1:
            return vectors[0]
        mean = np.average(np.array(vectors), axis=0, weights=[self.count(part) for part in pieces])
        return _direction(0, (mean / max(float(np.linalg.norm(mean)), _SMALLEST)).astype(np.float32))

    def _fitting(self, position: int, text: str) -> Encoding:
        encoding: Encoding = self.tokenizer.encode(text)
        if len(encoding.ids) > self.window:
            raise PassageTooLong(position, len(encoding.ids), self.window)
        return encoding

    def _padded(self, texts: list[str], encodings: list[Encoding]) -> Batch:
        shape = (len(encodings), max(len(encoding.ids) for encoding in encodings))
        ids = np.full(shape, self._pad_id, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int64)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        return Batch(texts, ids, mask)


def _slices(positions: list[int], size: int) -> Iterator[list[int]]:
    rest = iter(positions)
    while part := list(islice(rest, size)):
        yield part


def _direction(position: int, vector: NDArray[np.float32]) -> list[float]:
    if not np.isfinite(vector).all():
        raise EmbeddingInvalid(position, "its vector holds numbers that are not finite")
    norm = float(np.linalg.norm(vector))
    if abs(norm - 1) > _UNIT_TOLERANCE:
        raise EmbeddingInvalid(position, f"its vector has length {norm:.3g} instead of 1")
    values: list[float] = vector.tolist()
    return values
