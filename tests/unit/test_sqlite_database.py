"""The one-machine database file: never made anew in silence, whole after a kill, shared by threads and processes."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from common.adapters.frozen_clock import FrozenClock
from common.adapters.sqlite.catalog import SqliteCatalog
from common.adapters.sqlite.connection import IDLE_CONNECTIONS, Database, check
from common.adapters.sqlite.generations import SqliteGenerations
from common.adapters.sqlite.queue import SqliteQueue
from common.adapters.sqlite.schema import VERSION
from common.domain.errors import DataFolderError, Unavailable
from common.domain.objects import ObjectRef
from common.domain.questions import asked_question
from common.domain.usage import Count
from common.ports import Message

REF = ObjectRef("acme", "a.md")


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "data" / "catalog.sqlite"


def filled(path: Path, rows: int = 400) -> None:
    with closing(Database(path)) as database, database.transaction() as connection:
        connection.executemany(
            "INSERT INTO facts (key, value) VALUES (?, ?)", [(f"key {n}", "x" * 400) for n in range(rows)]
        )


def test_a_new_file_is_sound_and_alone_in_its_folder(path):
    Database(path).close()
    assert check(path) == []
    assert [each.name for each in path.parent.iterdir()] == ["catalog.sqlite"]


def test_facts_are_remembered_across_openings(path):
    with closing(Database(path)) as database:
        assert database.fact("bucket") is None
        database.remember("bucket", "1")
        database.remember("bucket", "2")
    with closing(Database(path, must_exist=True, verify=True)) as database:
        assert database.fact("bucket") == "2"


def test_a_missing_file_is_not_made_when_it_must_exist(path):
    with pytest.raises(DataFolderError, match="missing"):
        Database(path, must_exist=True)
    assert not path.exists()
    assert check(path) == [f"{path} is missing."]


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def garble_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"not a database at all")


def garble_pages(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(os.urandom(path.stat().st_size - 8192))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def test_an_empty_file_is_told_of_as_cut_off(path):
    path.parent.mkdir()
    path.write_bytes(b"")
    with pytest.raises(DataFolderError, match="cut off"):
        Database(path)


@pytest.mark.parametrize("damage", [cut, garble_header, garble_pages, empty])
def test_a_damaged_file_is_told_of_and_left_as_it_is(path, damage):
    filled(path)
    damage(path)
    before = path.read_bytes()
    with pytest.raises(DataFolderError, match=r"[Rr]estore"):
        Database(path, verify=True)
    assert check(path) != []
    assert path.read_bytes() == before


def test_damage_met_in_use_is_a_data_folder_error(path):
    filled(path)
    garble_pages(path)
    with (
        closing(Database(path)) as database,
        pytest.raises(DataFolderError, match="damaged"),
        database.read() as opened,
    ):
        opened.execute("SELECT * FROM facts").fetchall()


def test_another_programs_database_is_refused(path):
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (x)")
    with pytest.raises(DataFolderError, match="another program"):
        Database(path)


def test_another_schema_version_is_refused_with_both_numbers(path):
    filled(path)
    with closing(sqlite3.connect(path)) as opened:
        opened.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(DataFolderError, match=f"version {VERSION + 1}.*version {VERSION}"):
        Database(path)


def test_a_file_from_before_usage_was_counted_is_completed_when_opened(path):
    filled(path)
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("DROP TABLE usage")
    with closing(Database(path)) as database:
        catalog = SqliteCatalog(database)
        catalog.add_usage("acme", {"ingest": Count(1, 2)})
        assert catalog.usage("acme") == {"ingest": Count(1, 2)}


def test_a_file_from_before_questions_were_kept_is_completed_when_opened(path):
    filled(path)
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("DROP TABLE questions")
    with closing(Database(path)) as database:
        catalog, question = SqliteCatalog(database), asked_question("a?", 1.0, answered=True, words=True)
        catalog.add_questions("acme", [question])
        assert catalog.questions("acme") == [question]


def test_threads_that_create_it_at_once_get_one_file(path):
    barrier = threading.Barrier(8)

    def create(number: int) -> Database:
        barrier.wait()
        database = Database(path)
        database.remember(f"key {number}", "x")
        return database

    with ThreadPoolExecutor(8) as pool:
        databases = list(pool.map(create, range(8)))
    assert all(databases[0].fact(f"key {number}") == "x" for number in range(8))
    for database in databases:
        database.close()
    assert check(path) == []


class Crash(Exception):
    pass


def test_adapters_of_one_file_write_all_or_nothing(path):
    with closing(Database(path)) as database:
        generations, queue = SqliteGenerations(database), SqliteQueue(database, FrozenClock())

        def write_both(outcome: Exception | None = None) -> None:
            with database.transaction():
                generations.assign(REF, "x")
                queue.publish("t", Message({}))
                assert (generations.current(REF), queue.waiting("t")) == (("x", 1), 1)
                if outcome:
                    raise outcome

        with pytest.raises(Crash):
            write_both(Crash())
        assert (generations.current(REF), queue.waiting("t")) == (None, 0)
        write_both()
        assert (generations.current(REF), queue.waiting("t")) == (("x", 1), 1)


def test_the_consumer_is_woken_when_it_can_take_the_message_and_not_before(path):
    with closing(Database(path)) as database, closing(Database(path)) as other:
        clock, seen = FrozenClock(), []
        consumer = SqliteQueue(other, clock)
        queue = SqliteQueue(database, clock, wake=lambda topic: seen.append((topic, consumer.waiting(topic))))
        queue.publish("t", Message({}))
        assert seen == [("t", 1)]
        with database.transaction():
            queue.publish("t", Message({}))
            assert len(seen) == 1
        assert seen == [("t", 1), ("t", 2)]


def test_a_message_that_was_rolled_back_wakes_nobody(path):
    with closing(Database(path)) as database:
        woken = []
        queue = SqliteQueue(database, FrozenClock(), wake=woken.append)

        def fail() -> None:
            with database.transaction():
                queue.publish("t", Message({}))
                raise Crash

        with pytest.raises(Crash):
            fail()
        assert woken == []
        database.remember("key", "x")
        assert woken == []


def test_a_reader_is_not_held_up_by_a_writer(path):
    with closing(Database(path)) as database, closing(Database(path, busy_seconds=0.0)) as other:
        database.remember("key", "old")
        with database.transaction():
            database.remember("key", "new")
            assert database.fact("key") == "new"
            assert other.fact("key") == "old"
        assert other.fact("key") == "new"


def test_a_lock_held_too_long_is_unavailable(path):
    with closing(Database(path)) as database, closing(Database(path, busy_seconds=0.0)) as other:
        with database.transaction(), pytest.raises(Unavailable):
            other.remember("key", "x")
        other.remember("key", "x")
        assert database.fact("key") == "x"


def test_a_file_that_vanished_is_unavailable_and_not_made_anew(path):
    database = Database(path)
    path.unlink()
    with pytest.raises(Unavailable):
        database.fact("key")
    assert not path.exists()


def test_closed_is_unavailable_even_for_a_connection_that_was_in_use(path):
    database = Database(path)
    with database.read() as connection:
        database.close()
    with pytest.raises(sqlite3.ProgrammingError):
        connection.execute("SELECT 1")
    with pytest.raises(Unavailable):
        database.fact("key")


def test_connections_are_used_again_and_only_so_many_are_kept(path):
    with closing(Database(path)) as database:
        for _ in range(60):
            thread = threading.Thread(target=database.fact, args=("key",))
            thread.start()
            thread.join()
        assert len(database._idle) == 1
        with ExitStack() as borrowed:
            for _ in range(30):
                borrowed.enter_context(database.read())
        assert len(database._idle) == IDLE_CONNECTIONS


WRITER = """
import sys
from pathlib import Path
from common.adapters.sqlite.connection import Database
from common.adapters.sqlite.generations import SqliteGenerations
from common.domain.objects import ObjectRef
generations = SqliteGenerations(Database(Path(sys.argv[1]), must_exist=True))
for number in range(int(sys.argv[2])):
    print(generations.assign(ObjectRef("acme", "a.md"), f"{sys.argv[3]} {number}"), flush=True)
"""


def start_writer(path: Path, times: int, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", WRITER, path, str(times), name], stdout=subprocess.PIPE, text=True)


def test_two_processes_never_get_the_same_number(path):
    Database(path).close()
    writers = [start_writer(path, 60, name) for name in ("one", "two")]
    outputs = [writer.communicate()[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert sorted(int(number) for output in outputs for number in output) == list(range(1, 121))


def test_what_a_killed_process_was_answered_is_there(path):
    Database(path).close()
    with start_writer(path, 1_000_000, "one") as writer:
        answered = [int(writer.stdout.readline()) for _ in range(50)]
        writer.send_signal(signal.SIGKILL)
        answered += [int(line) for line in writer.stdout if line.strip()]
    with closing(Database(path, must_exist=True, verify=True)) as database:
        _, generation = SqliteGenerations(database).current(REF)
    assert answered[-1] <= generation <= answered[-1] + 1


def test_every_connection_writes_through_to_the_disk(path):
    with closing(Database(path)) as database, database.read() as first, database.read() as second:
        assert first is not second
        for connection in (first, second):
            assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
