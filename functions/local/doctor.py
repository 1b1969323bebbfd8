"""Checks all that this configuration needs, without changing anything, and says what to do about each fault."""

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from common.adapters.data_folder import DataFolder, running_server
from common.adapters.edge_index import EdgeIndex
from common.adapters.folder.bucket import open_bucket
from common.adapters.sqlite.catalog import SqliteCatalog
from common.adapters.sqlite.connection import Database, check
from common.adapters.sqlite.queue import SqliteQueue
from common.adapters.system_clock import SystemClock
from common.asking import token_counter
from common.domain.errors import DataFolderError, FicharioError
from common.domain.providers import FOLDERS, NO_MODEL
from common.domain.space import alias_name
from common.loading import Models
from common.models import model_folder, verify
from common.ports import VectorIndex
from common.settings import Settings

LEAST_FREE: Final = 500 * 2**20
_SAMPLE: Final = "O prazo do reembolso é de trinta dias."


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what it found, and when it failed what to do."""

    name: str
    ok: bool
    detail: str


def examine(settings: Settings, port: int) -> Iterator[Finding]:
    """Every check in the order in which a start would meet it."""
    yield _checked("settings", lambda: f"{len(settings.shown())} settings are consistent")
    yield _checked("data folder", lambda: _data_folder(settings.data))
    yield _disk(settings.data)
    server = running_server(settings.data)
    yield Finding("lock", ok=True, detail=f"held by the server at {server.address}" if server else "free")
    yield _checked("model", lambda: _model(settings))
    yield _checked("tokens", lambda: _tokens(settings))
    if settings.qdrant_url:
        yield _checked("foreign", lambda: _foreign(settings))
    yield _catalog(settings.data)
    database = _database(settings.data)
    if database is None:
        yield Finding("bucket", ok=True, detail=f"{settings.bucket} will be made at the first start")
    else:
        try:
            yield _checked("bucket", lambda: _bucket(settings, database))
            yield _checked("queue", lambda: _queue(settings, database))
            yield _checked("index", lambda: _index(settings.data, database))
        finally:
            database.close()
    if server is None:
        yield _port(port)


def _checked(name: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(name, ok=True, detail=look())
    except (FicharioError, OSError) as error:
        return Finding(name, ok=False, detail=str(error))


def _data_folder(data: Path) -> str:
    if not data.exists():
        return f"{data} will be made at the first start"
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(f"{data} cannot be written; give this user the right, or name another one with --data")
    return f"{data.resolve()} can be written"


def _disk(data: Path) -> Finding:
    place = next(p for p in (data.resolve(), *data.resolve().parents) if p.exists())
    free = shutil.disk_usage(place).free
    detail = f"{free // 2**20:,} MB free"
    if free < LEAST_FREE:
        detail += f"; free at least {LEAST_FREE // 2**20} MB, or move the data folder with --data"
    return Finding("disk", free >= LEAST_FREE, detail)


def _model(settings: Settings) -> str:
    provider = settings.provider
    if provider.name == NO_MODEL:
        return "none: questions are answered by words alone, and nothing has to be loaded"
    if provider.name != FOLDERS:
        space = Models(settings.models, settings.model, provider=provider).configured().space
        return f"{space.model}: {provider.name} gives vectors of {space.dimension} numbers"
    manifest = verify(model_folder(settings.models, settings.model))
    return f"{manifest.name}: every file is as its manifest says"


def _foreign(settings: Settings) -> str:
    """Collections of the Qdrant server that are not ours and stand where readers look for a base."""
    from common.adapters.qdrant_index import QdrantIndex, connect  # noqa: PLC0415 - importing it costs a second

    client = connect(settings.qdrant_url, settings.qdrant_api_key or None)
    index = QdrantIndex(client, lambda base: alias_name(settings.kb_collection_template, base))
    try:
        return told_of(index)
    finally:
        index.close()


def told_of(index: VectorIndex) -> str:
    """A sentence for each, with the command that adopts it."""
    found = [(base, index.foreign.of(base)) for base in index.foreign.bases()]
    return " ".join(foreign.sentence(base) for base, foreign in found if foreign) or "every collection is ours"


def _tokens(settings: Settings) -> str:
    tokens = token_counter(settings).count(_SAMPLE)
    return f"{settings.kb_token_counter} counts {tokens} in a text of {len(_SAMPLE)} characters"


def _catalog(data: Path) -> Finding:
    path = data / "catalog.sqlite"
    if not path.exists():
        lost = (data / "index").is_dir() and any((data / "index").iterdir())
        detail = "is missing although the index holds collections; restore it" if lost else "will be made"
        return Finding("catalog", not lost, f"{path} {detail}")
    problems = check(path)
    return Finding("catalog", not problems, "; ".join(problems) or f"{path} is sound")


def _database(data: Path) -> Database | None:
    path = data / "catalog.sqlite"
    if not path.exists() or check(path, thorough=False):
        return None
    return Database(path, must_exist=True)


def _bucket(settings: Settings, database: Database) -> str:
    bucket = open_bucket(settings.bucket, database.fact("bucket") or "")
    return f"{bucket.root} is the bucket of this catalog"


def _queue(settings: Settings, database: Database) -> str:
    queue = SqliteQueue(database, SystemClock())
    dead = len(queue.dead(settings.kb_topic_events))
    told = f"; {dead} dead letters: look at `fichario jobs --state failed`" if dead else ""
    return f"{queue.waiting(settings.kb_topic_events)} events waiting{told}"


def _index(data: Path, database: Database) -> str:
    try:
        folder = DataFolder(data)
    except DataFolderError as error:
        if error.locked:
            return "in use by another process"
        raise
    catalog, index = SqliteCatalog(database), EdgeIndex(data / "index")
    try:
        count = 0
        for record in catalog.bases():
            for name in record.writes_to:
                points, _ = index.frequencies(record.base, name, [])
                count += points
    finally:
        index.close()
        folder.close()
    return f"{count} passages can be read"


def _port(port: int) -> Finding:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return Finding("port", ok=False, detail=f"{port}: {error.strerror}; choose another one with --port")
    return Finding("port", ok=True, detail=f"{port} is free")
