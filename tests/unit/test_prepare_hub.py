"""Models of the hub: how one is adopted from its files, and what is said when the hub is out of reach."""

import json

import numpy as np
import pytest
from fastembed.common.model_description import DenseModelDescription, ModelSource
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from common.adapters.onnx_embedder import OnnxEmbedder
from common.domain.errors import ModelMissing
from common.models import verify
from common.prepare import hub
from common.prepare.onnx_bert import Encoder, Layer, Linear, Norm, Shape, block_quantise, quantise, write_encoder

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁hello", "▁world", "a", "e", "o", "r"]


def description(name="someone/e5-tiny"):
    return DenseModelDescription(
        model=name, sources=ModelSource(hf="a/b"), model_file="onnx/model.onnx", description="", license="mit",
        size_in_GB=0.1, dim=32,
    )  # fmt: skip


@pytest.fixture
def source(tmp_path):
    """A repository of the hub: a graph below `onnx`, a tokenizer that cuts at 20 tokens and pads to 20."""
    folder = tmp_path / "hub"
    (folder / "onnx").mkdir(parents=True)
    eye, zero, one = np.eye(32, dtype=np.float32), np.zeros(32, np.float32), np.ones(32, np.float32)
    same, norm = Linear(eye, zero), Norm(one, zero)
    table = np.random.default_rng(5).normal(0, 1, (len(PIECES), 32)).astype(np.float32)
    encoder = Encoder(
        Shape(32, 1, 2, 32, 1e-12),
        block_quantise(table),
        np.zeros((128, 32), np.float32),
        norm,
        (Layer(same, same, same, same, norm, same, same, norm),),
    )
    write_encoder(encoder, folder / "onnx" / "model.onnx")
    tokenizer = Tokenizer(models.Unigram([(piece, -float(i)) for i, piece in enumerate(PIECES)], unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens(PIECES[:4])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.enable_truncation(20)
    tokenizer.enable_padding(length=20, pad_id=1, pad_token="<pad>")
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 64}))
    (folder / "config.json").write_text("{}")
    return folder


def test_an_adopted_model_is_a_folder_like_any_other(source, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    hub.adopt(description(), "mean", source, folder)
    manifest = verify(folder)
    assert (manifest.window, manifest.pad_id, manifest.pooling, manifest.quantisation) == (20, 1, "mean", "fp32")
    assert (manifest.query_prefix, manifest.passage_prefix) == ("query: ", "passage: ")
    assert sorted(manifest.files) == ["config.json", "model.onnx", "tokenizer.json", "tokenizer_config.json"]
    assert [vector.role for vector in manifest.canonical] == ["passage", "query"]
    embedder = OnnxEmbedder(folder)
    assert embedder.count_tokens("hello world " * 20) == 41
    assert embedder.count_tokens("</s>") > 1


def test_a_dynamically_quantised_graph_is_known_by_its_nodes(source, tmp_path):
    quantise(source / "onnx" / "model.onnx", source / "onnx" / "model.onnx")
    folder = tmp_path / "folder"
    folder.mkdir()
    hub.adopt(description(), "mean", source, folder)
    assert verify(folder).quantisation == "int8"


def test_a_model_whose_window_nobody_states_is_refused(source, tmp_path):
    tokenizer = json.loads((source / "tokenizer.json").read_text()) | {"truncation": None}
    (source / "tokenizer.json").write_text(json.dumps(tokenizer))
    (source / "tokenizer_config.json").write_text("{}")
    with pytest.raises(ModelMissing, match="how many tokens"):
        hub.adopt(description(), "mean", source, tmp_path)


def test_the_default_production_models_window_is_the_strictest_stated(source, tmp_path):
    tokenizer = json.loads((source / "tokenizer.json").read_text()) | {"truncation": None}
    (source / "tokenizer.json").write_text(json.dumps(tokenizer))
    (source / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 512}))
    name = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
    folder = tmp_path / "folder"
    folder.mkdir()
    hub.adopt(description(name), "mean", source, folder)
    assert verify(folder).window == 128


def test_a_name_nobody_knows_is_refused_with_the_ones_that_are(tmp_path):
    with pytest.raises(ModelMissing, match="e5-small-enpt"):
        hub.build("someone/unheard-of", tmp_path, lambda _: None)


def test_a_hub_out_of_reach_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelMissing, match=r"could not be fetched.*HF_ENDPOINT.*KB_MODEL_DIR.*e5-small"):
        hub.build("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", tmp_path, lambda _: None)
    assert list(tmp_path.iterdir()) == []
