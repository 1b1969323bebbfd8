"""The files of a folder that belong into a corpus, in the order of their paths. Symbolic links are never followed."""

import os
from collections.abc import Iterator
from pathlib import Path

from common.cli.flatten.plan import Decode, FlattenFailed, Item, Kind, Tally
from common.cli.flatten.select import (
    BINARY,
    LINK,
    NOISE,
    folder_reason,
    holds_noise,
    is_binary,
    name_reason,
    stable_id,
    text_reason,
)
from common.domain.errors import DocumentError


def walk(
    root: Path, kind: Kind, tally: Tally, decode: Decode, leave_out: frozenset[Path] = frozenset()
) -> Iterator[Item]:
    """Every file that is taken; the others are counted by reason. Raises FlattenFailed for a root that is no folder."""
    if not root.is_dir():
        raise FlattenFailed(f"{root} is not a folder.")
    for path, source, size in _files(root, tally, leave_out):
        reason = name_reason(source, size, kind)
        if reason is None:
            text, reason = _read(path, source, kind, decode)
        if reason:
            tally.skip(reason)
        else:
            yield Item(source, text, stable_id(source))


def _files(root: Path, tally: Tally, leave_out: frozenset[Path]) -> Iterator[tuple[Path, str, int]]:
    """Path, path below the root and size of every file outside the folders that are not entered."""
    waiting = [(root, "")]
    while waiting:
        folder, prefix = waiting.pop()
        folders = []
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            tally.skip(f"unreadable ({error.strerror})")
            continue
        if prefix and holds_noise([entry.name for entry in entries]):
            tally.skip(NOISE)
            continue
        for entry in entries:
            if entry.is_symlink():
                tally.skip(LINK)
            elif entry.is_dir(follow_symlinks=False):
                reason = folder_reason(entry.name)
                if reason:
                    tally.skip(reason)
                else:
                    folders.append((Path(entry.path), f"{prefix}{entry.name}/"))
            elif not entry.is_file(follow_symlinks=False):
                tally.skip("no regular file")
            elif Path(entry.path).resolve() not in leave_out:
                yield Path(entry.path), f"{prefix}{entry.name}", entry.stat(follow_symlinks=False).st_size
        waiting += reversed(folders)


def _read(path: Path, source: str, kind: Kind, decode: Decode) -> tuple[str, str | None]:
    try:
        data = path.read_bytes()
    except OSError as error:
        return "", f"unreadable ({error.strerror})"
    if is_binary(data):
        return "", BINARY
    try:
        text = decode(data)
    except DocumentError as error:
        return "", "unknown encoding" if error.code == "BAD_ENCODING" else BINARY
    return text, text_reason(source, text, kind)
