"""What is to be brought in when a bucket says only that an object was touched: the store and the catalog know the rest
(RULES 2).
"""

from collections.abc import Iterator
from typing import Final

from common.domain.errors import Busy
from common.domain.objects import ObjectChange, ObjectRef
from common.ports import Catalog, ObjectStore

_ROUNDS: Final = 4


def changes_of(ref: ObjectRef, store: ObjectStore, catalog: Catalog) -> Iterator[ObjectChange]:
    """The object's change as it stands, to be ingested before the next is asked for.

    There is a next one only when the object changed meanwhile, which no other event need tell of; none at all for an
    object that neither the store nor the catalog knows. Raises Busy when it keeps changing, Unavailable.
    """
    last = None
    for _ in range(_ROUNDS):
        change = _change(ref, store, catalog)
        if change is None or change == last:
            return
        yield change
        last = change
    raise Busy(f"object {ref.key} keeps changing")


def _change(ref: ObjectRef, store: ObjectStore, catalog: Catalog) -> ObjectChange | None:
    current = store.stat(ref)
    if current is not None:
        return ObjectChange("finalize", ref, current.generation, current.size)
    known = catalog.object(ref)
    return None if known is None else ObjectChange("delete", ref, known.newest)
