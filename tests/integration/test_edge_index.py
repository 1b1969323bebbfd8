"""What the Edge index promises of its folder: crashes at any point, damage, restarts."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from common.adapters.edge import folders
from common.adapters.edge.shard import Shard
from common.adapters.edge_index import EdgeIndex
from common.domain.errors import DataFolderError, Unavailable
from common.domain.index import Lookup
from common.ports import CollectionShape
from tests.contract.indexes import BASE, OTHER, SHAPE, Opened, fast_folder, make_point, new_collection

NEAR = (1.0, 0.0, 0.0, 0.0)

WRITER = """
import itertools, sys
from pathlib import Path
from common.adapters.edge_index import EdgeIndex
from tests.contract.indexes import BASE, SHAPE, make_point

index, collection = EdgeIndex(Path(sys.argv[1])), sys.argv[2]
index.create(BASE, collection, SHAPE)
for generation in itertools.count(1):
    index.upsert(BASE, collection, [make_point(generation=generation, ordinal=n, lexical={7: 1.0}) for n in range(3)])
    index.sweep(BASE, collection, "docs/bagagem.md", generation - 4)
    print(generation, flush=True)
"""


@pytest.fixture
def root():
    with fast_folder() as folder:
        yield folder / "index"


@pytest.fixture
def store(root):
    made = Opened(EdgeIndex(root))
    made.index.create(BASE, made.collection, SHAPE)
    yield made
    made.index.close()


def test_kill_9_loses_nothing_that_was_acknowledged(root):
    """When it fails: `upsert` returned before the write-ahead log had the points, or its replay is wrong."""
    collection = new_collection()
    command = [sys.executable, "-c", WRITER, str(root), collection]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as writer:
        acknowledged = 0
        for line in writer.stdout:
            acknowledged = int(line)
            if acknowledged == 60:
                break
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged = max([acknowledged, *(int(line) for line in writer.stdout if line.endswith("\n"))])
    index = EdgeIndex(root)
    generations = index.generations(BASE, collection)
    # The write after the last acknowledged one may have been swept by as well.
    alive = {("docs/bagagem.md", generation): 3 for generation in range(acknowledged - 3, acknowledged + 1)}
    assert alive.items() <= generations.items()
    assert all(generation >= acknowledged - 4 for _, generation in generations)
    total, held = index.frequencies(BASE, collection, [7])
    assert total == held[7] == sum(generations.values())
    index.close()


def test_a_restart_finds_everything(store, root):
    """When it fails: what was closed properly must open as it was, places and owners included."""
    store.upsert(make_point(lexical={7: 1.0}), make_point(ordinal=1, vector=None))
    before = store.ask(NEAR, {7: 1.0})
    store.index.close()
    again = EdgeIndex(root)
    assert again.collections(BASE) == [store.collection]
    assert again.lookup(BASE, store.collection, Lookup(NEAR, {7: 1.0}, 10)) == before
    with pytest.raises(ValueError, match="another base"):
        again.generations(OTHER, store.collection)
    again.close()


def test_leftovers_of_a_crash_are_removed(store, root):
    """When it fails: a collection that was being made or dropped came back, or kept its space."""
    store.upsert(make_point())
    store.index.close()
    for leftover in (".new-1", ".dropped-1"):
        shutil.copytree(root / store.collection, root / leftover)
    (root / ".new-1" / "collection.json").unlink()
    again = EdgeIndex(root)
    assert again.collections(BASE) == [store.collection]
    assert [path.name for path in root.iterdir()] == [store.collection]
    again.close()


def test_a_failed_creation_leaves_nothing(root):
    """When it fails: half a collection would stand in the way of the next attempt."""
    root.mkdir()

    def build(folder):
        folder.mkdir()
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        folders.make(root, new_collection(), folders.Meta(BASE, 4), build)
    assert list(root.iterdir()) == []


def test_a_reader_of_a_collection_that_is_dropped_meanwhile_learns_so(store):
    """When it fails: the engine's own exception, or a silent end, reached the reader."""
    store.upsert(*(make_point(ordinal=n) for n in range(200)))
    points = store.index.stored(BASE, store.collection, "docs/bagagem.md", 1)
    next(points)
    store.index.drop(BASE, store.collection)
    with pytest.raises(Unavailable):
        list(points)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".new-x", "a\0", "é" * 10, "x" * 300])
def test_names_that_are_no_folder_are_refused(store, root, name):
    """When it fails: a collection's name must not lead out of the index's folder."""
    with pytest.raises(ValueError, match="cannot name"):
        store.index.create(BASE, name, SHAPE)
    assert [path.name for path in root.iterdir()] == [store.collection]


def empty(path):
    shutil.rmtree(path)
    path.mkdir()


def cut(path):
    path.write_bytes(path.read_bytes()[:3])


DAMAGE = {
    "no write-ahead log": lambda shard: shutil.rmtree(shard / "wal"),
    "no segments": lambda shard: empty(shard / "segments"),
    "no shard": shutil.rmtree,
    "a segment without state": lambda shard: next(shard.glob("segments/*/segment.json")).unlink(),
    "a cut configuration": lambda shard: cut(shard / "edge_config.json"),
    "another dimension": lambda shard: (shard.parent / "collection.json").write_text(
        json.dumps({"base": BASE, "dimension": 5})
    ),
}


def parts(root):
    return sorted([*root.glob("*"), *root.glob("*/*"), *root.glob("*/shard/*"), *root.glob("*/shard/segments/*")])


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_shard_is_reported_and_left_alone(store, root, damage):
    """When it fails: the engine opens some damaged folders as empty ones; see the checks before `EdgeShard.load`."""
    store.upsert(make_point())
    store.index.close()
    DAMAGE[damage](root / store.collection / "shard")
    before = parts(root)
    again = EdgeIndex(root)
    with pytest.raises(DataFolderError, match=r"reconcile") as caught:
        again.generations(BASE, store.collection)
    assert str(root / store.collection) in str(caught.value)
    assert parts(root) == before
    again.close()


@pytest.mark.parametrize("content", [None, "", "[]", '{"base": "agency"}'])
def test_a_folder_without_its_meta_stops_the_start(store, root, content):
    """When it fails: a collection whose owner is unknown must never be served, nor made anew."""
    store.index.close()
    meta = root / store.collection / "collection.json"
    meta.unlink()
    if content is not None:
        meta.write_text(content)
    with pytest.raises(DataFolderError, match=store.collection):
        EdgeIndex(root)


def test_a_folder_in_use_is_reported(store, root):
    """When it fails: two processes on one shard would corrupt it."""
    store.upsert(make_point())
    second = EdgeIndex(root)
    with pytest.raises(DataFolderError, match="other process"):
        second.generations(BASE, store.collection)
    second.close()


def test_few_remembered_places_change_no_answer(root):
    """When it fails: the bound of what is remembered dropped places that the answer still needed."""
    store = Opened(EdgeIndex(root, remembered=2))
    store.index.create(BASE, store.collection, CollectionShape(4))
    store.upsert(*(make_point(f"{n}.md", vector=(1.0, n / 10, 0.0, 0.0)) for n in range(9)))
    for _ in range(3):
        assert [hit.object for hit in store.ask(NEAR).hits] == [f"{n}.md" for n in range(9)]
    store.index.close()


def test_the_default_vector_alone_answers(store):
    """When it fails: the dense vector must be the unnamed default (CONTRACT, Stored point)."""
    from qdrant_edge import Query, QueryRequest  # noqa: PLC0415

    store.upsert(make_point(vector=NEAR, text="near"), make_point(ordinal=1, vector=(0.0, 1.0, 0.0, 0.0)))
    engine = store.index._shards[store.collection]._engine
    best = engine.query(QueryRequest(limit=1, query=Query.Nearest(list(NEAR)), with_payload=True))[0]
    assert (best.payload["text"], best.score) == ("near", pytest.approx(1.0))


class Engine:
    """Says how often it was flushed, and fails when it is told to."""

    def __init__(self):
        self.flushed, self.broken = 0, False

    def update(self, operation):
        pass

    def optimize(self):
        pass

    def flush(self):
        if self.broken:
            raise OSError("the disk is full")
        self.flushed += 1


def test_a_shard_is_flushed_where_something_changed_and_again_when_that_failed():
    engine = Engine()
    shard = Shard(engine, 4, 10)
    changes = [lambda: None, shard.optimise, lambda: shard.upsert([make_point()])]
    for number, change in enumerate(changes, 1):
        change()
        shard.flush()
        shard.flush()
        assert engine.flushed == number
    shard.upsert([make_point()])
    engine.broken = True
    for _ in range(2):
        with pytest.raises((Unavailable, OSError)):
            shard.flush()
    engine.broken = False
    shard.flush()
    assert engine.flushed == 4
