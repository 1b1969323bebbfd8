"""Model folders like the prepared ones whose graph was altered."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import onnx

from common.models import file_entry, read_manifest, write_manifest

Alter = Callable[[bytes, onnx.ModelProto], bytes]


def copied(model: Path, parent: Path, name: str = "") -> Path:
    """The folder of a model below `parent`, under another name if one is given; its files are its own."""
    return Path(shutil.copytree(model, parent / (name or model.name)))


def alter(folder: Path, change: Alter) -> None:
    """Change the graph's file, and leave the manifest as it is."""
    path = folder / read_manifest(folder).model_file
    data = path.read_bytes()
    path.write_bytes(change(data, onnx.load_from_string(data)))


def describe(folder: Path) -> None:
    """Write the manifest anew: of the files as they are, under the folder's name."""
    manifest = read_manifest(folder)
    files = {name: file_entry(folder / name) for name in manifest.files}
    write_manifest(folder, replace(manifest, name=folder.name, files=files))


def one_byte(data: bytes, graph: onnx.ModelProto) -> bytes:
    """One byte of the first layer's scale: a number of it becomes some hundred times as large."""
    weights = next(each.raw_data for each in graph.graph.initializer if each.name == "embeddings.weight")
    assert data.count(weights) == 1
    place = data.index(weights) + 3
    return data[:place] + b"\x44" + data[place + 1 :]


def scrambled(data: bytes, graph: onnx.ModelProto) -> bytes:
    """Every layer's weights in another order: what comes out says nothing of what went in."""
    for each in graph.graph.initializer:
        if each.name.endswith("weight_quantized"):
            each.raw_data = each.raw_data[::-1]
    return graph.SerializeToString()
