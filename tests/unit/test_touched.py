"""An object that was only said to be touched, as changes: the store has the last word, and it may change its mind."""

import pytest

from common.adapters.frozen_clock import FrozenClock
from common.adapters.memory_objects import MemoryObjectStore
from common.domain.errors import Busy, Unavailable
from common.domain.objects import ObjectChange, ObjectRef
from common.stages.touched import changes_of

REF = ObjectRef("acme", "a.md")


@pytest.fixture
def store():
    return MemoryObjectStore(lambda _: None, FrozenClock())


def test_an_object_that_is_there_is_to_be_indexed_once(store):
    stat = store.write(REF, b"text")
    assert list(changes_of(REF, store)) == [ObjectChange("finalize", REF, stat.generation, 4)]


def test_an_object_that_is_gone_is_nothing_to_bring_in(store):
    store.delete(REF, store.write(REF, b"text").generation)
    assert list(changes_of(REF, store)) == []


def test_what_changes_meanwhile_is_brought_in_too(store):
    """When it fails: another worker gave the newer version its number, and no event would tell of that number."""
    store.write(REF, b"old")
    changes = changes_of(REF, store)
    assert next(changes).generation == 1
    newer = store.write(REF, b"new")
    assert next(changes) == ObjectChange("finalize", REF, newer.generation, 3)
    assert list(changes) == []


def test_an_object_that_never_rests_is_left_to_the_next_delivery(store):
    store.write(REF, b"text")
    changes = changes_of(REF, store)
    with pytest.raises(Busy):
        assert [store.write(REF, b"again") for _ in changes]


def test_a_store_out_of_reach_is_not_an_object_gone(store):
    store.broken = Unavailable("out of reach")
    with pytest.raises(Unavailable):
        next(changes_of(REF, store))
