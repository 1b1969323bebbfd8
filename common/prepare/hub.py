"""Any other model fastembed knows, fetched from the hub by fastembed and made into the same kind of folder."""

import json
import shutil
import tempfile
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from common.domain.errors import ModelMissing
from common.models import (
    Manifest,
    ModelSource,
    Pooling,
    Quantisation,
    file_entry,
    known_model,
    write_manifest,
)
from common.prepare.assemble import Progress, canonical_vectors
from common.prepare.tokenizer_file import limits, open_window

if TYPE_CHECKING:
    from fastembed.common.model_description import DenseModelDescription

_ASK: Final = "Represent this sentence for searching relevant passages: "
# (part of the name, prefix of a question, prefix of a passage), from the models' own cards; the first match counts.
_PREFIXES: Final = (
    ("e5-", "query: ", "passage: "),
    ("bge-small-en", _ASK, ""),
    ("bge-base-en", _ASK, ""),
    ("bge-large-en", _ASK, ""),
    ("mxbai-embed", _ASK, ""),
    ("arctic-embed", _ASK, ""),
    ("nomic-embed", "search_query: ", "search_document: "),
)
_DYNAMIC: Final = frozenset({"DynamicQuantizeLinear", "DynamicQuantizeMatMul", "MatMulInteger", "QAttention"})


def build(name: str, folder: Path, progress: Progress) -> None:
    """Fetch `name` into the empty `folder`; raises ModelMissing, saying what to do when the hub is out of reach."""
    description, pooling = _describe(name)
    with tempfile.TemporaryDirectory(prefix="hub-") as cache:
        progress(f"fetching {name} from the hub")
        adopt(description, pooling, _download(description, Path(cache)), folder)


def adopt(description: "DenseModelDescription", pooling: Pooling, source: Path, folder: Path) -> None:
    """Make the hub's files in `source` a model folder; raises ModelMissing for a model that cannot be used safely."""
    name = description.model
    for file in (description.model_file, *description.additional_files):
        shutil.copyfile(source / file, folder / Path(file).name)
    texts = {part: _text(source / part) for part in ("tokenizer.json", "tokenizer_config.json", "config.json")}
    window = _window(name, texts)
    pad_id, pad = _padding(texts)
    settings = {"model_max_length": window, "pad_token": pad}
    (folder / "tokenizer.json").write_text(open_window(texts["tokenizer.json"]), "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, sort_keys=True), "utf-8")
    (folder / "config.json").write_text(json.dumps({"pad_token_id": pad_id}), "utf-8")
    query_prefix, passage_prefix = _prefixes(name)
    model_file = Path(description.model_file).name
    manifest = Manifest(
        name=name,
        files={path.name: file_entry(path) for path in sorted(folder.iterdir())},
        model_file=model_file,
        pooling=pooling,
        normalisation="l2",
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
        window=window,
        dimension=int(description.dim or 0),
        quantisation=_quantisation(folder / model_file),
        pad_id=pad_id,
        source=ModelSource(str(description.sources.hf), "", "", description.license),
        fastembed=version("fastembed"),
        tools={tool: version(tool) for tool in ("onnxruntime", "tokenizers")},
        checks={"reference": "fastembed's own catalogue"},
        canonical=(),
    )
    write_manifest(folder, manifest)
    write_manifest(folder, replace(manifest, canonical=canonical_vectors(folder)))


def _describe(name: str) -> tuple["DenseModelDescription", Pooling]:
    from fastembed.text.onnx_embedding import OnnxTextEmbedding  # noqa: PLC0415 - only a preparation needs it
    from fastembed.text.pooled_embedding import PooledEmbedding  # noqa: PLC0415
    from fastembed.text.pooled_normalized_embedding import PooledNormalizedEmbedding  # noqa: PLC0415

    families: tuple[tuple[Any, Pooling], ...] = (
        (OnnxTextEmbedding, "cls"),
        (PooledEmbedding, "mean"),
        (PooledNormalizedEmbedding, "mean"),
    )
    for family, pooling in families:
        for description in family._list_supported_models():  # noqa: SLF001 - the public list drops the family
            if description.model.lower() == name.lower():
                return description, pooling
    raise ModelMissing(
        f"{name!r} is no text model this product can prepare. It knows e5-small-enpt, e5-small, all-MiniLM-L6-v2 and "
        "the plain text models of fastembed (TextEmbedding.list_supported_models())."
    )


def _download(description: "DenseModelDescription", cache: Path) -> Path:
    from fastembed.text.onnx_embedding import OnnxTextEmbedding  # noqa: PLC0415

    try:
        source = Path(OnnxTextEmbedding.download_model(description, str(cache), retries=1))
    except (OSError, ValueError) as error:
        raise ModelMissing(
            f"{description.model} could not be fetched from the model hub ({error}). Check the network or set "
            "HF_ENDPOINT to a mirror; or prepare the model on a machine that reaches the hub and copy its folder "
            "below KB_MODEL_DIR; or use e5-small, which needs a Python package index only."
        ) from error
    return source


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        if path.name == "config.json":
            return "{}"
        raise ModelMissing(f"The hub's files lack {path.name}; this product cannot use the model.") from None


def _window(name: str, texts: dict[str, str]) -> int:
    """The strictest limit anyone states: the catalogue's figure has been four times the tokenizer's."""
    known = known_model(name)
    stated = limits(texts["tokenizer.json"], texts["tokenizer_config.json"]) + ([known.window] if known else [])
    if not stated:
        raise ModelMissing(f"No file of {name} says how many tokens it reads; this product cannot use it.")
    return min(stated)


def _padding(texts: dict[str, str]) -> tuple[int, str]:
    padding = json.loads(texts["tokenizer.json"]).get("padding") or {}
    config, settings = json.loads(texts["config.json"]), json.loads(texts["tokenizer_config.json"])
    pad = padding.get("pad_token") or settings.get("pad_token") or "[PAD]"
    pad_id = padding.get("pad_id", config.get("pad_token_id", 0))
    return int(pad_id or 0), str(pad["content"] if isinstance(pad, dict) else pad)


def _prefixes(name: str) -> tuple[str, str]:
    known = known_model(name)
    if known:
        return known.query_prefix, known.passage_prefix
    return next(((query, passage) for part, query, passage in _PREFIXES if part in name.lower()), ("", ""))


def _quantisation(path: Path) -> Quantisation:
    """int8 where the graph scales activations while running, because only then a batch changes its vectors."""
    import onnx  # noqa: PLC0415

    nodes = onnx.load(path, load_external_data=False).graph.node
    return "int8" if any(node.op_type in _DYNAMIC for node in nodes) else "fp32"
