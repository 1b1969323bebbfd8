"""Which generation a file of the bucket is (RULES 2). Whoever meets a version first numbers and announces it here, in
one transaction, so that no version is numbered and then forgotten.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from common.adapters.folder import tree
from common.adapters.folder.bucket import Bucket
from common.domain.errors import ObjectGone
from common.domain.objects import ObjectChange, ObjectRef, ObjectStat
from common.ports import Clock, Generations

T = TypeVar("T")

YOUNG_SECONDS: Final = 2.0
"""Below this age a later write may carry the same times (ticks are 3.5 ms to 2 s), so the content decides."""

_BATCH: Final = 500
_PIECE: Final = 1 << 20


class FolderGenerations(Generations, Protocol):
    """Generations with what a folder needs besides: one object's entry, and an identity spelt anew."""

    def current(self, ref: ObjectRef) -> tuple[str, int] | None:
        """Identity and generation of one object believed present, or None."""

    def settle(self, ref: ObjectRef, generation: int, identity: str) -> bool:
        """Spell the identity of this same generation anew; False when it is no longer the current one."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a file is: the `identity` to keep, and whether that is the version known before (`same`)."""

    identity: str
    same: bool


def times_of(status: os.stat_result) -> str:
    return f"{status.st_ino}:{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"


def content_of(descriptor: int) -> str:
    """A hash of the whole file, from its beginning."""
    running = hashlib.blake2b(digest_size=16)
    offset = 0
    while piece := os.pread(descriptor, _PIECE, offset):
        running.update(piece)
        offset += len(piece)
    return running.hexdigest()


def recognise(known: str | None, status: os.stat_result, now: float, content: Callable[[], str]) -> Recognised:
    """Compare a file with what is known of it. `now` was read before `status`.

    An identity is `times` or, when it was taken young, `times#content`. One without content was taken when no later
    write could repeat its times, so equal times suffice. One with content is compared by content until it is seen at an
    age where times suffice; then it is spelt without, and is the same version still. Age counts from ctime, which no
    program can set back.
    """
    times = times_of(status)
    young = now - status.st_ctime_ns / 1e9 < YOUNG_SECONDS
    known_times, _, known_content = (known or "").partition("#")
    if known_times == times and not known_content:
        return Recognised(times, same=True)
    if not young and known_times != times:
        return Recognised(times, same=False)
    actual = content()
    return Recognised(f"{times}#{actual}" if young else times, same=known_times == times and actual == known_content)


@dataclass(frozen=True, slots=True)
class Survey:
    """One look at a base: its objects by name, the versions met for the first time, and the known ones not found."""

    stats: list[ObjectStat]
    changes: list[ObjectChange]
    missing: list[tuple[ObjectRef, int]]
    known: int
    walk: tree.Walk


class Versions:
    """Numbers and announces the versions of one bucket.

    `atomically` opens a transaction that `generations` and `notify` both join; `notify` must do nothing but record.
    """

    def __init__(
        self,
        bucket: Bucket,
        generations: FolderGenerations,
        notify: Callable[[ObjectChange], None],
        clock: Clock,
        atomically: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.bucket = bucket
        self.generations = generations
        self.clock = clock
        self._notify = notify
        self._atomically = atomically

    def number(self, ref: ObjectRef, descriptor: int) -> tuple[int, os.stat_result]:
        """The generation of the open file, and the status it was recognised by."""
        now = self.clock.now()
        status = os.fstat(descriptor)
        known = self.generations.current(ref)
        seen = recognise(known[0] if known else None, status, now, lambda: content_of(descriptor))
        return self._keep(ref, seen, known, status.st_size)[0], status

    def announce(self, ref: ObjectRef, identity: str, size: int) -> ObjectChange:
        """Number a version met for the first time and tell of it."""
        with self._atomically():
            change = ObjectChange("finalize", ref, self.generations.assign(ref, identity), size)
            self._notify(change)
        return change

    def gone(self, ref: ObjectRef, generation: int) -> ObjectChange | None:
        """Record that this generation's file is no more and tell of it; None when that is not news."""
        with self._atomically():
            known = self.generations.current(ref)
            if known is None or known[1] != generation or not self.generations.absent(ref, generation):
                return None
            change = ObjectChange("delete", ref, generation)
            self._notify(change)
        return change

    def all_gone(self, versions: Sequence[tuple[ObjectRef, int]]) -> list[ObjectChange]:
        """The same for many."""
        changes: list[ObjectChange] = []
        for batch in _batches(versions):
            with self._atomically():
                changes += [change for ref, number in batch if (change := self.gone(ref, number))]
        return changes

    def survey(self, base: str) -> Survey:
        """Look at every file of the base, numbering and announcing what is new."""
        now = self.clock.now()
        known = self.generations.known(base)
        seen = tree.walk(self.bucket, base)
        stats: list[ObjectStat] = []
        changes: list[ObjectChange] = []
        for batch in _batches(sorted(seen.files.items())):
            looks = [
                (ObjectRef(base, name), status, self._look(ObjectRef(base, name), status, known, now))
                for name, status in batch
            ]
            with self._atomically():
                for ref, status, look in looks:
                    if look is not None:
                        number, change = self._keep(ref, look, known.get(ref), status.st_size)
                        stats.append(ObjectStat(ref, number, status.st_size, updated_at=status.st_mtime))
                        changes += [change] if change else []
        missing = [(ref, number) for ref, (_, number) in known.items() if ref.name not in seen.files]
        return Survey(stats, changes, missing, len(known), seen)

    def _look(
        self, ref: ObjectRef, status: os.stat_result, known: Mapping[ObjectRef, tuple[str, int]], now: float
    ) -> Recognised | None:
        """What the walked file is; None when it vanished before its content, where that is needed, could be read."""
        entry = known.get(ref)
        try:
            return recognise(entry[0] if entry else None, status, now, lambda: self._content(ref))
        except ObjectGone:
            return None

    def _content(self, ref: ObjectRef) -> str:
        with tree.translated(f"The file {ref.key} cannot be read"), tree.opened(self.bucket, ref) as descriptor:
            if descriptor is None:
                raise ObjectGone(f"The file {ref.key} is gone.")
            return content_of(descriptor)

    def _keep(
        self, ref: ObjectRef, seen: Recognised, known: tuple[str, int] | None, size: int
    ) -> tuple[int, ObjectChange | None]:
        if known is None or not seen.same:
            change = self.announce(ref, seen.identity, size)
            return change.generation, change
        if seen.identity != known[0]:
            self.generations.settle(ref, known[1], seen.identity)
        return known[1], None


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))
