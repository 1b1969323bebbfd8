"""The Generations port over the one-machine database: one row per object, whose number never falls, even when the
object is gone.
"""

from collections.abc import Mapping

from common.adapters.sqlite.connection import Database
from common.domain.objects import ObjectRef

_ROW = "SELECT identity, generation, present FROM generations WHERE base = ? AND name = ?"
_KNOWN = "SELECT base, name, identity, generation FROM generations WHERE present"


class SqliteGenerations:
    """Generations in the one-machine database, with `current` and `settle` for the folder store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def assign(self, ref: ObjectRef, identity: str) -> int:
        # The common case, an unchanged object, needs no write lock.
        if (current := self.current(ref)) is not None and current[0] == identity:
            return current[1]
        with self._database.transaction() as connection:
            row = connection.execute(_ROW, (ref.base, ref.name)).fetchone()
            if row is not None and row[2] and row[0] == identity:
                return int(row[1])
            generation = int(row[1]) + 1 if row is not None else 1
            connection.execute(
                "INSERT OR REPLACE INTO generations (base, name, identity, generation, present) VALUES (?, ?, ?, ?, 1)",
                (ref.base, ref.name, identity, generation),
            )
        return generation

    def known(self, base: str | None = None) -> Mapping[ObjectRef, tuple[str, int]]:
        with self._database.read() as connection:
            if base is None:
                rows = connection.execute(_KNOWN).fetchall()
            else:
                rows = connection.execute(f"{_KNOWN} AND base = ?", (base,)).fetchall()
        return {ObjectRef(row[0], row[1]): (row[2], row[3]) for row in rows}

    def absent(self, ref: ObjectRef, generation: int) -> bool:
        with self._database.transaction() as connection:
            changed = connection.execute(
                "UPDATE generations SET present = 0 WHERE base = ? AND name = ? AND generation = ?",
                (ref.base, ref.name, generation),
            )
            return changed.rowcount == 1

    def current(self, ref: ObjectRef) -> tuple[str, int] | None:
        """Identity and generation of one object believed present, or None."""
        with self._database.read() as connection:
            row = connection.execute(_ROW, (ref.base, ref.name)).fetchone()
        return (row[0], row[1]) if row is not None and row[2] else None

    def settle(self, ref: ObjectRef, generation: int, identity: str) -> bool:
        """Spell the identity of this same generation anew; False when it is no longer the current one."""
        with self._database.transaction() as connection:
            changed = connection.execute(
                "UPDATE generations SET identity = ? WHERE base = ? AND name = ? AND generation = ? AND present",
                (identity, ref.base, ref.name, generation),
            )
            return changed.rowcount == 1
