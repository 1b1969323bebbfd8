"""When a file of the bucket counts as changed: times, and content where times cannot tell."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.adapters.folder.bucket import open_bucket
from common.adapters.folder.objects import FolderObjectStore
from common.adapters.folder.scan import FolderScan
from common.adapters.folder.versions import YOUNG_SECONDS, Recognised, recognise
from common.adapters.frozen_clock import FrozenClock
from common.adapters.memory_generations import MemoryGenerations
from common.adapters.sqlite.connection import Database
from common.adapters.sqlite.generations import SqliteGenerations
from common.domain.errors import Superseded
from common.domain.objects import ObjectRef
from tests.contract.stores import InterruptedGenerations

REF = ObjectRef("acme", "a.md")


@dataclass
class Status:
    st_ino: int = 5
    st_size: int = 10
    st_mtime_ns: int = 50_000_000_000
    st_ctime_ns: int = 100_000_000_000


TIMES = "5:10:50000000000:100000000000"
OLD, YOUNG = 100.0 + YOUNG_SECONDS, 100.0 + YOUNG_SECONDS - 0.001


def unread() -> str:
    raise AssertionError("the content is not needed")


@pytest.mark.parametrize(
    ("known", "now", "content", "expected"),
    [
        (None, OLD, unread, Recognised(TIMES, same=False)),
        (None, YOUNG, lambda: "c", Recognised(f"{TIMES}#c", same=False)),
        (TIMES, OLD, unread, Recognised(TIMES, same=True)),
        (TIMES, YOUNG, unread, Recognised(TIMES, same=True)),
        ("5:10:50:99", OLD, unread, Recognised(TIMES, same=False)),
        ("5:10:50:99#c", OLD, unread, Recognised(TIMES, same=False)),
        ("5:10:50:99#c", YOUNG, lambda: "c", Recognised(f"{TIMES}#c", same=False)),
        (f"{TIMES}#c", YOUNG, lambda: "c", Recognised(f"{TIMES}#c", same=True)),
        (f"{TIMES}#c", YOUNG, lambda: "d", Recognised(f"{TIMES}#d", same=False)),
        (f"{TIMES}#c", OLD, lambda: "c", Recognised(TIMES, same=True)),
        (f"{TIMES}#c", OLD, lambda: "d", Recognised(TIMES, same=False)),
        (f"{TIMES}#c", 50.0, lambda: "d", Recognised(f"{TIMES}#d", same=False)),
    ],
)
def test_recognise(known, now, content, expected):
    assert recognise(known, Status(), now, content) == expected


@given(st.lists(st.tuples(st.sampled_from(["write", "look", "wait"]), st.sampled_from(["a", "b"])), max_size=30))
def test_a_file_changes_its_number_exactly_when_it_was_written_since_the_last_look(steps):
    """All writes of one tick carry the same times, the worst that a file system can do."""
    now, content, status, generations = 1000.0, "a", Status(st_ctime_ns=1000 * 10**9), MemoryGenerations()
    expected, numbered = 0, None
    for step, text in [*steps, ("look", "")]:
        if step == "write":
            content = text
            status = Status(st_ctime_ns=int(now) * 10**9)
        elif step == "wait":
            now += YOUNG_SECONDS
        else:
            known = generations.current(REF)
            seen = recognise(known[0] if known else None, status, now, lambda content=content: content)
            if numbered != (content, status):
                expected, numbered = expected + 1, (content, status)
                assert not seen.same
                assert generations.assign(REF, seen.identity) == expected
            else:
                assert seen.same
                generations.settle(REF, expected, seen.identity)
            assert generations.current(REF)[1] == expected


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(time.time())


@pytest.fixture
def changes() -> list:
    return []


@pytest.fixture
def store(tmp_path, clock, changes) -> FolderObjectStore:
    return FolderObjectStore(open_bucket(tmp_path / "bucket", None), MemoryGenerations(), changes.append, clock)


def test_each_of_many_quick_writes_of_one_size_is_a_version(store):
    path = store.bucket.root / REF.key
    path.parent.mkdir()
    path.write_bytes(b"0000")
    for number in range(1, 300):
        before = store.stat(REF)
        with path.open("r+b") as file:
            file.write(b"%04d" % number)
        after = store.stat(REF)
        assert after.generation == before.generation + 1
        assert store.read(REF, after.generation, 0) == b"%04d" % number


def test_a_file_that_only_ages_stays_the_same_version_and_is_then_read_no_more(store, clock, changes):
    stat = store.write(REF, b"data")
    assert "#" in store.versions.generations.current(REF)[0]
    clock.advance(YOUNG_SECONDS + 1)
    assert store.stat(REF) == stat
    assert "#" not in store.versions.generations.current(REF)[0]
    assert [each.generation for each in store.list("acme")] == [stat.generation]
    assert len(changes) == 1


def test_a_scan_settles_files_too(store, clock, changes):
    store.write(REF, b"data")
    clock.advance(YOUNG_SECONDS + 1)
    assert FolderScan(store).scan().changed == []
    assert "#" not in store.versions.generations.current(REF)[0]


@pytest.mark.parametrize("touch", ["rename", "older", "chmod"])
def test_a_file_put_in_place_by_rename_or_with_older_times_is_new(store, clock, tmp_path, touch):
    old = store.write(REF, b"1234")
    clock.advance(10.0)
    store.stat(REF)
    path = store.bucket.root / REF.key
    if touch == "rename":
        other = tmp_path / "other"
        other.write_bytes(b"1234")
        os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
        other.rename(path)
    elif touch == "older":
        os.utime(path, (1, 1))
    else:
        path.chmod(0o600)
    assert store.stat(REF).generation == old.generation + 1


class Crash(Exception):
    pass


@contextmanager
def on_one_database(tmp_path, clock) -> Iterator[Callable[..., FolderObjectStore]]:
    database = Database(tmp_path / "catalog.sqlite")
    bucket = open_bucket(tmp_path / "bucket", None)
    yield lambda notify: FolderObjectStore(
        bucket, SqliteGenerations(database), notify, clock, atomically=database.transaction
    )
    database.close()


@pytest.mark.parametrize("act", ["write", "stat", "scan", "list"])
def test_a_version_is_never_numbered_without_being_announced(tmp_path, clock, changes, act):
    def crash(change):
        raise Crash

    with on_one_database(tmp_path, clock) as make:
        torn = make(crash)
        if act != "write":
            (torn.bucket.root / "acme").mkdir()
            (torn.bucket.root / "acme/a.md").write_bytes(b"x")
        acts = {
            "write": lambda: torn.write(REF, b"x"),
            "stat": lambda: torn.stat(REF),
            "scan": FolderScan(torn).scan,
            "list": lambda: torn.list("acme"),
        }
        with pytest.raises(Crash):
            acts[act]()
        assert torn.versions.generations.known() == {}
        whole = make(changes.append)
        report = FolderScan(whole).scan()
        assert [change.ref for change in changes] == [change.ref for change in report.changed] == [REF]


@pytest.mark.parametrize("act", ["delete", "scan"])
def test_a_removal_is_never_recorded_without_being_announced(tmp_path, clock, changes, act):
    def crash(change):
        raise Crash

    with on_one_database(tmp_path, clock) as make:
        stat = make(lambda _: None).write(REF, b"x")
        torn = make(crash)
        if act == "scan":
            (torn.bucket.root / REF.key).unlink()
        with pytest.raises(Crash):
            torn.delete(REF, stat.generation) if act == "delete" else FolderScan(torn).scan()
        report = FolderScan(make(changes.append)).scan()
        assert [(change.kind, change.generation) for change in report.removed] == [("delete", stat.generation)]
        assert changes == report.removed


def test_a_delete_that_finds_the_file_already_gone_still_tells_of_it_once(store, changes):
    stat = store.write(REF, b"x")
    (store.bucket.root / REF.key).unlink()
    assert store.delete(REF, stat.generation) is False
    assert store.delete(REF, stat.generation) is False
    assert [change.kind for change in changes] == ["finalize", "delete"]


@pytest.fixture
def interrupted(tmp_path, clock) -> FolderObjectStore:
    return FolderObjectStore(open_bucket(tmp_path / "bucket", None), InterruptedGenerations(), lambda _: None, clock)


def test_an_old_file_that_changes_while_it_is_read_is_superseded(interrupted, clock):
    generation = interrupted.write(REF, b"1234").generation
    clock.advance(YOUNG_SECONDS + 1)
    interrupted.stat(REF)
    path = interrupted.bucket.root / REF.key
    interrupted.versions.generations.interrupt = lambda: path.write_bytes(b"5678")
    with pytest.raises(Superseded):
        interrupted.read(REF, generation, 0)


def test_content_that_changes_within_the_tick_of_a_read_is_not_handed_out(interrupted):
    """No time tells of it, so the generation is made to stand for other content once the file has been recognised."""
    generation = interrupted.write(REF, b"1234").generation
    generations = interrupted.versions.generations
    times, _, _ = generations.inner.current(REF)[0].partition("#")

    def after_recognising() -> None:
        generations.interrupt = lambda: generations.settle(REF, generation, f"{times}#of other bytes")

    generations.interrupt = after_recognising
    with pytest.raises(Superseded, match="while it was being read"):
        interrupted.read(REF, generation, 0)


class OvertakenGenerations(MemoryGenerations):
    """Gives another thread the chance to come in between a file's rename and its number, the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.overtake: Callable[[], None] | None = None

    def assign(self, ref: ObjectRef, identity: str) -> int:
        if (overtake := self.overtake) is not None:
            self.overtake = None
            overtake()
        return super().assign(ref, identity)


def test_the_newest_number_is_that_of_the_last_file_put_in_place(tmp_path, clock):
    generations = OvertakenGenerations()
    store = FolderObjectStore(open_bucket(tmp_path / "bucket", None), generations, lambda _: None, clock)
    other = threading.Thread(target=store.write, args=(REF, b"other"))

    def overtake() -> None:
        other.start()
        # It cannot end before this write has: the time is what a store that lets it in would need.
        other.join(0.2)

    generations.overtake = overtake
    first = store.write(REF, b"first")
    other.join()
    assert (first.generation, store.stat(REF).generation) == (1, 2)
    assert store.read(REF, 2, 0) == b"other"
