"""The Generations port in memory."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from common.domain.objects import ObjectRef


@dataclass(slots=True)
class _Row:
    identity: str
    generation: int
    present: bool = True


class MemoryGenerations:
    """Generations in a dict, with `current` and `settle` for the folder store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[ObjectRef, _Row] = {}

    def assign(self, ref: ObjectRef, identity: str) -> int:
        with self._lock:
            row = self._rows.get(ref)
            if row is None or not row.present or row.identity != identity:
                row = self._rows[ref] = _Row(identity, row.generation + 1 if row else 1)
            return row.generation

    def known(self, base: str | None = None) -> Mapping[ObjectRef, tuple[str, int]]:
        with self._lock:
            return {
                ref: (row.identity, row.generation)
                for ref, row in self._rows.items()
                if row.present and base in {None, ref.base}
            }

    def absent(self, ref: ObjectRef, generation: int) -> bool:
        with self._lock:
            row = self._rows.get(ref)
            if row is None or row.generation != generation:
                return False
            row.present = False
            return True

    def current(self, ref: ObjectRef) -> tuple[str, int] | None:
        with self._lock:
            row = self._rows.get(ref)
            return (row.identity, row.generation) if row is not None and row.present else None

    def settle(self, ref: ObjectRef, generation: int, identity: str) -> bool:
        with self._lock:
            row = self._rows.get(ref)
            if row is None or not row.present or row.generation != generation:
                return False
            row.identity = identity
            return True
