"""What the measurements are made on: the corpora, the question sets, a machine of the product with a real model."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common.adapters.onnx_embedder import OnnxEmbedder
from common.bootstrap import local_runtime
from common.models import model_folder
from common.ports import Embedder
from common.runtime import LocalRuntime
from common.settings import Settings, read_settings
from functions.local.workers import drain

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("KB_BENCH_DATA", ROOT.parent / "shared" / "data"))
MODELS = Path(os.environ.get("KB_MODEL_DIR", ROOT / ".models")).resolve()
SETS = ("faquad.pt", "xquad.en", "xquad.es")
MODEL = "e5-small-enpt"
BASE = "bench"


@dataclass(frozen=True)
class QuestionSet:
    """Paragraphs, and questions with the paragraph that answers each."""

    name: str
    paragraphs: Sequence[Mapping[str, Any]]
    questions: Sequence[Mapping[str, Any]]


def question_set(name: str) -> QuestionSet:
    data = json.loads((DATA / "qa" / f"{name}.json").read_text(encoding="utf-8"))
    return QuestionSet(name, data["paragraphs"], data["questions"])


def markdown(limit: int = 0) -> dict[str, bytes]:
    """The Portuguese Markdown files by path; `limit` takes that many, spread over all."""
    root = DATA / "docs" / "markdown-pt"
    paths = sorted(root.rglob("*.md"))
    if limit:
        paths = paths[:: max(1, len(paths) // limit)][:limit]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def settings_for(folder: Path, model: str = MODEL, **more: str) -> Settings:
    """One machine without limits whose answers stay cached for as long as a measurement lasts."""
    given = {
        "KB_DATA_DIR": str(folder / "data"),
        "KB_MODEL_DIR": str(MODELS),
        "KB_EMBEDDING_MODEL": model,
        "KB_CACHE_TTL": "36000",
        "KB_MAX_BASE_MB": "0",
        "KB_MAX_DOCUMENTS": "0",
        "KB_LOG_LEVEL": "ERROR",
    }
    return read_settings({**given, **more})


def load(model: str = MODEL) -> OnnxEmbedder:
    """The model on one thread, as the product runs it."""
    return OnnxEmbedder(model_folder(MODELS, model))


@contextmanager
def one_machine(model: str = MODEL, embedder: Embedder | None = None, **more: str) -> Iterator[LocalRuntime]:
    """A machine in a folder of its own, gone afterwards."""
    with TemporaryDirectory() as folder:
        runtime = local_runtime(settings_for(Path(folder), model, **more), embedder=embedder)
        try:
            yield runtime
        finally:
            runtime.close()


def put(runtime: LocalRuntime, base: str, files: Mapping[str, bytes]) -> None:
    """Write the files into the bucket's folder, as a person would."""
    for name, data in files.items():
        path = runtime.settings.bucket / base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def index(runtime: LocalRuntime) -> None:
    """Find what changed in the bucket and bring all of it in; every job has to end indexed."""
    runtime.scan.scan(allow_mass_removal=True)
    drain(runtime)
    ended = {job.state for record in runtime.catalog.bases() for job in runtime.catalog.jobs(record.base)}
    assert ended <= {"indexed", "superseded", "deleted"}, ended
