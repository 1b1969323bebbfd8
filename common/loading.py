"""What is heavy and is loaded when it is first needed: embedding models and the process that parses."""

import ctypes
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from common.domain.documents import Parsed
from common.domain.errors import Misconfigured, ModelMissing
from common.domain.providers import ADDRESSES, FOLDERS, NO_MODEL, Provider
from common.domain.space import EmbeddingSpace
from common.models import model_folder, read_manifest
from common.ports import Embedder

if TYPE_CHECKING:
    from common.adapters.sandbox_parser import SandboxParser

_ARENA_MAX: Final = -8
"""Of `mallopt`, from malloc.h."""


@dataclass(slots=True)
class Models:
    """Loads embedders from their folders, each once, when first needed."""

    parent: Path
    name: str
    given: Embedder | None = None
    provider: Provider = field(default_factory=Provider)
    _loaded: dict[Path, Embedder] = field(default_factory=dict)
    _opened: dict[tuple[str, str], Embedder] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def configured(self) -> Embedder:
        """The embedder of new bases. Raises ModelMissing, ModelFilesDiffer, Misconfigured."""
        return self.given or self.named(self.name)

    def named(self, name: str) -> Embedder:
        """The embedder of this model by the configured provider. Raises what `configured` raises."""
        if self.given is not None and self.given.space.model == name:
            return self.given
        if self.provider.name == FOLDERS:
            return self._load(model_folder(self.parent, name))
        return self._open(self.provider.name, name)

    def find(self, space: EmbeddingSpace) -> Embedder:
        """The embedder of exactly this space, whichever provider is configured. Raises ModelMissing, saying what stands
        in its place, and where a provider has to be asked Unavailable and ProviderRefuses.
        """
        if self.given is not None and self.given.space == space:
            return self.given
        if space.provider in (*ADDRESSES, NO_MODEL):
            return self._same(self._reopened(space), space)
        folder = model_folder(self.parent, space.model)
        found = read_manifest(folder).space
        if found != space:
            raise ModelMissing(
                f"the base was built with model {space.model} ({space.files_hash[:12]}), "
                f"but {folder} holds another vector space ({found.files_hash[:12]})"
            )
        return self._load(folder)

    def _reopened(self, space: EmbeddingSpace) -> Embedder:
        try:
            return self._open(space.provider, space.model)
        except ModelMissing:
            raise
        except Misconfigured as error:
            raise ModelMissing(f"the base was built with model {space.model} of {space.provider}: {error}") from error

    def _same(self, embedder: Embedder, space: EmbeddingSpace) -> Embedder:
        found = embedder.space
        if found != space:
            raise ModelMissing(
                f"the base was built with model {space.model} of {space.provider} ({space.dimension} numbers), "
                f"which now is another vector space ({found.dimension} numbers)"
            )
        return embedder

    def _open(self, provider: str, model: str) -> Embedder:
        asked = self.provider.asked_for(provider)
        if asked is None:
            raise ModelMissing(
                f"the base was built with model {model} of {provider}: set KB_EMBED_PROVIDER={provider} and its key"
            )
        with self._lock:
            if (provider, model) not in self._opened:
                self._opened[provider, model] = open_embedder(asked, model)
            return self._opened[provider, model]

    def _load(self, folder: Path) -> Embedder:
        from common.adapters.onnx_embedder import OnnxEmbedder  # noqa: PLC0415 - only who embeds pays for the import

        with self._lock:
            if folder not in self._loaded:
                self._loaded[folder] = OnnxEmbedder(folder)
                _give_back()
            return self._loaded[folder]


def open_embedder(provider: Provider, model: str) -> Embedder:
    """The model by a provider that needs no folder; nothing is asked of it yet. Raises Misconfigured for settings that
    cannot be used.
    """
    if provider.name == NO_MODEL:
        from common.adapters.no_embedder import NoEmbedder  # noqa: PLC0415 - see Models

        return NoEmbedder()
    if provider.name == "bedrock":
        if find_spec("boto3") is None:
            raise Misconfigured("KB_EMBED_PROVIDER=bedrock needs boto3: pip install 'fichario[aws]'.")
        from common.adapters.bedrock_embedder import bedrock_embedder  # noqa: PLC0415 - see above

        return bedrock_embedder(model, provider.url)
    from common.adapters.openai_embedder import openai_embedder  # noqa: PLC0415 - see above

    return openai_embedder(provider.name, provider.url, model, provider.key)


def check_provider(provider: Provider, model: str) -> None:
    """Raises Misconfigured for a provider that could not be asked; asks nobody."""
    asked = provider.asked_for(provider.name)
    if asked is not None and provider.name != FOLDERS:
        open_embedder(asked, model)


def share_arenas() -> None:
    """Have all threads share two of the C library's arenas, where it has any (glibc): each holds on to what was freed
    in it. To be called before there are threads.
    """
    tune = getattr(ctypes.CDLL(None), "mallopt", None)
    if tune is not None:
        tune(_ARENA_MAX, 2)


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
