"""What is heavy and is loaded when it is first needed: embedding models and the process that parses."""

import ctypes
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from common.domain.documents import Parsed
from common.domain.errors import ModelMissing
from common.domain.space import EmbeddingSpace
from common.models import model_folder, read_manifest
from common.ports import Embedder

if TYPE_CHECKING:
    from common.adapters.sandbox_parser import SandboxParser


@dataclass(slots=True)
class Models:
    """Loads embedders from their folders, each once, when first needed."""

    parent: Path
    name: str
    given: Embedder | None = None
    _loaded: dict[Path, Embedder] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def configured(self) -> Embedder:
        """The embedder of new bases. Raises ModelMissing or ModelFilesDiffer."""
        return self.given or self._load(model_folder(self.parent, self.name))

    def named(self, name: str) -> Embedder:
        """The embedder of that name. Raises ModelMissing or ModelFilesDiffer."""
        return self._load(model_folder(self.parent, name))

    def find(self, space: EmbeddingSpace) -> Embedder:
        """The embedder of exactly this space. Raises ModelMissing, saying what stands in its place."""
        if self.given is not None and self.given.space == space:
            return self.given
        folder = model_folder(self.parent, space.model)
        found = read_manifest(folder).space
        if found != space:
            raise ModelMissing(
                f"the base was built with model {space.model} ({space.files_hash[:12]}), "
                f"but {folder} holds another vector space ({found.files_hash[:12]})"
            )
        return self._load(folder)

    def _load(self, folder: Path) -> Embedder:
        from common.adapters.onnx_embedder import OnnxEmbedder  # noqa: PLC0415 - only who embeds pays for the import

        with self._lock:
            if folder not in self._loaded:
                self._loaded[folder] = OnnxEmbedder(folder)
                _give_back()
            return self._loaded[folder]


def _give_back() -> None:
    """Return freed memory to the system where the C library can: reading a model leaves some 25 MB behind."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class WorkerParser:
    """Every kind of file, read in a worker process with bounds. Nothing of it is imported before the first file: who
    only asks never pays for it.
    """

    def __init__(self, ocr: str) -> None:
        self._ocr = ocr
        self._lock = Lock()
        self._sandbox: SandboxParser | None = None

    def parse(self, data: bytes, name: str, content_type: str = "") -> Parsed:
        """The documents of one object. Raises DocumentError."""
        with self._lock:
            if self._sandbox is None:
                from common.adapters.sandbox_parser import SandboxParser  # noqa: PLC0415 - see above

                self._sandbox = SandboxParser("common.reading:document_parser", {"ocr": self._ocr})
        return self._sandbox.parse(data, name, content_type)

    def close(self) -> None:
        """End the worker, if there is one."""
        if self._sandbox is not None:
            self._sandbox.close()
