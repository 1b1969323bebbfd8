"""Files on their way into the bucket or out of it, kept in a hidden folder of the same file system so that one rename
makes them appear, or vanish, whole.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from common.adapters.folder import tree
from common.adapters.folder.bucket import Bucket
from common.domain.errors import Superseded, Unavailable

FOLDER: Final = ".fichario-tmp"
ABANDONED_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Draft:
    """A complete file that has no place in the bucket yet."""

    folder: int
    name: str
    descriptor: int


@contextlib.contextmanager
def folder_of(bucket: Bucket) -> Iterator[int]:
    with bucket.top() as top:
        descriptor = tree.open_folder(top, [FOLDER], create=True)
    if descriptor is None:
        raise Unavailable(f"{bucket.root / FOLDER} is not a folder. Move it away.")
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def drafted(bucket: Bucket, data: bytes) -> Iterator[Draft]:
    """A draft with this content, on the disk before it is handed out; removed unless it has been renamed."""
    with folder_of(bucket) as folder:
        name = secrets.token_hex(16)
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
            yield Draft(folder, name, descriptor)
        finally:
            os.close(descriptor)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)


def withdraw(bucket: Bucket, folder: int, name: str, expected: os.stat_result) -> None:
    """Remove the file `name` of `folder` if it is the `expected` one still; raises Superseded, leaving the other one in
    place, when another program has replaced it meanwhile.
    """
    with folder_of(bucket) as drafts:
        aside = secrets.token_hex(16)
        try:
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=drafts)
        except FileNotFoundError:
            return
        moved = os.stat(aside, dir_fd=drafts, follow_symlinks=False)
        if _origin(moved) != _origin(expected):
            # A link, unlike a rename, does not replace a file that has come there since.
            with contextlib.suppress(FileExistsError):
                os.link(aside, name, src_dir_fd=drafts, dst_dir_fd=folder, follow_symlinks=False)
        os.unlink(aside, dir_fd=drafts)
        os.fsync(folder)
    if _origin(moved) != _origin(expected):
        raise Superseded(f"{name} was replaced while it was being removed.")


def _origin(status: os.stat_result) -> tuple[int, int, int]:
    # Without ctime, which the rename itself has changed.
    return status.st_ino, status.st_size, status.st_mtime_ns


def discard_abandoned(bucket: Bucket, now: float) -> None:
    """Remove what a killed process left, known by an age that no write reaches."""
    with tree.translated("Drafts cannot be cleared"), folder_of(bucket) as folder, os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if now - status.st_ctime > ABANDONED_SECONDS and not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.name, dir_fd=folder)
