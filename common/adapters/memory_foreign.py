"""Foreign collections in memory: of the index of tests. Nothing outlives the process."""

from collections.abc import Iterator, Sequence

from common.domain.errors import Unavailable
from common.domain.foreign import Foreign, ForeignPoint, PointKey

_KEPT = " before"


class MemoryForeign:
    """ForeignCollections (see the port) whose alias is the base's entry in `aliases`, shared with the index."""

    def __init__(self, aliases: dict[str, str]) -> None:
        self._aliases = aliases
        self._collections: dict[str, list[ForeignPoint]] = {}

    def put(self, base: str, points: Sequence[ForeignPoint]) -> None:
        """What another program would have written under the name of the base's alias."""
        self._collections[base] = list(points)

    def bases(self) -> Sequence[str]:
        return sorted(base for base in {*self._collections, *self._aliases} if self._found(base) is not None)

    def of(self, base: str) -> Foreign | None:
        name = self._found(base)
        return None if name is None else Foreign(name, len(self._collections[name]), 0)

    def points(self, base: str) -> Iterator[ForeignPoint]:
        return iter(list(self._standing(base)))

    def read(self, base: str, ids: Sequence[PointKey]) -> Sequence[ForeignPoint]:
        found = {point.id: point for point in self._standing(base)}
        return [found[key] for key in ids if key in found]

    def keep(self, base: str) -> None:
        if base in self._collections:
            self._collections[base + _KEPT] = list(self._collections[base])

    def replace(self, base: str, collection: str) -> None:
        self.keep(base)
        self._collections.pop(base, None)
        self._aliases[base] = collection

    def restore(self, base: str, name: str) -> None:
        wanted = base + _KEPT if name == base else name
        if base not in self._collections and wanted in self._collections:
            self._aliases[base] = wanted

    def release(self, base: str) -> None:
        if self._aliases.get(base) != base + _KEPT:
            self._collections.pop(base + _KEPT, None)

    def _found(self, base: str) -> str | None:
        named = self._aliases.get(base)
        return next((name for name in (base, named) if name is not None and name in self._collections), None)

    def _standing(self, base: str) -> list[ForeignPoint]:
        name = self._found(base)
        if name is None:
            raise Unavailable(f"there is no collection to adopt for base {base}")
        return self._collections[name]
