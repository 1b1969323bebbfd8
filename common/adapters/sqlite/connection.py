"""The database file of one machine: creating, opening and checking it, transactions, and the translation of errors.
It knows nothing of what the tables mean.
"""

import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from common.adapters.sqlite.schema import ADDED, APPLICATION_ID, TABLES, VERSION
from common.domain.errors import DataFolderError, Unavailable

BUSY_SECONDS: Final = 30.0
IDLE_CONNECTIONS: Final = 16
ROWS_REMEMBERED: Final = 1000

# FULL: every commit is on the disk before it returns. With NORMAL a power cut takes back the last commits, and a job
# that somebody has already read as `indexed` (or a base told to be empty) would be as it was before. Reads pay nothing,
# a commit pays one fsync. `fullfsync` makes that true on macOS, where fsync alone stops at the drive's cache.
_PRAGMAS: Final = (
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16000",
    "PRAGMA journal_size_limit = 67108864",
)

_DAMAGE: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_PRIMARY_CODE: Final = 0xFF


class Database:
    """One SQLite file in WAL mode, for any number of threads.

    Connections are lent for one transaction and come back to a pool, so a server that starts a thread per request opens
    none anew. Raises DataFolderError for a file that is missing (`must_exist`), damaged or another program's, and
    Unavailable when the disk is full, out of reach or the file locked for longer than `busy_seconds`. `alone` says that
    nothing else writes to the file while it is open, as who holds the lock of its folder knows.
    """

    def __init__(
        self,
        path: Path,
        *,
        must_exist: bool = False,
        verify: bool = False,
        busy_seconds: float = BUSY_SECONDS,
        alone: bool = False,
    ) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._alone = alone
        self._begun = 0
        self._ended = 0
        self._rows: dict[tuple[str, tuple[object, ...]], tuple[int, tuple[Any, ...] | None]] = {}
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._writer = threading.Lock()
        self._local = threading.local()
        if not path.exists():
            if must_exist:
                raise DataFolderError(
                    f"{path} is missing. Restore it from a backup, or move the data folder away to start a new one."
                )
            _create(path)
        problems = check(path, thorough=verify)
        if problems:
            raise DataFolderError(
                f"{problems[0]} Restore it from a backup, or move it away and let the bucket be indexed again."
            )
        self._complete()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection for single statements; inside a transaction of this thread, that transaction's."""
        active: sqlite3.Connection | None = getattr(self._local, "active", None)
        if active is not None:
            yield active
            return
        connection = self._borrow()
        try:
            yield connection
        except sqlite3.Error as error:
            raise self._translated(error) from error
        finally:
            self._give_back(connection)

    def row(self, statement: str, given: tuple[object, ...]) -> tuple[Any, ...] | None:
        """The first row of a single statement, as `read` would see it, without the cost of a block: what every question
        asks. Where nobody else writes, it is remembered until the next transaction begins.
        """
        if not self._alone:
            return self._row(statement, given)
        key, begun = (statement, given), self._begun
        known = self._rows.get(key)
        if known is not None and known[0] == begun:
            return known[1]
        # Looked at ahead of the read: a transaction that is under way now may end, and be seen or not, in between.
        quiet = self._ended == begun
        row = self._row(statement, given)
        if quiet:
            if len(self._rows) >= ROWS_REMEMBERED:
                self._rows = {}
            self._rows[key] = (begun, row)
        return row

    def _row(self, statement: str, given: tuple[object, ...]) -> tuple[Any, ...] | None:
        active: sqlite3.Connection | None = getattr(self._local, "active", None)
        connection = active or self._borrow()
        try:
            found: tuple[Any, ...] | None = connection.execute(statement, given).fetchone()
        except sqlite3.Error as error:
            if active is not None:
                raise
            raise self._translated(error) from error
        finally:
            if active is None:
                self._give_back(connection)
        return found

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, durable on return. Within another one of the same thread it joins that one, so what several
        adapters of this file write can be made one transaction; nothing in it may wait for another thread's write.
        """
        active: sqlite3.Connection | None = getattr(self._local, "active", None)
        if active is not None:
            yield active
            return
        after: list[Callable[[], None]] = []
        # The lock only spares this process's threads SQLite's polling; other processes meet at BEGIN IMMEDIATE.
        with self._writer:
            connection = self._borrow()
            self._begun += 1
            try:
                connection.execute("BEGIN IMMEDIATE")
                self._local.active, self._local.after = connection, after
                yield connection
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._translated(error) from error
            finally:
                self._local.active = None
                if connection.in_transaction:
                    connection.rollback()
                self._ended = self._begun
                self._give_back(connection)
        for call in after:
            call()

    def after_commit(self, call: Callable[[], None]) -> None:
        """Run `call` once the transaction of this thread has been committed, or at once outside of one."""
        if getattr(self._local, "active", None) is None:
            call()
        else:
            self._local.after.append(call)

    def fact(self, key: str) -> str | None:
        """A single remembered value, such as the id of the bucket this catalog belongs to."""
        with self.read() as connection:
            row = connection.execute("SELECT value FROM facts WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def remember(self, key: str, value: str) -> None:
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO facts (key, value) VALUES (?, ?)", (key, value))

    def close(self) -> None:
        """Close what is idle; what is in use is closed when it comes back. Later calls raise Unavailable."""
        self._closed = True
        self._rows = {}
        while self._idle:
            self._idle.pop().close()

    def _complete(self) -> None:
        """Make the tables that files of an earlier day lack; others are not written to."""
        with closing(self._open()) as connection:
            try:
                there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
                for name in ADDED.keys() - there:
                    connection.execute(ADDED[name])
            except sqlite3.Error as error:
                raise self._translated(error) from error

    def _borrow(self) -> sqlite3.Connection:
        if self._closed:
            raise Unavailable(f"{self.path} has been closed.")
        try:
            return self._idle.pop()
        except IndexError:
            return self._open()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if self._closed or len(self._idle) >= IDLE_CONNECTIONS:
            connection.close()
        else:
            self._idle.append(connection)

    def _open(self) -> sqlite3.Connection:
        # mode=rw: a file that vanished meanwhile is an error, not an empty database.
        try:
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw",
                uri=True,
                timeout=self._busy_seconds,
                isolation_level=None,
                check_same_thread=False,
            )
            for pragma in _PRAGMAS:
                connection.execute(pragma)
        except sqlite3.Error as error:
            raise self._translated(error) from error
        return connection

    def _translated(self, error: sqlite3.Error) -> Exception:
        if _is_damage(error):
            return DataFolderError(
                f"{self.path} is damaged ({error}). Restore it from a backup, or move it away and let the bucket be "
                "indexed again."
            )
        if isinstance(error, sqlite3.OperationalError):
            return Unavailable(f"{self.path}: {error}.")
        return error


def _is_damage(error: sqlite3.Error) -> bool:
    # Errors of Python's own module, such as a wrong binding, carry no code.
    return getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE in _DAMAGE


def check(path: Path, *, thorough: bool = True) -> list[str]:
    """What is wrong with the file, in sentences; none when it is sound. Nothing in it is changed.

    `thorough` reads every page; without it only the header is looked at.
    """
    if not path.is_file() or path.stat().st_size == 0:
        return [f"{path} is {'empty, so it has been cut off' if path.is_file() else 'missing'}."]
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS)) as opened:
            (application,) = opened.execute("PRAGMA application_id").fetchone()
            (version,) = opened.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION_ID:
                return [f"{path} belongs to another program."]
            if version != VERSION:
                return [f"{path} has schema version {version}; this release reads version {VERSION}."]
            found = [str(row[0]) for row in opened.execute("PRAGMA integrity_check(20)")] if thorough else ["ok"]
    except sqlite3.Error as error:
        return [f"{path} {'is damaged' if _is_damage(error) else 'cannot be read'} ({error})."]
    return [f"{path} is damaged ({row})." for row in found if row != "ok"]


def _create(path: Path) -> None:
    """Build the file aside and link it into place, so that a crash leaves none half made and no race replaces one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".new-catalog-") as folder:
        draft = Path(folder) / path.name
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.executescript(f"BEGIN; {TABLES} COMMIT;")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                raise DataFolderError(f"{path.parent} cannot hold the catalog: it needs a local disk (WAL).")
        try:
            os.link(draft, path)
        except FileExistsError:
            return
        folder_fd = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder_fd)
        finally:
            os.close(folder_fd)
