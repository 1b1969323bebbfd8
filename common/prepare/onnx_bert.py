"""Writes a BERT encoder as an ONNX graph from its weights, and quantises it; no training framework is involved.

The graph takes `input_ids` and `attention_mask` (int64, [batch, tokens]) and gives `last_hidden_state`
([batch, tokens, hidden]). The architecture is that of Devlin et al. 2019 with post-layer normalisation and exact GELU.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

BLOCK: Final = 32
_OPSET: Final = 20
_IR_VERSION: Final = 10
_MASKED: Final = -10_000.0

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of an encoder; `epsilon` belongs to its layer normalisations."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class WordTable:
    """Word embeddings, 32 numbers to a scale: `values` int8 [words, blocks, 32], `scales` float16 [.., .., 1]."""

    values: NDArray[np.int8]
    scales: NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class Linear:
    """`weight` is [outputs, inputs], `bias` [outputs]."""

    weight: Array
    bias: Array


@dataclass(frozen=True, slots=True)
class Norm:
    """Gain and bias of a layer normalisation, both [hidden]."""

    weight: Array
    bias: Array


@dataclass(frozen=True, slots=True)
class Layer:
    """One transformer layer."""

    query: Linear
    key: Linear
    value: Linear
    attended: Linear
    attention_norm: Norm
    expand: Linear
    contract: Linear
    output_norm: Norm


@dataclass(frozen=True, slots=True)
class Encoder:
    """A whole encoder; `positions` [window, hidden] includes the embedding of token type 0."""

    shape: Shape
    words: WordTable
    positions: Array
    norm: Norm
    layers: tuple[Layer, ...]


def block_quantise(table: Array) -> WordTable:
    """Round a float table [words, hidden] to int8 with one scale per 32 numbers (the Q8_0 format of ggml)."""
    blocks = table.reshape(len(table), -1, BLOCK)
    scales = (np.abs(blocks).max(axis=2, keepdims=True) / 127).astype(np.float16)
    divisor = np.where(scales == 0, 1, scales).astype(np.float32)
    values = np.clip(np.rint(blocks / divisor), -127, 127).astype(np.int8)
    return WordTable(values, scales)


class _Graph:
    """Nodes and initialisers in the order they were added; every method returns its output's name."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initialisers: list[Any] = []

    def constant(self, name: str, values: NDArray[Any]) -> str:
        from onnx import numpy_helper  # noqa: PLC0415 - only a preparation has onnx

        self.initialisers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def scalar(self, name: str, value: float, kind: type[np.float32 | np.int64] = np.float32) -> str:
        from onnx import numpy_helper  # noqa: PLC0415

        self.initialisers.append(numpy_helper.from_array(np.array(value, kind), name))
        return name

    def add(self, kind: str, inputs: list[str], output: str, **attributes: float | list[int]) -> str:
        from onnx import helper  # noqa: PLC0415

        node = helper.make_node(kind, inputs, [output], name=output)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in sorted(attributes.items()))
        self.nodes.append(node)
        return output

    def split(self, source: str, sizes: str, outputs: list[str]) -> list[str]:
        from onnx import helper  # noqa: PLC0415

        self.nodes.append(helper.make_node("Split", [source, sizes], outputs, name=f"{outputs[0]}.split", axis=-1))
        return outputs

    def linear(self, source: str, layer: Linear, name: str) -> str:
        product = self.add("MatMul", [source, self.constant(f"{name}.weight", layer.weight.T)], f"{name}.product")
        return self.add("Add", [product, self.constant(f"{name}.bias", layer.bias)], name)

    def norm(self, source: str, norm: Norm, epsilon: float, name: str) -> str:
        weight = self.constant(f"{name}.weight", norm.weight)
        bias = self.constant(f"{name}.bias", norm.bias)
        return self.add("LayerNormalization", [source, weight, bias], name, axis=-1, epsilon=epsilon)


def write_encoder(encoder: Encoder, path: Path) -> None:
    """Write the float graph; only the word table is stored in blocks, as `WordTable` says."""
    import onnx  # noqa: PLC0415
    from onnx import TensorProto, helper  # noqa: PLC0415

    graph = _Graph()
    state = _embeddings(graph, encoder)
    bias = _mask_bias(graph)
    _shared_constants(graph, encoder.shape)
    for index, layer in enumerate(encoder.layers):
        last = index == len(encoder.layers) - 1
        output = "last_hidden_state" if last else f"layer{index}.output"
        state = _layer(graph, layer, encoder.shape, state, bias, f"layer{index}", output)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [helper.make_tensor_value_info(state, TensorProto.FLOAT, ["batch", "tokens", encoder.shape.hidden])]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.initialisers),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="fichario",
    )
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString(deterministic=True))


def quantise(source: Path, target: Path) -> None:
    """Quantise the linear layers to int8 with one scale per output channel; activations are scaled while running."""
    import onnx  # noqa: PLC0415
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata  # noqa: PLC0415

    model = onnx.load(source)
    # Says that the graph needs no preparation; without it the library logs through the root logger.
    add_pre_process_metadata(model)
    quantize_dynamic(model, target, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul"])
    target.write_bytes(onnx.load(target).SerializeToString(deterministic=True))


def _embeddings(graph: _Graph, encoder: Encoder) -> str:
    from onnx import TensorProto  # noqa: PLC0415

    ids = "input_ids"
    values = graph.add("Gather", [graph.constant("words.values", encoder.words.values), ids], "words.rows")
    scales = graph.add("Gather", [graph.constant("words.scales", encoder.words.scales), ids], "words.row_scales")
    values = graph.add("Cast", [values], "words.float", to=TensorProto.FLOAT)
    scales = graph.add("Cast", [scales], "words.float_scales", to=TensorProto.FLOAT)
    blocks = graph.add("Mul", [values, scales], "words.blocks")
    flat = graph.constant("flat", np.array([0, 0, encoder.shape.hidden], np.int64))
    words = graph.add("Reshape", [blocks, flat], "words")
    shape = graph.add("Shape", [ids], "ids.shape")
    length = graph.add("Gather", [shape, graph.scalar("one", 1, np.int64)], "ids.length", axis=0)
    steps = graph.add("Range", [graph.scalar("zero", 0, np.int64), length, "one"], "positions.index")
    positions = graph.add("Gather", [graph.constant("positions.table", encoder.positions), steps], "positions")
    total = graph.add("Add", [words, positions], "embeddings.sum")
    return graph.norm(total, encoder.norm, encoder.shape.epsilon, "embeddings")


def _mask_bias(graph: _Graph) -> str:
    from onnx import TensorProto  # noqa: PLC0415

    mask = graph.add("Cast", ["attention_mask"], "mask.float", to=TensorProto.FLOAT)
    hidden = graph.add("Sub", [graph.scalar("mask.one", 1.0), mask], "mask.hidden")
    bias = graph.add("Mul", [hidden, graph.scalar("mask.masked", _MASKED)], "mask.flat_bias")
    return graph.add("Unsqueeze", [bias, graph.constant("mask.axes", np.array([1, 2], np.int64))], "mask.bias")


def _shared_constants(graph: _Graph, shape: Shape) -> None:
    size = shape.hidden // shape.heads
    graph.constant("heads", np.array([0, 0, shape.heads, size], np.int64))
    graph.constant("thirds", np.array([shape.hidden] * 3, np.int64))
    graph.scalar("scale", 1 / math.sqrt(size))


def _layer(graph: _Graph, layer: Layer, shape: Shape, state: str, bias: str, name: str, output: str) -> str:
    joined = Linear(
        np.concatenate([layer.query.weight, layer.key.weight, layer.value.weight]),
        np.concatenate([layer.query.bias, layer.key.bias, layer.value.bias]),
    )
    parts = [f"{name}.query", f"{name}.key", f"{name}.value"]
    heads = []
    for part in graph.split(graph.linear(state, joined, f"{name}.qkv"), "thirds", parts):
        order = [0, 2, 3, 1] if part.endswith("key") else [0, 2, 1, 3]
        rows = graph.add("Reshape", [part, "heads"], f"{part}.rows")
        heads.append(graph.add("Transpose", [rows], f"{part}.heads", perm=order))
    raw = graph.add("MatMul", heads[:2], f"{name}.raw_scores")
    scaled = graph.add("Mul", [raw, "scale"], f"{name}.scaled_scores")
    scores = graph.add("Add", [scaled, bias], f"{name}.scores")
    weights = graph.add("Softmax", [scores], f"{name}.weights", axis=-1)
    mixed = graph.add("MatMul", [weights, heads[2]], f"{name}.mixed")
    rows = graph.add("Transpose", [mixed], f"{name}.mixed_rows", perm=[0, 2, 1, 3])
    context = graph.add("Reshape", [rows, "flat"], f"{name}.context")
    attended = graph.linear(context, layer.attended, f"{name}.attended")
    total = graph.add("Add", [attended, state], f"{name}.attention_sum")
    middle = graph.norm(total, layer.attention_norm, shape.epsilon, f"{name}.attention_norm")
    expanded = graph.add("Gelu", [graph.linear(middle, layer.expand, f"{name}.expand")], f"{name}.gelu")
    total = graph.add("Add", [graph.linear(expanded, layer.contract, f"{name}.contract"), middle], f"{name}.output_sum")
    return graph.norm(total, layer.output_norm, shape.epsilon, output)


def linear(tensors: Mapping[str, Array], name: str) -> Linear:
    """The linear layer `name` of a table of tensors in the naming of Hugging Face."""
    return Linear(tensors[f"{name}.weight"], tensors[f"{name}.bias"])
