"""Files below the bucket's root, reached one path component at a time by descriptor, so that neither a link nor a
folder swapped for a link in between leads out of it. It knows no generations.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from common.adapters.folder.bucket import HIDDEN_PREFIX, Bucket
from common.domain.errors import Unavailable
from common.domain.objects import ObjectRef, is_base_id, source_problem

LONGEST_PART: Final = 255
"""Bytes of one component, on every common file system."""

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking: a pipe that takes a file's place between two system calls must not stop the reader.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# What the system says where a component is missing, no folder, a link, a socket or too long to exist.
_NOT_THERE: Final = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG}


@dataclass(slots=True)
class Walk:
    """Everything below one base: regular files by name, and what is there but can be no object."""

    files: dict[str, os.stat_result] = field(default_factory=dict)
    links_and_devices: list[str] = field(default_factory=list)
    unnameable: list[str] = field(default_factory=list)
    """Names that are not UTF-8, hold control characters or are too long, escaped for reading."""


def path_problem(ref: ObjectRef) -> str | None:
    """Why this object can have no file in the bucket, or None."""
    if not is_base_id(ref.base):
        return "The base is no base id."
    if any(part.startswith(HIDDEN_PREFIX) for part in ref.name.split("/")):
        return f"Names that begin with {HIDDEN_PREFIX} are reserved."
    problem = source_problem(ref.name)
    if problem is None and any(len(part.encode()) > LONGEST_PART for part in ref.name.split("/")):
        return f"Each part of a source has at most {LONGEST_PART} bytes."
    return problem


def open_folder(top: int, parts: list[str], *, create: bool = False) -> int | None:
    """A descriptor of the folder below `top`, or None when it is not there or not a plain folder."""
    current = os.dup(top)
    for part in parts:
        try:
            following = _step(current, part, create=create)
        except OSError as error:
            if error.errno in _NOT_THERE:
                return None
            raise
        finally:
            os.close(current)
        current = following
    return current


def _step(folder: int, part: str, *, create: bool) -> int:
    try:
        return os.open(part, _DIRECTORY, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(part, dir_fd=folder)
        os.fsync(folder)
    return os.open(part, _DIRECTORY, dir_fd=folder)


@contextlib.contextmanager
def parent_of(bucket: Bucket, ref: ObjectRef, *, create: bool = False) -> Iterator[tuple[int, str] | None]:
    """The descriptor of the folder that holds the object and its name therein; None when there is no such folder."""
    *folders, last = ref.key.split("/")
    with bucket.top() as top:
        folder = None if path_problem(ref) else open_folder(top, folders, create=create)
        if folder is None:
            yield None
            return
        try:
            yield folder, last
        finally:
            os.close(folder)


@contextlib.contextmanager
def opened(bucket: Bucket, ref: ObjectRef) -> Iterator[int | None]:
    """A descriptor of the object's regular file for reading, or None when there is none."""
    with parent_of(bucket, ref) as place:
        descriptor = None if place is None else open_regular(*place)
        if descriptor is None:
            yield None
            return
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def open_regular(folder: int, name: str) -> int | None:
    """A descriptor of the regular file `name`, or None. A device is not even opened."""
    try:
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            return None
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return None
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def is_folder(bucket: Bucket, ref: ObjectRef) -> bool:
    with bucket.top() as top:
        descriptor = None if path_problem(ref) else open_folder(top, ref.key.split("/"))
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


def prune(bucket: Bucket, ref: ObjectRef) -> None:
    """Remove the folders the object leaves empty, the base's own excepted."""
    base, *folders, _ = ref.key.split("/")
    with bucket.top() as top:
        while folders:
            parent = open_folder(top, [base, *folders[:-1]])
            if parent is None:
                return
            try:
                os.rmdir(folders.pop(), dir_fd=parent)
            except OSError as error:
                if error.errno in {errno.ENOTEMPTY, errno.EEXIST, *_NOT_THERE}:
                    return
                raise
            finally:
                os.close(parent)


def walk(bucket: Bucket, base: str) -> Walk:
    """All files of one base. Raises Unavailable when any folder cannot be read: half a listing is none (RULES 5)."""
    found = Walk()
    waiting = [""] if is_base_id(base) else []
    with translated(f"The base {base} cannot be listed"), bucket.top() as top:
        while waiting:
            path = waiting.pop()
            # From the root each time: descriptors held along a path would let one deep folder exhaust them.
            folder = open_folder(top, [base, *path.split("/")[:-1]])
            if folder is not None:
                try:
                    waiting += _look_into(folder, path, found)
                finally:
                    os.close(folder)
    return found


def _look_into(folder: int, path: str, found: Walk) -> list[str]:
    """Note the files of one folder, whose `path` is '' or ends in a slash; answers the paths of the folders in it."""
    folders = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(HIDDEN_PREFIX):
                continue
            name = path + entry.name
            if source_problem(name):
                found.unnameable.append(os.fsencode(name).decode("utf-8", "backslashreplace"))
            elif entry.is_dir(follow_symlinks=False):
                folders.append(f"{name}/")
            else:
                _record(entry, name, found)
    return folders


def _record(entry: os.DirEntry[str], name: str, found: Walk) -> None:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISREG(status.st_mode):
        found.files[name] = status
    else:
        found.links_and_devices.append(name)


def folders_at(bucket: Bucket) -> tuple[list[str], list[str]]:
    """The base ids that are folders at the root, and every other name there, both sorted; ours are left out."""
    bases: list[str] = []
    foreign: list[str] = []
    with translated("The bucket cannot be listed"), bucket.top() as top, os.scandir(top) as entries:
        for entry in entries:
            if entry.name.startswith(HIDDEN_PREFIX):
                continue
            if is_base_id(entry.name) and entry.is_dir(follow_symlinks=False):
                bases.append(entry.name)
            else:
                foreign.append(os.fsencode(entry.name).decode("utf-8", "backslashreplace"))
    return sorted(bases), sorted(foreign)


@contextlib.contextmanager
def translated(what: str) -> Iterator[None]:
    """Failures of the file system become Unavailable."""
    try:
        yield
    except OSError as error:
        raise Unavailable(f"{what} ({error.strerror or error}).") from error
