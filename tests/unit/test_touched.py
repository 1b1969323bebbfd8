"""An object that was only said to be touched, as changes: the store has the last word, and it may change its mind."""

import pytest

from common.adapters.frozen_clock import FrozenClock
from common.adapters.memory_catalog import MemoryCatalog
from common.adapters.memory_objects import MemoryObjectStore
from common.domain.errors import Busy, Unavailable
from common.domain.fencing import enqueue
from common.domain.objects import ObjectChange, ObjectRef
from common.stages.touched import changes_of

REF = ObjectRef("acme", "a.md")


@pytest.fixture
def store():
    return MemoryObjectStore(lambda _: None, FrozenClock())


@pytest.fixture
def catalog():
    return MemoryCatalog()


def remember(catalog, change):
    catalog.transact(REF, change.job_id, lambda held: enqueue(held, change, 0.0))


def test_an_object_that_is_there_is_to_be_indexed_once(store, catalog):
    stat = store.write(REF, b"text")
    assert list(changes_of(REF, store, catalog)) == [ObjectChange("finalize", REF, stat.generation, 4)]


def test_an_object_that_is_gone_is_to_be_removed_as_far_as_it_is_known(store, catalog):
    remember(catalog, ObjectChange("finalize", REF, 7))
    assert list(changes_of(REF, store, catalog)) == [ObjectChange("delete", REF, 7)]


def test_an_object_that_nobody_knows_is_nothing_to_do(store, catalog):
    assert list(changes_of(REF, store, catalog)) == []


def test_what_changes_meanwhile_is_brought_in_too(store, catalog):
    """When it fails: another worker gave the newer version its number, and no event would tell of that number."""
    store.write(REF, b"old")
    changes = changes_of(REF, store, catalog)
    assert next(changes).generation == 1
    newer = store.write(REF, b"new")
    assert next(changes) == ObjectChange("finalize", REF, newer.generation, 3)
    store.delete(REF, newer.generation)
    remember(catalog, ObjectChange("finalize", REF, newer.generation))
    assert list(changes) == [ObjectChange("delete", REF, newer.generation)]


def test_an_object_that_never_rests_is_left_to_the_next_delivery(store, catalog):
    store.write(REF, b"text")
    changes = changes_of(REF, store, catalog)
    with pytest.raises(Busy):
        assert [store.write(REF, b"again") for _ in changes]


def test_a_store_out_of_reach_is_no_removal(store, catalog):
    remember(catalog, ObjectChange("finalize", REF, 7))
    store.broken = Unavailable("out of reach")
    with pytest.raises(Unavailable):
        next(changes_of(REF, store, catalog))
