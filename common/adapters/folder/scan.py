"""Finding out what changed in a bucket's folder. Events of a file watcher are hints; a scan is the proof."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from common.adapters.folder import drafts, tree
from common.adapters.folder.objects import FolderObjectStore
from common.domain.objects import ObjectChange, ObjectRef, is_base_id

MASS: Final = 20
"""A base of more objects than this keeps them when more than half seem gone (RULES 5)."""

_MANY_PATHS: Final = 100


@dataclass(frozen=True, slots=True)
class ScanReport:
    """What was seen and announced.

    `found` objects, the versions `changed` and `removed`, root entries that are no base (`foreign`), files that can be
    no object as `<base>/<name>` (`unnameable`, escaped; `links_and_devices`), and per base how many removals were
    `held_back`.
    """

    found: int = 0
    changed: Sequence[ObjectChange] = ()
    removed: Sequence[ObjectChange] = ()
    foreign: Sequence[str] = ()
    unnameable: Sequence[str] = ()
    links_and_devices: Sequence[str] = ()
    held_back: Mapping[str, int] = field(default_factory=dict)


class FolderScan:
    """Brings the generations, and whoever listens to the store's events, up to what lies on the disk.

    Each difference is announced once: a second scan finds nothing. Raises Unavailable when the root is missing, is not
    this bucket or a base cannot be read whole; then nothing of that base is announced as removed. Files are taken as
    they are: a watcher waits for `settled` first, or a file half copied makes one version more.
    """

    def __init__(self, store: FolderObjectStore) -> None:
        self._bucket = store.bucket
        self._versions = store.versions

    def scan(self, base: str | None = None, *, allow_mass_removal: bool = False) -> ScanReport:
        """Look at one base, or at every base that is on the disk or was known."""
        folders, foreign = tree.folders_at(self._bucket)
        bases: Collection[str] = [base] if base is not None else []
        if base is None:
            drafts.discard_abandoned(self._bucket, self._versions.clock.now())
            bases = {*folders, *(ref.base for ref in self._versions.generations.known())}
        reports = [self._scan_base(name, allow_mass_removal=allow_mass_removal) for name in sorted(bases)]
        return _joined([*reports, ScanReport(foreign=foreign)])

    def rescan_paths(self, paths: Iterable[str | Path], *, allow_mass_removal: bool = False) -> ScanReport:
        """Look at the objects of these absolute paths alone; at the whole base where a path is or was a folder, or
        where they are many. Paths outside the bucket, at its root or hidden are passed over.
        """
        named: dict[str, set[str]] = {}
        for path in paths:
            base, _, name = self._key(path).partition("/")
            if is_base_id(base):
                named.setdefault(base, set()).add(name)
        return _joined(
            [self._look_at(base, names, allow_mass_removal=allow_mass_removal) for base, names in sorted(named.items())]
        )

    def settled(self, path: str | Path, seconds: float) -> bool:
        """Whether nobody has touched the file for that long; True too when it is gone."""
        try:
            status = os.lstat(path)
        except OSError:
            return True
        return self._versions.clock.now() - max(status.st_mtime, status.st_ctime) >= seconds

    def _scan_base(self, base: str, *, allow_mass_removal: bool) -> ScanReport:
        survey = self._versions.survey(base)
        removed, held_back = self._remove(base, survey.missing, survey.known, allow=allow_mass_removal)
        return ScanReport(
            found=len(survey.stats),
            changed=survey.changes,
            removed=removed,
            unnameable=[f"{base}/{name}" for name in sorted(survey.walk.unnameable)],
            links_and_devices=[f"{base}/{name}" for name in sorted(survey.walk.links_and_devices)],
            held_back=held_back,
        )

    def _look_at(self, base: str, names: Collection[str], *, allow_mass_removal: bool) -> ScanReport:
        known = self._versions.generations.known(base)
        folders = {name[:end] for name in (ref.name for ref in known) for end in _slashes(name)} | {""}
        if len(names) > _MANY_PATHS or not folders.isdisjoint(names):
            return self._scan_base(base, allow_mass_removal=allow_mass_removal)
        found = 0
        changed: list[ObjectChange] = []
        missing: list[tuple[ObjectRef, int]] = []
        for ref in sorted(ObjectRef(base, name) for name in names):
            before = known[ref][1] if ref in known else None
            with tree.translated(f"The file {ref.key} cannot be looked at"), tree.opened(self._bucket, ref) as file:
                if file is None and tree.is_folder(self._bucket, ref):
                    return self._scan_base(base, allow_mass_removal=allow_mass_removal)
                if file is None:
                    missing += [(ref, before)] if before is not None else []
                    continue
                generation, status = self._versions.number(ref, file)
            found += 1
            changed += [ObjectChange("finalize", ref, generation, status.st_size)] if generation != before else []
        removed, held_back = self._remove(base, missing, len(known), allow=allow_mass_removal)
        return ScanReport(found=found, changed=changed, removed=removed, held_back=held_back)

    def _remove(
        self, base: str, missing: Sequence[tuple[ObjectRef, int]], known: int, *, allow: bool
    ) -> tuple[Sequence[ObjectChange], Mapping[str, int]]:
        # A folder read while files are renamed in it may skip one of them, so each is asked for by name.
        gone = [(ref, generation) for ref, generation in missing if not self._exists(ref)]
        if known > MASS and 2 * len(gone) > known and not allow:
            return [], {base: len(gone)}
        return self._versions.all_gone(gone), {}

    def _exists(self, ref: ObjectRef) -> bool:
        with tree.translated(f"The file {ref.key} cannot be looked at"), tree.opened(self._bucket, ref) as descriptor:
            return descriptor is not None

    def _key(self, path: str | Path) -> str:
        """The path from the root on; one outside leads over `..`, which is no base. Only the folders above the file are
        resolved: were it a link itself, it would be no object.
        """
        return os.path.relpath(Path(path).parent.resolve() / Path(path).name, self._bucket.root)


def _slashes(name: str) -> list[int]:
    return [position for position, character in enumerate(name) if character == "/"]


def _joined(reports: Sequence[ScanReport]) -> ScanReport:
    return ScanReport(
        found=sum(report.found for report in reports),
        changed=[change for report in reports for change in report.changed],
        removed=[change for report in reports for change in report.removed],
        foreign=[name for report in reports for name in report.foreign],
        unnameable=[name for report in reports for name in report.unnameable],
        links_and_devices=[name for report in reports for name in report.links_and_devices],
        held_back={base: number for report in reports for base, number in report.held_back.items()},
    )
