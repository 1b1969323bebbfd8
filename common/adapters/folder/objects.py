"""The ObjectStore port over a folder: `<root>/<base>/<name>` is an object. Each call asks the file system anew."""

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from common.adapters.folder import drafts, tree
from common.adapters.folder.bucket import Bucket
from common.adapters.folder.versions import FolderGenerations, Versions, times_of
from common.domain.errors import ObjectGone, Refused, Superseded
from common.domain.limits import too_large
from common.domain.objects import ObjectChange, ObjectRef, ObjectStat
from common.ports import Clock

_PIECE: Final = 1 << 20


class FolderObjectStore:
    """ObjectStore on one machine's disk.

    `notify` gets the finalize and delete events; give `atomically` the transaction of the database that holds
    generations and queue, so that numbering a version and announcing it cannot be torn apart.
    """

    def __init__(
        self,
        bucket: Bucket,
        generations: FolderGenerations,
        notify: Callable[[ObjectChange], None],
        clock: Clock,
        *,
        atomically: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.bucket = bucket
        self.versions = Versions(bucket, generations, notify, clock, atomically)
        # Another program may always come between; among our own threads the number follows the file it is for.
        self._changing = threading.Lock()

    def stat(self, ref: ObjectRef) -> ObjectStat | None:
        with tree.translated(f"The file {ref.key} cannot be looked at"), tree.opened(self.bucket, ref) as descriptor:
            if descriptor is None:
                return None
            generation, status = self.versions.number(ref, descriptor)
        return ObjectStat(ref, generation, status.st_size, updated_at=status.st_mtime)

    def read(self, ref: ObjectRef, generation: int, limit: int) -> bytes:
        with tree.translated(f"The file {ref.key} cannot be read"), tree.opened(self.bucket, ref) as descriptor:
            if descriptor is None:
                raise ObjectGone(f"The file {ref.key} is gone.")
            number, status = self.versions.number(ref, descriptor)
            if number != generation:
                raise Superseded(f"{ref.key} is at generation {number}, not {generation}.")
            if 0 < limit < status.st_size:
                raise too_large(status.st_size, limit)
            data = _content(descriptor, status.st_size)
            if times_of(os.fstat(descriptor)) != times_of(status) or not self._holds(ref, generation, data):
                raise Superseded(f"{ref.key} changed while it was being read.")
        return data

    def write(self, ref: ObjectRef, data: bytes, content_type: str = "") -> ObjectStat:
        problem = tree.path_problem(ref)
        if problem:
            raise Refused(400, "BAD_SOURCE", problem, "source")
        with (
            tree.translated(f"The file {ref.key} cannot be written"),
            drafts.drafted(self.bucket, data) as draft,
            self._changing,
            tree.parent_of(self.bucket, ref, create=True) as place,
        ):
            if place is None:
                raise _occupied(ref)
            try:
                os.rename(draft.name, place[1], src_dir_fd=draft.folder, dst_dir_fd=place[0])
            except IsADirectoryError as error:
                raise _occupied(ref) from error
            os.fsync(place[0])
            # After the rename, which changes ctime.
            status = os.fstat(draft.descriptor)
            change = self.versions.announce(ref, f"{times_of(status)}#{_hash(data)}", status.st_size)
        return ObjectStat(ref, change.generation, len(data), content_type, status.st_mtime)

    def delete(self, ref: ObjectRef, generation: int) -> bool:
        with (
            tree.translated(f"The file {ref.key} cannot be removed"),
            self._changing,
            tree.parent_of(self.bucket, ref) as place,
        ):
            descriptor = None if place is None else tree.open_regular(*place)
            if place is not None and descriptor is not None:
                try:
                    number, status = self.versions.number(ref, descriptor)
                finally:
                    os.close(descriptor)
                if number != generation:
                    raise Superseded(f"{ref.key} is at generation {number}, not {generation}.")
                drafts.withdraw(self.bucket, *place, status)
                tree.prune(self.bucket, ref)
            # One that another program removed is told of too: nobody else may have noticed.
            self.versions.gone(ref, generation)
        return descriptor is not None

    def list(self, base: str) -> Iterator[ObjectStat]:
        return iter(self.versions.survey(base).stats)

    def bases(self) -> Sequence[str]:
        folders, _ = tree.folders_at(self.bucket)
        return [base for base in folders if tree.walk(self.bucket, base).files]

    def _holds(self, ref: ObjectRef, generation: int, data: bytes) -> bool:
        """Whether this is the content of that generation, as far as its identity speaks of content."""
        known = self.versions.generations.current(ref)
        if known is None or known[1] != generation:
            return False
        _, _, content = known[0].partition("#")
        return content in {"", _hash(data)}


def _content(descriptor: int, size: int) -> bytes:
    """The file up to one byte past `size`, which tells that it grew."""
    pieces = []
    offset = 0
    while offset <= size and (piece := os.pread(descriptor, min(_PIECE, size + 1 - offset), offset)):
        pieces.append(piece)
        offset += len(piece)
    return b"".join(pieces)


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _occupied(ref: ObjectRef) -> Refused:
    return Refused(
        409,
        "SOURCE_CONFLICT",
        f"{ref.name} cannot be stored here: a folder, or a file or link in place of one of its folders, has that name.",
        "source",
    )
