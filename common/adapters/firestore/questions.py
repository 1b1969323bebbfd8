"""Where kept questions stand: many in one document, for a write is paid by the document. Each process merges what it
was asked into one of a few, and reading merges those; the set is spread over as many as it takes, in one commit.
"""

import json
import zlib
from collections.abc import Sequence
from typing import Final

from common.adapters.firestore.calls import Calls, Change, Row, Step
from common.adapters.firestore.layout import QUESTIONS, Places
from common.domain.questions import LIMITS, KeptQuestion, merged
from common.domain.records import to_json

LARGEST: Final = 900_000
"""Bytes of the questions of one document, of the 1 MiB that it may have."""
SET_DOCUMENTS: Final = 16
A_DOCUMENT: Final = LIMITS["set"] // SET_DOCUMENTS
"""Questions of a set that stand in one document: at their longest they take less than LARGEST."""
_FIELD: Final = "questions"


def add(calls: Calls, places: Places, base: str, shard: str, asked: Sequence[KeptQuestion]) -> None:
    """Merge them into this process's document. What no document holds loses its oldest."""

    def settled(seen: Sequence[Row]) -> Step[None]:
        (row,) = seen
        wanted = merged(_unpacked(row), asked)
        while len(packed := _packed(wanted)) > LARGEST:
            wanted = wanted[: len(wanted) * 3 // 4]
        return Step(None, [Change(row, {_FIELD: packed})])

    calls.settle([places.within(base, QUESTIONS).document(f"asked-{shard}")], settled)


def replace(calls: Calls, places: Places, base: str, stored: Sequence[KeptQuestion]) -> None:
    wanted = merged(stored)
    parts = [wanted[start : start + A_DOCUMENT] for start in range(0, len(wanted), A_DOCUMENT)]

    def settled(seen: Sequence[Row]) -> Step[None]:
        changes = [Change(row, {_FIELD: _packed(part)}) for row, part in zip(seen, parts, strict=False)]
        emptied = [Change(row, {_FIELD: None}) for row in seen[len(parts) :] if _FIELD in row.fields]
        return Step(None, [*changes, *emptied])

    documents = [places.within(base, QUESTIONS).document(f"set-{number:02d}") for number in range(SET_DOCUMENTS)]
    calls.settle(documents, settled)


def kept(calls: Calls, places: Places, base: str) -> Sequence[KeptQuestion]:
    return merged(*(_unpacked(row) for row in calls.rows(places.within(base, QUESTIONS).order_by("__name__"))))


def forget(calls: Calls, places: Places, base: str) -> None:
    stored = places.within(base, QUESTIONS).order_by("__name__").select([])
    calls.delete([row.ref for row in calls.rows(stored)])


def _packed(questions: Sequence[KeptQuestion]) -> bytes:
    return zlib.compress(json.dumps([to_json(each) for each in questions], separators=(",", ":")).encode())


def _unpacked(row: Row) -> list[KeptQuestion]:
    stored = row.fields.get(_FIELD)
    return [KeptQuestion(**fields) for fields in json.loads(zlib.decompress(stored))] if stored else []
