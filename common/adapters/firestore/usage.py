"""Where usage stands: counters that are added to without being read. Each process keeps to one of a few documents, so
that many of them do not meet at one, which takes a write a second.
"""

from collections.abc import Mapping
from typing import Final
from uuid import uuid4

from common.adapters.firestore.calls import Calls
from common.adapters.firestore.layout import USAGE, Places
from common.domain.usage import KINDS, Count, Usage, added

SHARDS: Final = 16
_FIELDS: Final = ("calls", "tokens", "written")


def own_shard() -> str:
    """The name of the document that one process adds to."""
    return str(uuid4().int % SHARDS)


def add(calls: Calls, places: Places, base: str, shard: str, spent: Usage) -> None:
    counts: Mapping[str, Mapping[str, int]] = {
        kind: {name: getattr(count, name) for name in _FIELDS} for kind, count in spent.items()
    }
    calls.increase(places.within(base, USAGE).document(shard), "counts", counts)


def total(calls: Calls, places: Places, base: str) -> Usage:
    found: Usage = {}
    for row in calls.rows(places.within(base, USAGE).order_by("__name__")):
        counts = row.fields.get("counts", {})
        found = added(found, {kind: Count(**counts[kind]) for kind in KINDS if kind in counts})
    return found
