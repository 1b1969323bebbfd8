"""What a bucket's event leaves unsaid, asked of the store: what became of an object that was touched (RULES 2), and
what took the place of one that was removed (RULES 3).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from common.domain.errors import Busy
from common.domain.objects import ObjectChange, ObjectRef
from common.ports import ObjectStore

_ROUNDS: Final = 4


def changes_of(ref: ObjectRef, store: ObjectStore) -> Iterator[ObjectChange]:
    """The object's current version as a change, to be ingested before the next is asked for.

    There is a next one only when the object changed meanwhile, which no other event need tell of. None for an object
    that is gone: a store that assigns generations tells of that itself, with the number that was lost. Raises Busy when
    the object keeps changing, Unavailable.
    """
    last = None
    for _ in range(_ROUNDS):
        current = store.stat(ref)
        if current is None or current.generation == last:
            return
        yield ObjectChange("finalize", ref, current.generation, current.size)
        last = current.generation
    raise Busy(f"object {ref.key} keeps changing")


def with_successor(change: ObjectChange, store: ObjectStore) -> ObjectChange:
    """The removal with the generation that the store holds now as what overwrote it, if it holds one. Raises
    Unavailable.
    """
    current = store.stat(change.ref)
    return replace(change, overwritten_by=current.generation) if current else change
