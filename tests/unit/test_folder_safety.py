"""A folder as bucket keeps to its root, its own marker and whole files, whatever else is done to it."""

import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from common.adapters.folder import drafts
from common.adapters.folder.bucket import MARKER, open_bucket
from common.adapters.folder.objects import FolderObjectStore
from common.adapters.folder.scan import FolderScan
from common.adapters.frozen_clock import FrozenClock
from common.adapters.memory_generations import MemoryGenerations
from common.domain.errors import DataFolderError, ObjectGone, Refused, Superseded, Unavailable
from common.domain.objects import ObjectRef

REF = ObjectRef("acme", "a.md")


@pytest.fixture
def changes() -> list:
    return []


@pytest.fixture
def store(tmp_path, changes) -> FolderObjectStore:
    bucket = open_bucket(tmp_path / "bucket", None)
    return FolderObjectStore(bucket, MemoryGenerations(), changes.append, FrozenClock(time.time()))


@pytest.fixture
def outside(tmp_path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.md").write_text("secret")
    return folder


def holds_nothing(store: FolderObjectStore, ref: ObjectRef) -> None:
    assert store.stat(ref) is None
    with pytest.raises(ObjectGone):
        store.read(ref, 1, 0)
    assert store.delete(ref, 1) is False
    assert list(store.list(ref.base)) == []
    assert FolderScan(store).scan().changed == []


def test_a_link_to_a_file_is_no_object_and_is_reported(store, outside):
    base = store.bucket.root / "acme"
    base.mkdir()
    (base / "a.md").symlink_to(outside / "secret.md")
    (base / "dangling").symlink_to(outside / "nothing")
    holds_nothing(store, REF)
    assert FolderScan(store).scan().links_and_devices == ["acme/a.md", "acme/dangling"]
    store.write(REF, b"mine")
    assert (outside / "secret.md").read_text() == "secret"
    assert not (base / "a.md").is_symlink()


@pytest.mark.parametrize("name", ["link/secret.md", "deep/link/secret.md"])
def test_a_link_to_a_folder_leads_nowhere(store, outside, name):
    base = store.bucket.root / "acme"
    (base / "deep").mkdir(parents=True)
    (base / name).parent.symlink_to(outside)
    ref = ObjectRef("acme", name)
    holds_nothing(store, ref)
    assert FolderScan(store).scan().links_and_devices == [f"acme/{name.removesuffix('/secret.md')}"]
    with pytest.raises(Refused) as refused:
        store.write(ref, b"x")
    assert refused.value.status == 409
    assert [path.name for path in outside.iterdir()] == ["secret.md"]


def test_a_base_that_is_a_link_is_foreign(store, outside):
    (store.bucket.root / "acme").symlink_to(outside)
    holds_nothing(store, ObjectRef("acme", "secret.md"))
    assert list(store.bases()) == []
    assert FolderScan(store).scan().foreign == ["acme"]
    with pytest.raises(Refused):
        store.write(ObjectRef("acme", "secret.md"), b"x")


def test_pipes_sockets_and_devices_neither_block_nor_count(store, monkeypatch):
    base = store.bucket.root / "acme"
    base.mkdir()
    os.mkfifo(base / "pipe")
    monkeypatch.chdir(base)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    for name in ("pipe", "socket"):
        holds_nothing(store, ObjectRef("acme", name))
    assert FolderScan(store).scan().links_and_devices == ["acme/pipe", "acme/socket"]


def test_our_own_names_are_no_objects(store):
    for name in (".fichario-tmp/x", "a/.fichario-x", ".fichario"):
        path = store.bucket.root / "acme" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        ref = ObjectRef("acme", name)
        assert store.stat(ref) is None
        with pytest.raises(Refused):
            store.write(ref, b"x")
    assert list(store.list("acme")) == []


def test_a_file_and_a_folder_of_one_name_are_a_conflict(store):
    store.write(ObjectRef("acme", "a"), b"1")
    store.write(ObjectRef("acme", "d/e"), b"1")
    for name in ("a/b", "d"):
        with pytest.raises(Refused) as refused:
            store.write(ObjectRef("acme", name), b"2")
        assert (refused.value.status, refused.value.field) == (409, "source")
    assert store.stat(ObjectRef("acme", "a/b")) is None
    assert store.stat(ObjectRef("acme", "d")) is None


def test_a_part_too_long_for_the_disk_is_refused(store):
    ref = ObjectRef("acme", "é" * 128)
    with pytest.raises(Refused) as refused:
        store.write(ref, b"x")
    assert refused.value.status == 400
    assert store.stat(ref) is None


def test_a_refused_or_failed_write_leaves_no_draft(store):
    store.write(ObjectRef("acme", "d/e"), b"1")
    with pytest.raises(Refused):
        store.write(ObjectRef("acme", "d"), b"2")
    assert list((store.bucket.root / drafts.FOLDER).iterdir()) == []


def test_deleting_removes_the_folders_it_leaves_empty_but_not_the_base(store):
    deep, beside = ObjectRef("acme", "a/b/c.md"), ObjectRef("acme", "a/d.md")
    for ref in (deep, beside):
        store.write(ref, b"x")
    store.delete(deep, 1)
    assert sorted(path.name for path in (store.bucket.root / "acme/a").iterdir()) == ["d.md"]
    store.delete(beside, 1)
    assert list((store.bucket.root / "acme").iterdir()) == []


def test_a_file_replaced_between_look_and_removal_stays(store):
    path = store.bucket.root / REF.key
    path.parent.mkdir()
    path.write_bytes(b"looked at")
    looked_at = path.stat()
    path.unlink()
    (path.parent / "other").write_bytes(b"precious")
    (path.parent / "other").rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with pytest.raises(Superseded):
            drafts.withdraw(store.bucket, folder, "a.md", looked_at)
    finally:
        os.close(folder)
    assert path.read_bytes() == b"precious"
    assert list((store.bucket.root / drafts.FOLDER).iterdir()) == []


def test_abandoned_drafts_are_cleared_and_fresh_ones_are_not(store):
    folder = store.bucket.root / drafts.FOLDER
    folder.mkdir()
    (folder / "draft").write_text("x")
    drafts.discard_abandoned(store.bucket, time.time() + drafts.ABANDONED_SECONDS - 60)
    assert len(list(folder.iterdir())) == 1
    drafts.discard_abandoned(store.bucket, time.time() + drafts.ABANDONED_SECONDS + 60)
    assert len(list(folder.iterdir())) == 0


@pytest.mark.parametrize("loss", ["root", "marker", "other marker", "link as marker", "empty marker"])
def test_a_root_that_is_not_the_bucket_is_unavailable_never_empty(store, tmp_path, changes, loss):
    store.write(REF, b"x")
    root, marker = store.bucket.root, store.bucket.root / MARKER
    if loss == "root":
        shutil.rmtree(root)
    else:
        kept = marker.read_text()
        marker.unlink()
        if loss == "other marker":
            marker.write_text("0" * 32)
        elif loss == "empty marker":
            marker.write_text("")
        elif loss == "link as marker":
            (tmp_path / "kept").write_text(kept)
            marker.symlink_to(tmp_path / "kept")
        shutil.rmtree(root / "acme")
    scan = FolderScan(store)
    for call in (
        lambda: store.stat(REF),
        lambda: store.read(REF, 1, 0),
        lambda: store.write(REF, b"y"),
        lambda: store.delete(REF, 1),
        lambda: store.list("acme"),
        store.bases,
        scan.scan,
        lambda: scan.scan("acme", allow_mass_removal=True),
        lambda: scan.rescan_paths([root / "acme/a.md"]),
    ):
        with pytest.raises(Unavailable):
            call()
    assert [change.kind for change in changes] == ["finalize"]
    with pytest.raises(DataFolderError):
        open_bucket(root, store.bucket.id)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Permissions mean nothing to root, so root looks as nobody."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_folder_that_cannot_be_read_fails_the_whole_listing():
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        bucket = open_bucket(Path(folder) / "bucket", None)
        changes = []
        store = FolderObjectStore(bucket, MemoryGenerations(), changes.append, FrozenClock(time.time()))
        store.write(ObjectRef("acme", "a"), b"x")
        store.write(ObjectRef("acme", "closed/b"), b"x")
        closed = bucket.root / "acme/closed"
        closed.chmod(0o000)
        (bucket.root / drafts.FOLDER).chmod(0o777)
        with without_privileges():
            for look in (lambda: store.list("acme"), FolderScan(store).scan, store.bases):
                with pytest.raises(Unavailable, match="acme"):
                    look()
        closed.chmod(0o755)
        assert [stat.ref.name for stat in store.list("acme")] == ["a", "closed/b"]
        assert len(changes) == 2


def test_a_folder_as_deep_as_a_name_allows_is_listed(store):
    ref = ObjectRef("acme", "/".join("d" * 512))
    store.write(ref, b"x")
    assert [stat.ref for stat in store.list("acme")] == [ref]
    assert store.read(ref, 1, 0) == b"x"


def test_no_descriptor_is_left_open(store, outside):
    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc on this system")
    (store.bucket.root / "acme").mkdir()
    (store.bucket.root / "acme/link").symlink_to(outside)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(20):
        ref = ObjectRef("acme", f"a/b/{number}")
        stat = store.write(ref, b"x")
        store.read(ref, stat.generation, 0)
        holds = [ObjectRef("acme", "link/secret.md"), ObjectRef("acme", "a"), ObjectRef("no", "x")]
        assert [store.stat(each) for each in holds] == [None] * 3
        store.bases()
        FolderScan(store).scan()
        store.delete(ref, stat.generation)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
