"""The composition root of the query function: opens the catalog and the index of the place to run, and has them wired.
What the other functions need besides is bootstrap's; nothing of it is imported here.
"""

import atexit
import logging
import os
import threading
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from common import logs
from common.adapters.system_clock import SystemClock
from common.asking import Asking, asking, authenticate, found_wrong
from common.domain.errors import DataFolderError, FicharioError, Misconfigured
from common.domain.providers import FOLDERS
from common.domain.space import alias_name
from common.loading import Models, check_provider, share_arenas
from common.ports import Embedder, VectorIndex
from common.settings import Settings, read_settings
from common.stages.patience import Patience

if TYPE_CHECKING:
    from google.cloud.firestore import Client as FirestoreClient
    from qdrant_client import QdrantClient

    from common.adapters.sqlite.connection import Database

_log = logging.getLogger("fichario.start")
_opening = threading.Lock()


def start_process() -> None:
    """What the query function does when its process starts: look at its settings, and have the model loaded before the
    first request asks for it. Raises Misconfigured with every problem, so that a wrong configuration takes no request.
    """
    share_arenas()
    settings, clock = process_settings(), SystemClock()
    problems = found_wrong(
        lambda: authenticate(settings, clock), lambda: check_provider(settings.provider, settings.model)
    )
    if problems:
        raise Misconfigured("\n".join(problems))
    # What models run on is imported here: a process that was just forked takes twice as long for it, beside its first
    # request. More is not: functions-framework imports first and then forks the process that serves. Locks that are
    # held, threads and connections of gRPC do not survive that, and every request would wait for them.
    if settings.provider.name == FOLDERS:
        import_module("common.adapters.onnx_embedder")
    os.register_at_fork(after_in_child=_begin_to_load)


def _begin_to_load() -> None:
    threading.Thread(target=_load, name="loading", daemon=True).start()


def process_asking() -> Asking:
    """What the query function of this process uses, from its environment; opened once."""
    with _opening:
        return _process_asking()


@lru_cache(maxsize=1)
def _process_asking() -> Asking:
    settings = process_settings()
    opened = local_asking(settings) if settings.kb_mode == "local" else cloud_asking(settings)
    atexit.register(opened.meter.close)
    atexit.register(opened.keeping.close)
    return opened


def _load() -> None:
    try:
        process_asking().ready()
    except FicharioError as error:
        # Whoever asks is told so again.
        _log.warning("not ready at the start", extra={"error": str(error)})


def local_asking(settings: Settings) -> Asking:
    """One machine, for questions alone. Raises DataFolderError when its folder is locked, damaged or not whole."""
    from common.adapters.data_folder import DataFolder  # noqa: PLC0415 - in the cloud nothing of it is needed
    from common.adapters.edge_index import EdgeIndex  # noqa: PLC0415 - see above
    from common.adapters.sqlite.catalog import SqliteCatalog  # noqa: PLC0415 - see above

    folder = DataFolder(settings.data)
    try:
        database = open_database(settings.data)
        index = EdgeIndex(settings.data / "index")
    except BaseException:
        folder.close()
        raise

    def close() -> None:
        index.close()
        database.close()
        folder.close()

    models = Models(settings.models, settings.model, provider=settings.provider)
    return asking(settings, SystemClock(), SqliteCatalog(database), index, models, close)


def cloud_asking(
    settings: Settings, *, embedder: Embedder | None = None, qdrant: "QdrantClient | None" = None
) -> Asking:
    """Google Cloud, for questions alone: Firestore and a Qdrant server."""
    return cloud_side(settings, open_firestore(settings), embedder, qdrant)


def cloud_side(
    settings: Settings, firestore: "FirestoreClient", embedder: Embedder | None, qdrant: "QdrantClient | None"
) -> Asking:
    """The query side over an open client of Firestore."""
    from common.adapters.firestore.catalog import FirestoreCatalog  # noqa: PLC0415 - one machine needs no cloud

    catalog, index = FirestoreCatalog(firestore, settings.kb_epoch_shards), _qdrant(settings, qdrant)
    models = Models(settings.models, settings.model, embedder, settings.provider)
    patience = Patience("the catalog and the index", settings.kb_deadline_seconds)
    return asking(settings, SystemClock(), catalog, index, models, index.close, patience.run)


def open_firestore(settings: Settings) -> "FirestoreClient":
    """A client of the project's Firestore, or of its emulator."""
    from google.cloud import firestore  # noqa: PLC0415 - one machine needs no cloud

    return firestore.Client(project=settings.google_cloud_project, database=settings.kb_firestore_database)


def _qdrant(settings: Settings, client: "QdrantClient | None") -> VectorIndex:
    from common.adapters.qdrant_index import QdrantIndex, connect  # noqa: PLC0415 - importing it costs a second

    client = client or connect(settings.qdrant_url, settings.qdrant_api_key or None)
    return QdrantIndex(client, lambda base: alias_name(settings.kb_collection_template, base))


@lru_cache(maxsize=1)
def process_settings() -> Settings:
    """The settings of this process, read once."""
    settings = read_settings()
    logs.configure(settings.kb_log_level)
    return settings


def open_database(data: Path) -> "Database":
    """The catalog's file, for who holds the folder's lock; a folder that has an index but no catalog lost it, and is
    never begun anew in silence.
    """
    from common.adapters.sqlite.connection import Database  # noqa: PLC0415 - in the cloud nothing of it is needed

    path = data / "catalog.sqlite"
    if not path.exists() and (data / "index").is_dir() and any(os.scandir(data / "index")):
        raise DataFolderError(
            f"{path} is missing although {data / 'index'} holds collections. Restore it from a backup, or move the "
            "whole data folder away and index the bucket again."
        )
    return Database(path, alone=True)
