"""The marker that tells a bucket's folder from an empty or foreign one (RULES 5): without it nothing is listed, and so
nothing is taken for deleted because a disk is not mounted.
"""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from common.domain.errors import DataFolderError, Unavailable

MARKER: Final = ".fichario-bucket"
HIDDEN_PREFIX: Final = ".fichario"
"""Names that begin so are ours, in every folder, and never objects."""

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LONGEST_ID: Final = 256


@dataclass(frozen=True, slots=True)
class Bucket:
    """A folder that has proved to be the bucket: its real path and the id in its marker."""

    root: Path
    id: str

    @contextlib.contextmanager
    def top(self) -> Iterator[int]:
        """A descriptor of the root, after its marker has been read. Raises Unavailable when it is not this bucket."""
        try:
            descriptor = os.open(self.root, _DIRECTORY)
        except OSError as error:
            raise Unavailable(f"The bucket folder {self.root} cannot be opened ({error.strerror}).") from error
        try:
            found = _marker(descriptor)
            if found != self.id:
                raise Unavailable(
                    f"The folder {self.root} is not the bucket this catalog knows: its {MARKER} is "
                    f"{'missing' if found is None else 'another one'}. Mount or restore the right folder."
                )
            yield descriptor
        finally:
            os.close(descriptor)


def open_bucket(root: Path, expected_id: str | None) -> Bucket:
    """The bucket in folder `root`.

    `expected_id` is the id the catalog remembers. None says that the catalog is new: only then the folder and its
    marker are made where missing, and an existing marker is taken over; the caller remembers the id. Raises
    DataFolderError, saying what to do, when the folder or the marker is missing or is another bucket's.
    """
    root = Path(os.path.realpath(root))
    try:
        if expected_id is None:
            root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(root, _DIRECTORY)
    except OSError as error:
        raise DataFolderError(
            f"The bucket folder {root} cannot be opened ({error.strerror}). Mount or restore it, or name another one "
            "with --bucket."
        ) from error
    try:
        found = _marker(descriptor)
        if found is None and expected_id is None:
            found = _mark(descriptor)
    except OSError as error:
        raise DataFolderError(f"The bucket folder {root} cannot be used ({error.strerror}).") from error
    finally:
        os.close(descriptor)
    if found is None:
        raise DataFolderError(
            f"The bucket folder {root} has no {MARKER} file: it may not be mounted, or have been replaced, and would "
            f"read as if everything had been deleted. Restore it; if it is the right folder, write {expected_id} into "
            f"{root / MARKER}."
        )
    if expected_id not in {None, found}:
        raise DataFolderError(
            f"The folder {root} is the bucket {found}, but this data folder's catalog belongs to the bucket "
            f"{expected_id}. Name the right folder with --bucket, or another data folder with --data."
        )
    return Bucket(root, found)


def _marker(top: int) -> str | None:
    try:
        descriptor = os.open(MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=top)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise Unavailable(f"The bucket's {MARKER} cannot be read ({error.strerror}).") from error
    try:
        content = os.read(descriptor, _LONGEST_ID)
    finally:
        os.close(descriptor)
    return content.decode("ascii", "replace").strip()


def _mark(top: int) -> str:
    """Write a new marker, whole or not at all."""
    fresh = secrets.token_hex(16)
    draft = f"{MARKER}-{fresh}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=top)
    try:
        os.write(descriptor, f"{fresh}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(draft, MARKER, src_dir_fd=top, dst_dir_fd=top)
    os.fsync(top)
    return fresh
