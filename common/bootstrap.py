"""The composition root: the only place that knows which adapter stands behind which port."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from common import logs
from common.adapters.data_folder import DataFolder
from common.adapters.edge_index import EdgeIndex
from common.adapters.folder.bucket import open_bucket
from common.adapters.folder.objects import FolderObjectStore
from common.adapters.folder.scan import FolderScan
from common.adapters.process_cache import ProcessCache
from common.adapters.sqlite.catalog import SqliteCatalog
from common.adapters.sqlite.connection import Database
from common.adapters.sqlite.generations import SqliteGenerations
from common.adapters.sqlite.queue import SqliteQueue
from common.adapters.system_clock import SystemClock
from common.domain.chunking import CHUNKING_VERSION
from common.domain.errors import DataFolderError
from common.domain.lexical import LEXICAL_VERSION
from common.domain.notifications import write_notification
from common.domain.objects import ObjectChange
from common.domain.records import Gate
from common.domain.space import Chunking, EmbeddingSpace, LexicalSpace
from common.identity import Authenticate, loopback_only
from common.loading import Models, WorkerParser
from common.models import gate_constants
from common.ports import Catalog, Clock, Embedder, Message, ObjectStore, Parser, PullQueue, VectorIndex
from common.settings import Settings, read_settings
from common.stages.answers import Answers
from common.stages.caching import EpochMemory, QuestionCache
from common.stages.fit import GateFit
from common.stages.ingest import IngestPorts
from common.stages.listing import Listing
from common.stages.manage import Manage
from common.stages.quota import Quota
from common.stages.reconcile import Reconcile
from common.stages.search import Searcher
from common.stages.spaces import Spaces
from common.stages.writeback import Callee, WriteBack

MEGABYTE: Final = 2**20
LOCAL_BUCKET: Final = "local"


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything the functions use, wired for one place to run."""

    settings: Settings
    clock: Clock
    store: ObjectStore
    catalog: Catalog
    index: VectorIndex
    queue: PullQueue
    spaces: Spaces
    answers: Answers
    listing: Listing
    manage: Manage
    reconcile: Reconcile
    gate_fit: GateFit
    ingest: IngestPorts
    authenticate: Authenticate
    ready: Callable[[], Mapping[str, Any]]
    bucket: str
    scan: FolderScan
    folder: DataFolder
    close: Callable[[], None]


@lru_cache(maxsize=1)
def process_runtime() -> Runtime:
    """The runtime of this process, from its environment."""
    settings = read_settings()
    logs.configure(settings.kb_log_level)
    return local_runtime(settings)


def local_runtime(
    settings: Settings,
    *,
    embedder: Embedder | None = None,
    parser: Parser | None = None,
    clock: Clock | None = None,
    step: Callable[[str], None] = lambda _: None,
    wake: Callable[[str], None] | None = None,
    stopping: Callable[[], bool] = lambda: False,
    patience: float = 0.0,
) -> Runtime:
    """One machine: everything under the data folder. Raises DataFolderError when it is locked, damaged or not whole."""
    clock = clock or SystemClock()
    folder = DataFolder(settings.data, patience=patience)
    try:
        database = _database(settings.data)
        bucket = open_bucket(settings.bucket, database.fact("bucket"))
        database.remember("bucket", bucket.id)
        index = EdgeIndex(settings.data / "index")
    except BaseException:
        folder.close()
        raise
    catalog = SqliteCatalog(database)
    queue = SqliteQueue(database, clock, wake=wake)

    def announce(change: ObjectChange) -> None:
        attributes, resource = write_notification(change, LOCAL_BUCKET)
        queue.publish(settings.kb_topic_events, Message(resource, attributes))

    store = FolderObjectStore(bucket, SqliteGenerations(database), announce, clock, atomically=database.transaction)
    # The lock proves that whoever held a lease or a message is dead.
    catalog.void_leases()
    queue.revive(settings.kb_topic_events)

    reader = WorkerParser(settings.kb_ocr)

    def close() -> None:
        reader.close()
        index.flush()
        index.close()
        database.close()
        folder.close()

    return _wired(
        settings,
        clock,
        Parts(store, catalog, index, queue, folder, FolderScan(store), announce, close),
        Models(settings.models, settings.model, embedder),
        parser or reader,
        step,
        stopping,
    )


@dataclass(frozen=True, slots=True)
class Parts:
    """The adapters of one place to run."""

    store: ObjectStore
    catalog: Catalog
    index: VectorIndex
    queue: PullQueue
    folder: DataFolder
    scan: FolderScan
    announce: Callable[[ObjectChange], None]
    close: Callable[[], None]


def _wired(
    settings: Settings,
    clock: Clock,
    parts: Parts,
    models: Models,
    parser: Parser,
    step: Callable[[str], None],
    stopping: Callable[[], bool],
) -> Runtime:
    spaces = Spaces(
        catalog=parts.catalog,
        index=parts.index,
        clock=clock,
        template=settings.kb_collection_template,
        configured=models.configured,
        chunking=lambda embedder: Chunking(
            CHUNKING_VERSION, settings.kb_chunk_tokens, settings.kb_chunk_overlap, embedder.window
        ),
        lexical=LexicalSpace(LEXICAL_VERSION, settings.kb_normalize),  # type: ignore[arg-type]  # Settings checked it
        find=models.find,
        gate=_shipped_gate,
    )
    cache = ProcessCache(clock, settings.kb_cache_ttl, settings.kb_cache_max_mb * MEGABYTE)
    searcher = Searcher(
        parts.catalog,
        parts.index,
        spaces,
        settings.enable_knowledge_base,
        EpochMemory(),
        QuestionCache(cache),
    )
    file_limit = settings.kb_max_file_mb * MEGABYTE
    write_back = _write_back(settings, parts.catalog, clock)
    quota = Quota(parts.catalog, settings.kb_max_base_mb * MEGABYTE, settings.kb_max_documents)
    return Runtime(
        settings=settings,
        clock=clock,
        store=parts.store,
        catalog=parts.catalog,
        index=parts.index,
        queue=parts.queue,
        spaces=spaces,
        answers=Answers(searcher, parts.catalog, cache),
        listing=Listing(parts.catalog),
        manage=Manage(parts.store, parts.catalog, spaces, clock, parts.announce, quota, file_limit),
        reconcile=Reconcile(
            parts.store,
            parts.catalog,
            parts.index,
            clock,
            parts.announce,
            lambda: list(parts.scan.scan().foreign),
            write_back.repair if write_back else lambda _: None,
        ),
        gate_fit=GateFit(parts.catalog, parts.index, spaces),
        ingest=IngestPorts(
            parts.store,
            parts.catalog,
            parts.index,
            spaces,
            parser,
            clock,
            quota,
            parts.announce,
            settings.kb_max_attempts,
            file_limit,
            settings.kb_slice_seconds,
            stopping,
            step,
            write_back.after if write_back else lambda _: None,
        ),
        authenticate=_authenticate(settings, clock),
        ready=lambda: {"model": models.configured().space.model},
        bucket=LOCAL_BUCKET,
        scan=parts.scan,
        folder=parts.folder,
        close=parts.close,
    )


def _authenticate(settings: Settings, clock: Clock) -> Authenticate:
    """Who may ask, as KB_AUTH says. The libraries of signed tokens are imported only where tokens are read."""
    if settings.kb_auth == "none":
        return loopback_only
    from common.adapters.jose.keys import RemoteKeys, SecretKey  # noqa: PLC0415 - see above

    if settings.kb_auth == "iam":
        from common.adapters.iam_identity import GOOGLE_KEYS, IamIdentity, read_grants  # noqa: PLC0415 - see above

        keys = RemoteKeys(GOOGLE_KEYS, clock)
        return IamIdentity(keys, clock, settings.kb_iam_audience, read_grants(settings.kb_iam_bases))
    from common.adapters.jwt_identity import JwtIdentity  # noqa: PLC0415 - see above

    found = RemoteKeys(settings.kb_jwks_url, clock) if settings.kb_jwks_url else SecretKey(settings.kb_jwt_secret)
    return JwtIdentity(found, clock, audience=settings.kb_jwt_audience, issuer=settings.kb_jwt_issuer)


def _write_back(settings: Settings, catalog: Catalog, clock: Clock) -> WriteBack | None:
    """None unless it is switched on. Raises Misconfigured for an address that cannot be used."""
    if not settings.kb_writeback_enabled:
        return None
    from common.adapters.http_notifier import HttpNotifier  # noqa: PLC0415 - brings TLS, which nothing else here needs

    url, token_url = settings.kb_writeback_url, settings.kb_writeback_token_url
    notifier = HttpNotifier({"KB_WRITEBACK_URL": url, "KB_WRITEBACK_TOKEN_URL": token_url})
    email, password = settings.kb_writeback_email, settings.kb_writeback_password
    return WriteBack(catalog, clock, notifier, Callee(url, token_url, email, password, settings.kb_collection_template))


def _shipped_gate(space: EmbeddingSpace) -> Gate:
    constants = gate_constants(space.model)
    return Gate(constants.med, constants.sd, constants.cut)


def _database(data: Path) -> Database:
    """The catalog's file; a folder that has an index but no catalog lost it, and is never begun anew in silence."""
    path = data / "catalog.sqlite"
    if not path.exists() and (data / "index").is_dir() and any(os.scandir(data / "index")):
        raise DataFolderError(
            f"{path} is missing although {data / 'index'} holds collections. Restore it from a backup, or move the "
            "whole data folder away and index the bucket again."
        )
    return Database(path)
