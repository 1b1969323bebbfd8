"""The ObjectStore port in memory, as a bucket that numbers its own versions: with preconditions on the generation, with
or without versioning, and failing when told to.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from common.domain.errors import ObjectGone, Superseded
from common.domain.limits import too_large
from common.domain.objects import ChangeKind, ObjectChange, ObjectRef, ObjectStat, check_base, check_source
from common.ports import Clock


@dataclass(frozen=True, slots=True)
class _Version:
    stat: ObjectStat
    data: bytes


class MemoryObjectStore:
    """ObjectStore in a dict.

    An overwrite announces the new version's finalize and, for the old one, a delete, or an archive when `versioned`;
    both name what overwrote it. `broken` makes every call raise it; `during_read` is called once while a read is under
    way, with its object, to change it then.
    """

    def __init__(
        self,
        notify: Callable[[ObjectChange], None],
        clock: Clock,
        *,
        versioned: bool = False,
        first_generation: int = 1,
    ) -> None:
        self.broken: Exception | None = None
        self.during_read: Callable[[ObjectRef], None] | None = None
        self._notify = notify
        self._clock = clock
        self._removal: ChangeKind = "archive" if versioned else "delete"
        self._next = first_generation
        self._lock = threading.Lock()
        self._current: dict[ObjectRef, _Version] = {}

    def stat(self, ref: ObjectRef) -> ObjectStat | None:
        self._check()
        version = self._current.get(ref)
        return None if version is None else version.stat

    def read(self, ref: ObjectRef, generation: int, limit: int) -> bytes:
        version = self._expect(ref, generation)
        if 0 < limit < version.stat.size:
            raise too_large(version.stat.size, limit)
        if (change := self.during_read) is not None:
            self.during_read = None
            change(ref)
        return self._expect(ref, generation).data

    def write(self, ref: ObjectRef, data: bytes, content_type: str = "") -> ObjectStat:
        check_base(ref.base)
        check_source(ref.name)
        self._check()
        with self._lock:
            old = self._current.get(ref)
            stat = ObjectStat(ref, self._next, len(data), content_type, self._clock.now())
            self._next += 1
            self._current[ref] = _Version(stat, data)
        self._notify(ObjectChange("finalize", ref, stat.generation, stat.size))
        if old is not None:
            self._notify(
                ObjectChange(self._removal, ref, old.stat.generation, old.stat.size, overwritten_by=stat.generation)
            )
        return stat

    def delete(self, ref: ObjectRef, generation: int) -> bool:
        self._check()
        with self._lock:
            version = self._current.get(ref)
            if version is None:
                return False
            _compare(version, generation)
            del self._current[ref]
        self._notify(ObjectChange(self._removal, ref, generation, version.stat.size))
        return True

    def list(self, base: str) -> Iterator[ObjectStat]:
        self._check()
        with self._lock:
            stats = [version.stat for ref, version in self._current.items() if ref.base == base]
        return iter(sorted(stats, key=lambda stat: stat.ref))

    def bases(self) -> Sequence[str]:
        self._check()
        with self._lock:
            return sorted({ref.base for ref in self._current})

    def _check(self) -> None:
        if self.broken is not None:
            raise self.broken

    def _expect(self, ref: ObjectRef, generation: int) -> _Version:
        self._check()
        version = self._current.get(ref)
        if version is None:
            raise ObjectGone(f"{ref.key} is gone.")
        _compare(version, generation)
        return version


def _compare(version: _Version, generation: int) -> None:
    if version.stat.generation != generation:
        raise Superseded(f"{version.stat.ref.key} is at generation {version.stat.generation}, not {generation}.")
