"""What is to be brought in when a bucket says only that an object was touched: the store knows the rest (RULES 2)."""

from collections.abc import Iterator
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
