"""The folders of Edge collections: `<root>/<collection>/` holds `collection.json` and `shard/`, appears whole by one
rename and disappears by another. Knows nothing of the engine.
"""

import json
import os
import shutil
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from common.domain.errors import DataFolderError

_META: Final = "collection.json"
_NEW: Final = ".new-"
_DROPPED: Final = ".dropped-"


@dataclass(frozen=True, slots=True)
class Meta:
    """What a collection was created for."""

    base: str
    dimension: int


def open_root(root: Path) -> dict[str, Meta]:
    """The collections under `root` by name, after removing what a crash left half made or half removed."""
    root.mkdir(parents=True, exist_ok=True)
    found = {}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        if folder.name.startswith((_NEW, _DROPPED)):
            shutil.rmtree(folder)
        elif not folder.name.startswith("."):
            found[folder.name] = _read(folder)
    return found


def shard_folder(root: Path, collection: str) -> Path:
    return root / collection / "shard"


def make(root: Path, collection: str, meta: Meta, build: Callable[[Path], None]) -> None:
    """Let `build` fill the shard's folder, then make the whole collection appear durably at once."""
    new = root / f"{_NEW}{uuid.uuid4().hex}"
    new.mkdir()
    try:
        build(new / "shard")
        (new / _META).write_text(json.dumps(asdict(meta)), encoding="utf-8")
        _sync_tree(new)
        new.rename(root / collection)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    _sync(root)


def remove(root: Path, collection: str) -> None:
    """Make the collection disappear durably at once, then free its space."""
    dropped = root / f"{_DROPPED}{uuid.uuid4().hex}"
    (root / collection).rename(dropped)
    _sync(root)
    shutil.rmtree(dropped)


def damaged(folder: Path, reason: str) -> DataFolderError:
    """What to raise for a collection that cannot be opened; it is never made anew in silence."""
    return DataFolderError(
        f"The index folder {folder} cannot be opened: {reason}. Stop every other process that uses this data folder. "
        "If none does, the folder is damaged: restore the data folder from a backup, or move this one folder away and "
        "run `fichario reconcile --repair` for its base, which indexes the base's files again."
    )


def _read(folder: Path) -> Meta:
    try:
        stored = json.loads((folder / _META).read_text(encoding="utf-8"))
        return Meta(base=str(stored["base"]), dimension=int(stored["dimension"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged(folder, f"{_META} is missing or unreadable ({error})") from error


def _sync_tree(folder: Path) -> None:
    for parent, _, files in os.walk(folder):
        for name in files:
            _sync(Path(parent, name))
        _sync(Path(parent))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
