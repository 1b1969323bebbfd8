"""Turns weights read from a package into a model folder: graph, quantised graph, checks, manifest."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

from common.adapters.fastembed_embedder import FastembedEmbedder
from common.adapters.onnx_embedder import OnnxEmbedder
from common.domain.errors import ModelMissing
from common.models import (
    CANONICAL_NUMBERS,
    CanonicalVector,
    KnownModel,
    Manifest,
    ModelSource,
    Quantisation,
    file_entry,
    write_manifest,
)
from common.prepare.check import FLOAT_BOUND, INT8_BOUND, INT8_BOUNDS, Reference, agreement, embed
from common.prepare.onnx_bert import Encoder, quantise, write_encoder
from common.prepare.texts import CANONICAL, SAMPLES

MODEL_FILE: Final = "model.onnx"

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Ingredients:
    """What a package gives: the encoder, the JSON files beside the graph, and vectors to be reproduced."""

    encoder: Encoder
    files: Mapping[str, str]
    pad_id: int
    source: ModelSource
    reference: Reference


def assemble(known: KnownModel, parts: Ingredients, folder: Path, progress: Progress) -> None:
    """Fill `folder` with the int8 model `known`; raises ModelMissing when a check fails."""
    with tempfile.TemporaryDirectory(prefix="graph-") as name:
        whole = Path(name)
        progress("writing the graph")
        write_encoder(parts.encoder, whole / MODEL_FILE)
        _write_companions(known, parts, whole, "fp32")
        float_vectors = embed(OnnxEmbedder(whole), SAMPLES)
        picked = [float_vectors[position] for position in parts.reference.positions]
        faithful = agreement(picked, parts.reference.vectors, FLOAT_BOUND, f"The graph of {known.name}")
        progress(f"cosine to {parts.reference.origin}: lowest {faithful.lowest}, mean {faithful.mean}")
        progress("quantising")
        quantise(whole / MODEL_FILE, folder / MODEL_FILE)
    manifest = _write_companions(known, parts, folder, "int8")
    embedder = OnnxEmbedder(folder)
    bound = INT8_BOUNDS.get(known.name, INT8_BOUND)
    drift = agreement(embed(embedder, SAMPLES), float_vectors, bound, f"The quantised graph of {known.name}")
    progress(f"cosine after quantisation: lowest {drift.lowest}, mean {drift.mean}")
    checks: dict[str, float | str] = {"reference": parts.reference.origin}
    checks |= {f"graph_{key}": value for key, value in asdict(faithful).items()}
    checks |= {f"int8_{key}": value for key, value in asdict(drift).items()}
    write_manifest(folder, replace(manifest, checks=checks, canonical=canonical_vectors(folder)))


def canonical_vectors(folder: Path) -> tuple[CanonicalVector, ...]:
    """First numbers of the canonical texts' vectors, once fastembed and our own runtime agree on every bit of them."""
    vectors = embed(FastembedEmbedder(folder), CANONICAL)
    if vectors != embed(OnnxEmbedder(folder), CANONICAL):
        raise ModelMissing(
            f"fastembed {version('fastembed')} gives other vectors for {folder.name} than this product's own runtime; "
            "install the fastembed version of the lock file."
        )
    return tuple(
        CanonicalVector(sample.role, sample.text, tuple(vector[:CANONICAL_NUMBERS]))
        for sample, vector in zip(CANONICAL, vectors, strict=True)
    )


def _write_companions(known: KnownModel, parts: Ingredients, folder: Path, quantisation: Quantisation) -> Manifest:
    for name, text in parts.files.items():
        (folder / name).write_text(text, "utf-8")
    manifest = Manifest(
        name=known.name,
        files={name: file_entry(folder / name) for name in sorted([*parts.files, MODEL_FILE])},
        model_file=MODEL_FILE,
        pooling=known.pooling,
        normalisation="l2",
        query_prefix=known.query_prefix,
        passage_prefix=known.passage_prefix,
        window=known.window,
        dimension=known.dimension,
        quantisation=quantisation,
        pad_id=parts.pad_id,
        source=parts.source,
        fastembed=version("fastembed"),
        tools={name: version(name) for name in ("onnx", "onnxruntime", "tokenizers")},
        checks={},
        canonical=(),
    )
    write_manifest(folder, manifest)
    return manifest
