"""The composition root of the functions that change a base: opens the adapters of the place to run, one machine or
Google Cloud, and has them wired around the query side.
"""

import atexit
import signal
import threading
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from common.adapters.system_clock import SystemClock
from common.asking import Asking, asking
from common.bootstrap_query import cloud_side, open_database, open_firestore, process_settings
from common.domain.errors import Misconfigured
from common.domain.notifications import write_notification
from common.domain.objects import ObjectChange
from common.domain.reindex import Order
from common.loading import Models, WorkerParser
from common.ports import Clock, Embedder, Message, Parser, Queue
from common.runtime import Bucket, LocalRuntime, Runtime, Work, unusable, working
from common.settings import Settings

if TYPE_CHECKING:
    from google.cloud.firestore import Client as FirestoreClient
    from qdrant_client import QdrantClient

    from common.adapters.gcs_objects import GcsObjectStore
    from common.adapters.s3_objects import S3ObjectStore

LOCAL_BUCKET: Final = "local"


def check_process() -> None:
    """What a function that changes a base asks for when its process starts, before any client is opened.

    Raises Misconfigured with every problem, so that a wrong configuration never takes a request.
    """
    settings = process_settings()
    problems = unusable(settings, SystemClock())
    if settings.kb_mode == "cloud" and settings.cloud_bucket.provider == "s3":
        problems += _without_boto3()
    if problems:
        raise Misconfigured("\n".join(problems))


@lru_cache(maxsize=1)
def process_runtime() -> Runtime:
    """What the other functions of this process use, from its environment."""
    settings = process_settings()
    local = settings.kb_mode == "local"
    opened = local_runtime(settings) if local else cloud_runtime(settings, stopping=_told_to_stop())
    atexit.register(opened.meter.close)
    atexit.register(opened.keeping.close)
    return opened


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
) -> LocalRuntime:
    """One machine: everything under the data folder. Raises DataFolderError when it is locked, damaged or not whole."""
    from common.adapters.data_folder import DataFolder  # noqa: PLC0415 - in the cloud nothing of it is needed
    from common.adapters.edge_index import EdgeIndex  # noqa: PLC0415 - see above
    from common.adapters.folder.bucket import open_bucket  # noqa: PLC0415 - see above
    from common.adapters.folder.objects import FolderObjectStore  # noqa: PLC0415 - see above
    from common.adapters.folder.scan import FolderScan  # noqa: PLC0415 - see above
    from common.adapters.signed_puts import SignedPuts  # noqa: PLC0415 - see above
    from common.adapters.sqlite.catalog import SqliteCatalog  # noqa: PLC0415 - see above
    from common.adapters.sqlite.generations import SqliteGenerations  # noqa: PLC0415 - see above
    from common.adapters.sqlite.queue import SqliteQueue  # noqa: PLC0415 - see above

    clock = clock or SystemClock()
    folder = DataFolder(settings.data, patience=patience)
    try:
        database = open_database(settings.data)
        root = open_bucket(settings.bucket, database.fact("bucket"))
        database.remember("bucket", root.id)
        index = EdgeIndex(settings.data / "index")
    except BaseException:
        folder.close()
        raise
    catalog = SqliteCatalog(database)
    queue = SqliteQueue(database, clock, wake=wake)

    def announce(change: ObjectChange) -> None:
        attributes, resource = write_notification(change, LOCAL_BUCKET)
        queue.publish(settings.kb_topic_events, Message(resource, attributes))

    store = FolderObjectStore(root, SqliteGenerations(database), announce, clock, atomically=database.transaction)
    scan = FolderScan(store)
    # The lock proves that whoever held a lease or a message is dead.
    catalog.void_leases()
    queue.revive(settings.kb_topic_events)
    queue.revive(settings.kb_topic_reindex)
    reader = WorkerParser(settings.kb_ocr)

    def close() -> None:
        reader.close()
        index.flush()
        index.close()
        database.close()
        folder.close()

    models = Models(settings.models, settings.model, embedder, settings.provider)
    side = asking(settings, clock, catalog, index, models, close)
    uploads = SignedPuts(clock)
    bucket = Bucket(store, LOCAL_BUCKET, announce, lambda: list(scan.scan().foreign), uploads.sign)
    work = working(side, bucket, Work(parser or reader, stopping, step), _orders(queue, settings))
    return LocalRuntime(**_fields(side), **work, queue=queue, scan=scan, folder=folder, uploads=uploads)


def cloud_runtime(
    settings: Settings,
    *,
    embedder: Embedder | None = None,
    parser: Parser | None = None,
    qdrant: "QdrantClient | None" = None,
    step: Callable[[str], None] = lambda _: None,
    stopping: Callable[[], bool] = lambda: False,
) -> Runtime:
    """Google Cloud: Cloud Storage or S3, Pub/Sub, Firestore and a Qdrant server (`qdrant`: a client that is open)."""
    from google.cloud import pubsub_v1  # noqa: PLC0415 - one machine needs no cloud

    from common.adapters.pubsub_queue import PubsubQueue  # noqa: PLC0415 - see above

    firestore = open_firestore(settings)
    side = cloud_side(settings, firestore, embedder, qdrant)
    queue = PubsubQueue(pubsub_v1.PublisherClient(), settings.google_cloud_project)
    name = settings.cloud_bucket.name

    def announce(change: ObjectChange) -> None:
        attributes, resource = write_notification(change, name)
        queue.publish(settings.kb_topic_events, Message(resource, attributes))

    store: GcsObjectStore | S3ObjectStore
    if settings.cloud_bucket.provider == "s3":
        store = _s3(name, firestore, announce, side.clock)
    else:
        store = _gcs(settings, side.clock)
    bucket = Bucket(store, name, announce, lambda: list(store.foreign()), store.signed_upload)
    work = working(
        side, bucket, Work(parser or WorkerParser(settings.kb_ocr), stopping, step), _orders(queue, settings)
    )
    return Runtime(**_fields(side), **work)


def _orders(queue: Queue, settings: Settings) -> Callable[[Order], None]:
    """Publishes what is to be done for a migration."""

    def send(order: Order) -> None:
        queue.publish(settings.kb_topic_reindex, Message(order.as_json()))

    return send


def _gcs(settings: Settings, clock: Clock) -> "GcsObjectStore":
    from common.adapters.gcs.calls import connect  # noqa: PLC0415 - one machine needs no cloud
    from common.adapters.gcs_objects import GcsObjectStore  # noqa: PLC0415 - see above

    return GcsObjectStore(connect(settings.google_cloud_project), settings.cloud_bucket.name, clock)


def _s3(
    name: str, firestore: "FirestoreClient", announce: Callable[[ObjectChange], None], clock: Clock
) -> "S3ObjectStore":
    """S3 gives no generations: they are numbered in Firestore, and what S3 does not tell is announced."""
    if problems := _without_boto3():
        raise Misconfigured(*problems)
    from common.adapters.firestore.generations import FirestoreGenerations  # noqa: PLC0415 - one machine needs no cloud
    from common.adapters.s3.calls import connect  # noqa: PLC0415 - only a bucket of S3 needs it
    from common.adapters.s3_objects import S3ObjectStore  # noqa: PLC0415 - see above

    return S3ObjectStore(connect(), name, FirestoreGenerations(firestore), announce, clock)


def _without_boto3() -> list[str]:
    if find_spec("boto3") is not None:
        return []
    return ["KB_BUCKET=s3://... needs boto3, which is not installed: pip install 'fichario[aws]'."]


def _fields(side: Asking) -> dict[str, Any]:
    return {field.name: getattr(side, field.name) for field in fields(side)}


def _told_to_stop() -> Callable[[], bool]:
    """True once the platform ends this process (SIGTERM): work then stops at its next checkpoint.

    Under functions-framework a worker of gunicorn takes the signal, and tells by `alive` that it goes on.
    """
    worker: Any = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    if hasattr(worker, "alive"):
        return lambda: not worker.alive
    told = threading.Event()
    if threading.current_thread() is threading.main_thread():
        before = signal.getsignal(signal.SIGTERM)

        def stop(number: int, frame: FrameType | None) -> None:
            told.set()
            if callable(before):
                before(number, frame)

        signal.signal(signal.SIGTERM, stop)
    return told.is_set
