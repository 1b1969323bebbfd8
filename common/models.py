"""Known embedding models, and model folders: their manifest, its verification, and where a model's folder stands.

Owns no model code and imports nothing heavy: every function's start passes through here.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from common.domain.errors import ModelFilesDiffer, ModelMissing
from common.domain.space import EmbeddingSpace

MANIFEST: Final = "manifest.json"
FORMAT: Final = 1
CANONICAL_NUMBERS: Final = 8

Pooling = Literal["mean", "cls", "last", "none"]
Quantisation = Literal["int8", "fp32"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")


@dataclass(frozen=True, slots=True)
class GateConstants:
    """What the gate uses until a base is calibrated: median and deviation of cosines, the cut of its value."""

    med: float
    sd: float
    cut: float


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What cannot be read from a model's files; `window` counts tokens, special tokens included."""

    name: str
    pooling: Pooling
    query_prefix: str
    passage_prefix: str
    window: int
    dimension: int
    quantisation: Quantisation
    gate: GateConstants


_E5_GATE = GateConstants(med=0.78, sd=0.023, cut=1.12)
_MINILM_GATE = GateConstants(med=0.20, sd=0.106, cut=1.08)
_PARAPHRASE_GATE = GateConstants(med=0.15, sd=0.12, cut=1.12)
# A model nobody measured: wide enough that the lexical half of the gate decides until the base is calibrated.
UNMEASURED_GATE: Final = GateConstants(med=0.40, sd=0.12, cut=1.12)

KNOWN: Final[Mapping[str, KnownModel]] = {
    model.name: model
    for model in (
        KnownModel("e5-small-enpt", "mean", "query: ", "passage: ", 512, 384, "int8", _E5_GATE),
        KnownModel("e5-small", "mean", "query: ", "passage: ", 512, 384, "int8", _E5_GATE),
        KnownModel("all-MiniLM-L6-v2", "mean", "", "", 256, 384, "int8", _MINILM_GATE),
        KnownModel(
            "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
            "mean",
            "",
            "",
            128,
            384,
            "fp32",
            _PARAPHRASE_GATE,
        ),
    )
}
_ALIASES: Final[Mapping[str, str]] = {
    "paraphrase-multilingual-MiniLM-L12-v2": "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
    "sentence-transformers/all-MiniLM-L6-v2": "all-MiniLM-L6-v2",
}


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a model folder as its manifest names it; `size` in bytes."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Where the weights came from; `sha256` is of the package's file, empty where the source gives none."""

    package: str
    version: str
    sha256: str
    licence: str


@dataclass(frozen=True, slots=True)
class CanonicalVector:
    """The first numbers of the vector of a fixed text, to tell one space from another at a glance."""

    role: Literal["query", "passage"]
    text: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything a runtime must know of a model folder; `checks` records how the preparation was verified."""

    name: str
    files: Mapping[str, FileEntry]
    model_file: str
    pooling: Pooling
    normalisation: str
    query_prefix: str
    passage_prefix: str
    window: int
    dimension: int
    quantisation: Quantisation
    pad_id: int
    source: ModelSource
    fastembed: str
    tools: Mapping[str, str]
    checks: Mapping[str, float | str]
    canonical: tuple[CanonicalVector, ...]

    @property
    def files_hash(self) -> str:
        """sha256 over the files' hashes in the order of their names."""
        lines = (f"{name} {self.files[name].sha256}\n" for name in sorted(self.files))
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @property
    def space(self) -> EmbeddingSpace:
        """The vector space of this folder, whichever runtime reads it."""
        return EmbeddingSpace(
            model=self.name,
            files_hash=self.files_hash,
            pooling=self.pooling,
            normalisation=self.normalisation,
            query_prefix=self.query_prefix,
            passage_prefix=self.passage_prefix,
            dimension=self.dimension,
        )


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A folder that claims to be a model: its manifest, or the problem that hides it."""

    folder: Path
    manifest: Manifest | None
    problem: str


def canonical_name(name: str) -> str:
    """One spelling per model: a long or a short form that means a known model becomes its name here."""
    return _ALIASES.get(name, name)


def known_model(name: str) -> KnownModel | None:
    """What is known of `name` before its files are there; None for a model only the hub knows."""
    return KNOWN.get(canonical_name(name))


def gate_constants(name: str) -> GateConstants:
    """The shipped gate constants of `name`, serving until its base is calibrated (RULES 16)."""
    model = known_model(name)
    return model.gate if model else UNMEASURED_GATE


def model_folder(parent: Path, name: str) -> Path:
    """Where the model `name` stands below `parent`; raises ModelMissing for what cannot be a model's name."""
    name = canonical_name(name)
    if not _NAME.fullmatch(name):
        raise ModelMissing(f"{name!r} is not a model name: use letters, digits, '.', '_', '-' and at most one '/'.")
    return parent / name.replace("/", "__")


def list_models(parent: Path) -> list[InstalledModel]:
    """Every model folder below `parent` in the order of their names, those with a broken manifest too."""
    if not parent.is_dir():
        return []
    return [
        _installed(folder)
        for folder in sorted(parent.iterdir())
        if folder.is_dir() and not folder.name.startswith(".") and (folder / MANIFEST).exists()
    ]


def _installed(folder: Path) -> InstalledModel:
    try:
        return InstalledModel(folder, read_manifest(folder), "")
    except ModelMissing as error:
        return InstalledModel(folder, None, str(error))


def read_manifest(folder: Path) -> Manifest:
    """The folder's manifest, unverified; raises ModelMissing when it is absent or not one of this format."""
    path = folder / MANIFEST
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise ModelMissing(
            f"No model in {folder}: prepare it with `fichario models prepare {folder.name.replace('__', '/')}` "
            "or point KB_MODEL_DIR to the parent of prepared model folders."
        ) from error
    except (OSError, ValueError) as error:
        raise ModelMissing(f"{path} cannot be read ({error}); prepare the model again.") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ModelMissing(f"{path} is not a manifest of format {FORMAT}; prepare the model again.")
    try:
        return _manifest(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelMissing(f"{path} is incomplete ({error!r}); prepare the model again.") from error


def _manifest(data: dict[str, Any]) -> Manifest:
    fields = {key: value for key, value in data.items() if key not in {"format", "files_hash"}}
    fields["files"] = {name: FileEntry(**entry) for name, entry in data["files"].items()}
    fields["source"] = ModelSource(**data["source"])
    fields["canonical"] = tuple(
        CanonicalVector(entry["role"], entry["text"], tuple(entry["values"])) for entry in data["canonical"]
    )
    manifest = Manifest(**fields)
    if any("/" in name or name.startswith(".") for name in manifest.files) or manifest.model_file not in manifest.files:
        raise ValueError("files outside the folder, or no model file among them")
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write `manifest` into `folder` in a canonical form, so that equal preparations are equal bytes."""
    data = {"format": FORMAT, "files_hash": manifest.files_hash, **asdict(manifest)}
    text = json.dumps(data, ensure_ascii=False, indent=2, sort_keys=True)
    (folder / MANIFEST).write_text(text + "\n", "utf-8")


def file_entry(path: Path) -> FileEntry:
    """Hash and size of one file."""
    with path.open("rb") as file:
        return FileEntry(hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size)


def verify(folder: Path, *, full: bool = True) -> Manifest:
    """The manifest, once the folder's files agree with it; `full=False` compares sizes alone, for an image's start.

    Raises ModelMissing for an absent manifest or file, ModelFilesDiffer with both hashes for a file that changed.
    """
    manifest = read_manifest(folder)
    for name, expected in manifest.files.items():
        path = folder / name
        if not path.is_file():
            raise ModelMissing(f"{path} is named by the manifest but is not there; prepare the model again.")
        if not full and path.stat().st_size == expected.size:
            continue
        actual = file_entry(path)
        if actual != expected:
            raise ModelFilesDiffer(str(path), expected.sha256, actual.sha256)
    return manifest
