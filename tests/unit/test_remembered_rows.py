"""What a database that nobody else writes to remembers between its own transactions."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from common.adapters.sqlite import connection as module
from common.adapters.sqlite.connection import Database
from common.domain.errors import Unavailable

FACT = "SELECT value FROM facts WHERE key = ?"
PUT = "INSERT OR REPLACE INTO facts (key, value) VALUES ('key', ?)"
WRITES = 300
LONG = 30.0


class Crash(Exception):
    pass


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "catalog.sqlite"


def seen(database: Database, key: str = "key") -> str | None:
    row = database.row(FACT, (key,))
    return None if row is None else row[0]


def seen_by_another_thread(database: Database) -> str | None:
    found: list[str | None] = []
    thread = threading.Thread(target=lambda: found.append(seen(database)))
    thread.start()
    thread.join()
    return found[0]


def written_behind_its_back(path: Path, value: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(PUT, (value,))


def test_a_row_is_remembered_until_the_next_transaction_begins(path):
    with closing(Database(path, alone=True)) as database:
        assert seen(database) is None
        database.remember("key", "1")
        assert (seen(database), seen(database, "other")) == ("1", None)
        written_behind_its_back(path, "2")
        assert (seen(database), seen(database, "other")) == ("1", None)
        database.remember("other", "x")
        assert (seen(database), seen(database, "other")) == ("2", "x")


def test_where_others_write_too_nothing_is_remembered(path):
    with closing(Database(path)) as database:
        database.remember("key", "1")
        assert seen(database) == "1"
        written_behind_its_back(path, "2")
        assert seen(database) == "2"


def test_what_is_read_beside_a_transaction_is_not_remembered(path):
    with closing(Database(path, alone=True)) as database:
        database.remember("key", "1")
        assert seen(database) == "1"
        with database.transaction():
            database.remember("key", "2")
            assert (seen(database), seen_by_another_thread(database)) == ("2", "1")
        assert (seen(database), seen_by_another_thread(database)) == ("2", "2")


class Held(Database):
    """One whose reads are followed by something before they return."""

    then = staticmethod(lambda: None)

    def _row(self, statement, given):
        row = super()._row(statement, given)
        self.then()
        return row


def test_what_is_read_while_a_transaction_ends_is_not_remembered(path):
    written, go_on = threading.Event(), threading.Event()
    with closing(Held(path, alone=True)) as database:
        database.remember("key", "1")

        def write() -> None:
            with database.transaction():
                database.remember("key", "2")
                written.set()
                assert go_on.wait(LONG)

        def end() -> None:
            database.then = Held.then
            go_on.set()
            writer.join()

        writer = threading.Thread(target=write)
        writer.start()
        assert written.wait(LONG)
        database.then = end
        assert (seen(database), seen(database)) == ("1", "2")


def test_what_was_rolled_back_is_not_remembered(path):
    def fail(database: Database) -> None:
        with database.transaction():
            database.remember("key", "2")
            assert seen(database) == "2"
            raise Crash

    with closing(Database(path, alone=True)) as database:
        database.remember("key", "1")
        with pytest.raises(Crash):
            fail(database)
        assert seen(database) == "1"


def test_a_closed_database_remembers_nothing(path):
    database = Database(path, alone=True)
    database.remember("key", "1")
    assert seen(database) == "1"
    database.close()
    with pytest.raises(Unavailable):
        seen(database)


def test_only_so_many_rows_are_remembered(path, monkeypatch):
    monkeypatch.setattr(module, "ROWS_REMEMBERED", 10)
    with closing(Database(path, alone=True)) as database:
        for number in range(25):
            seen(database, f"key {number}")
        assert len(database._rows) == 5


def test_who_asks_behind_a_commit_is_never_told_what_was_before(path):
    """Four threads read all the time, while one commits number after number and tells of each once it is committed."""
    committed, over, late = [0], threading.Event(), []
    with closing(Database(path, alone=True)) as database:
        database.remember("key", "0")

        def read() -> None:
            while not over.is_set():
                told = committed[0]
                found = int(seen(database) or 0)
                if found < told:
                    late.append((told, found))

        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        try:
            for number in range(1, WRITES + 1):
                database.remember("key", str(number))
                committed[0] = number
        finally:
            over.set()
            for reader in readers:
                reader.join()
    assert late == []
