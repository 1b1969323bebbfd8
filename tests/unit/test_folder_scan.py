"""A scan announces each difference between disk and generations once, and holds back what looks like a lost disk."""

import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.adapters.folder.bucket import open_bucket
from common.adapters.folder.objects import FolderObjectStore
from common.adapters.folder.scan import FolderScan, ScanReport
from common.adapters.frozen_clock import FrozenClock
from common.adapters.memory_generations import MemoryGenerations
from common.domain.objects import ObjectRef


class Place:
    """A bucket with its scan, and files put there as any program would."""

    def __init__(self, folder: Path) -> None:
        self.changes = []
        self.clock = FrozenClock(time.time())
        bucket = open_bucket(folder, None)
        self.root = bucket.root
        self.store = FolderObjectStore(bucket, MemoryGenerations(), self.changes.append, self.clock)
        self.scan = FolderScan(self.store)

    def put(self, key: str, content: str = "x") -> Path:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def put_many(self, base: str, count: int) -> list[Path]:
        return [self.put(f"{base}/{number}.md") for number in range(count)]


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path / "bucket")


def keys(changes) -> list[tuple[str, int]]:
    return sorted((change.ref.key, change.generation) for change in changes)


def assert_nothing_new(place: Place) -> None:
    announced = len(place.changes)
    report = place.scan.scan()
    assert (list(report.changed), list(report.removed), len(place.changes)) == ([], [], announced)


def test_a_scan_announces_new_changed_and_removed_files_once(place):
    for key in ("acme/a.md", "acme/sub/b.md", "other/c.md"):
        place.put(key)
    first = place.scan.scan()
    assert first.found == 3
    assert keys(first.changed) == [("acme/a.md", 1), ("acme/sub/b.md", 1), ("other/c.md", 1)]
    assert list(first.changed) == place.changes
    assert all(change.kind == "finalize" and change.size == 1 for change in first.changed)
    assert_nothing_new(place)
    place.put("acme/a.md", "longer")
    (place.root / "acme/sub/b.md").unlink()
    second = place.scan.scan()
    assert [(change.kind, change.ref.key, change.generation, change.size) for change in second.changed] == [
        ("finalize", "acme/a.md", 2, 6)
    ]
    assert [(change.kind, change.ref.key, change.generation) for change in second.removed] == [
        ("delete", "acme/sub/b.md", 1)
    ]
    assert second.found == 2
    assert_nothing_new(place)
    place.put("acme/sub/b.md")
    assert keys(place.scan.scan().changed) == [("acme/sub/b.md", 2)]


def test_what_the_store_wrote_and_deleted_is_no_news(place):
    ref = ObjectRef("acme", "a.md")
    place.store.write(ref, b"x")
    assert_nothing_new(place)
    place.store.delete(ref, 1)
    assert_nothing_new(place)
    assert [change.kind for change in place.changes] == ["finalize", "delete"]


def test_one_base_alone(place):
    place.put("acme/a.md")
    place.put("other/c.md")
    assert keys(place.scan.scan("acme").changed) == [("acme/a.md", 1)]
    shutil.rmtree(place.root / "acme")
    place.scan.scan("other")
    assert keys(place.scan.scan("acme").removed) == [("acme/a.md", 1)]


def test_what_is_no_base_is_foreign_and_makes_no_job(place):
    for key in ("README.md", "Acme/a.md", "_x/a.md", ".git/config", "acme/a.md"):
        place.put(key)
    (place.root / "empty").mkdir()
    report = place.scan.scan()
    assert list(report.foreign) == [".git", "Acme", "README.md", "_x"]
    assert keys(report.changed) == [("acme/a.md", 1)]
    assert report.found == 1


def test_names_that_no_object_can_have_are_reported_and_the_others_indexed(place):
    place.put("acme/ok.md")
    folder = os.fsencode(place.root / "acme")
    for name in (b"caf\xe9.md", b"two\nlines.md", b"d\xff/x.md"):
        path = Path(os.fsdecode(folder + b"/" + name))
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    report = place.scan.scan()
    assert list(report.unnameable) == ["acme/caf\\xe9.md", "acme/d\\xff", "acme/two\nlines.md"]
    assert keys(report.changed) == [("acme/ok.md", 1)]
    assert place.scan.rescan_paths([Path(os.fsdecode(folder + b"/caf\xe9.md"))]) == ScanReport(
        changed=[], removed=[], foreign=[], unnameable=[], links_and_devices=[]
    )


@pytest.mark.parametrize(("count", "removed", "held"), [(21, 11, True), (21, 10, False), (20, 20, False)])
@pytest.mark.parametrize("by", ["scan", "paths"])
def test_losing_more_than_half_of_a_larger_base_is_held_back(place, by, count, removed, held):
    paths = place.put_many("acme", count)
    place.put("other/a.md")
    place.scan.scan()
    for path in [*paths[:removed], place.root / "other/a.md"]:
        path.unlink()
    look = place.scan.scan if by == "scan" else lambda: place.scan.rescan_paths([*paths, place.root / "other/a.md"])
    report = look()
    assert report.held_back == ({"acme": removed} if held else {})
    assert len(report.removed) == (1 if held else removed + 1)
    assert look().held_back == report.held_back
    allowed = place.scan.scan(allow_mass_removal=True)
    assert len(allowed.removed) == (removed if held else 0)
    assert allowed.held_back == {}
    assert_nothing_new(place)


def test_a_base_whose_folder_vanished_is_held_back_whole(place):
    place.put_many("acme", 30)
    place.scan.scan()
    shutil.rmtree(place.root / "acme")
    assert place.scan.scan().held_back == {"acme": 30}
    place.put_many("acme", 30)
    report = place.scan.scan()
    assert (report.held_back, len(report.changed), list(report.removed)) == ({}, 30, [])


def test_paths_of_a_watcher_touch_only_their_objects(place):
    for key in ("acme/a.md", "acme/b.md", "acme/sub/c.md"):
        place.put(key)
    report = place.scan.rescan_paths([place.root / "acme/a.md", str(place.root / "acme/sub/c.md")])
    assert keys(report.changed) == [("acme/a.md", 1), ("acme/sub/c.md", 1)] == keys(place.changes)
    assert report.found == 2
    (place.root / "acme/a.md").unlink()
    report = place.scan.rescan_paths([place.root / "acme/a.md", place.root / "acme/never.md"])
    assert (keys(report.removed), list(report.changed)) == ([("acme/a.md", 1)], [])
    again = place.scan.rescan_paths([place.root / "acme/a.md", place.root / "acme/sub/c.md"])
    assert (list(again.removed), list(again.changed)) == ([], [])


@pytest.mark.parametrize("which", ["acme", "acme/sub", "acme/sub/deep"])
def test_a_path_that_is_or_was_a_folder_stands_for_its_base(place, which):
    place.put("acme/sub/deep/a.md")
    assert keys(place.scan.rescan_paths([place.root / which]).changed) == [("acme/sub/deep/a.md", 1)]
    shutil.rmtree(place.root / which)
    assert keys(place.scan.rescan_paths([place.root / which]).removed) == [("acme/sub/deep/a.md", 1)]


def test_a_folder_renamed_is_a_removal_and_an_arrival(place):
    place.put("acme/old/a.md")
    place.scan.scan()
    (place.root / "acme/old").rename(place.root / "acme/new")
    report = place.scan.rescan_paths([place.root / "acme/old", place.root / "acme/new"])
    assert keys(report.removed) == [("acme/old/a.md", 1)]
    assert keys(report.changed) == [("acme/new/a.md", 1)]


def test_paths_that_are_no_objects_are_passed_over(place, tmp_path):
    place.put("acme/a.md")
    (tmp_path / "outside.md").write_text("x")
    (tmp_path / "bucket-2").mkdir()
    paths = [
        place.root,
        place.root / "README.md",
        place.root / ".fichario-tmp/draft",
        place.root / "acme/.fichario-x",
        place.root / "acme/../../outside.md",
        tmp_path / "outside.md",
        tmp_path / "bucket-2/acme/a.md",
        "/",
    ]
    report = place.scan.rescan_paths(paths)
    assert (report.found, place.changes) == (0, [])


def test_many_paths_are_looked_at_together(place):
    paths = place.put_many("acme", 150)
    place.put("acme/unnamed.md")
    assert len(place.scan.rescan_paths(paths).changed) == 151
    assert_nothing_new(place)


def test_a_file_is_settled_when_nobody_touched_it_for_that_long(place):
    path = place.put("acme/a.md")
    os.utime(path, (1, 1))
    assert not place.scan.settled(path, 1.0)
    place.clock.advance(2.0)
    assert place.scan.settled(path, 1.0)
    future = place.clock.now() + 60
    os.utime(path, (future, future))
    assert not place.scan.settled(path, 1.0)
    assert place.scan.settled(place.root / "acme/gone.md", 1.0)


actions = st.lists(
    st.tuples(
        st.sampled_from(["put", "remove", "store write", "store delete", "age", "scan", "paths", "list"]),
        st.sampled_from(["a", "b", "d/c"]),
        st.sampled_from(["1", "2"]),
    ),
    max_size=15,
)


def act(place: Place, action: str, name: str, content: str) -> None:
    ref, path = ObjectRef("acme", name), place.root / "acme" / name
    if action == "put":
        place.put(ref.key, content)
    elif action == "remove":
        path.unlink(missing_ok=True)
    elif action == "store write":
        place.store.write(ref, content.encode())
    elif action == "store delete" and (stat := place.store.stat(ref)) is not None:
        place.store.delete(ref, stat.generation)
    elif action == "age":
        place.clock.advance(5.0)
    elif action == "scan":
        place.scan.scan()
    elif action == "paths":
        place.scan.rescan_paths([path])
    elif action == "list":
        place.store.list("acme")


def test_whatever_happens_the_events_tell_in_the_end_what_is_there(tmp_path_factory):
    @settings(max_examples=60, deadline=None)
    @given(actions)
    def holds(steps):
        place = Place(tmp_path_factory.mktemp("bucket"))
        for step in steps:
            act(place, *step)
        place.scan.scan()
        told = {}
        for change in place.changes:
            if change.kind == "finalize":
                assert change.generation > told.get(change.ref, (0, ""))[0], "numbers grow, each announced once"
            else:
                assert told[change.ref] == (change.generation, "finalize"), "a removal names what was there"
            told[change.ref] = (change.generation, change.kind)
        present = {stat.ref: (stat.generation, "finalize") for stat in place.store.list("acme")}
        assert {ref: what for ref, what in told.items() if what[1] == "finalize"} == present
        on_disk = [path for path in (place.root / "acme").rglob("*") if path.is_file()]
        assert sorted(ref.key for ref in present) == sorted(str(path.relative_to(place.root)) for path in on_disk)
        assert_nothing_new(place)

    holds()
