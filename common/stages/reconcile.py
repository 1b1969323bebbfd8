"""Drift between the bucket, the catalog and the index of a base: what it is, and the events that mend it; of one base,
or of many in turn.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from common.domain.adoption import is_without_file
from common.domain.codes import FILE_FAULTS
from common.domain.errors import Refused
from common.domain.fencing import is_settled_past
from common.domain.objects import ChangeKind, ObjectChange, ObjectRef, ignored_name
from common.domain.records import BaseRecord, ObjectRecord
from common.domain.writeback import Told
from common.ports import Catalog, Clock, ObjectStore, VectorIndex
from common.stages.reopening import reopened

MASS: Final = 20
"""A base of more objects than this loses more than half of them only with a yes (RULES 5)."""
QUEUED_SECONDS: Final = 600.0
"""A job that waits longer than this lost its event."""
ROUND_SECONDS: Final = 90.0
"""How long a run over many bases begins another one: well under what a caller waits for an answer."""
_WITHOUT_FILE: Final = "its text was adopted and no file of it is in the bucket: upload one, or delete the document"
KINDS: Final = ("missing", "stale", "orphaned", "duplicated", "half_indexed", "stuck", "alias", "foreign")


@dataclass(slots=True)
class Drift:
    """What was found, by kind; every detail names an object and says what is wrong in a few words."""

    details: list[dict[str, Any]] = field(default_factory=list)

    def add(self, kind: str, name: str, why: str, **more: object) -> None:
        self.details.append({"kind": kind, "object": name, "why": why, **more})

    def names(self, *kinds: str) -> list[str]:
        return [detail["object"] for detail in self.details if detail["kind"] in kinds]

    def body(self) -> dict[str, Any]:
        """Counts by kind and the details."""
        counts = {kind: sum(detail["kind"] == kind for detail in self.details) for kind in KINDS}
        return {**counts, "details": self.details}


@dataclass(slots=True)
class Round:
    """A run over many bases: the counts of each by kind, what each that failed failed by, those that were left for the
    next run, and how much lies beside the bases or was adopted without a file.
    """

    counts: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, Exception] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    foreign: int = 0


@dataclass(frozen=True, slots=True)
class Reconcile:
    """Compares the three of one base. `announce` publishes an event; `foreign` names what lies beside the bases;
    `resume` goes on with a migration that came to a halt, and has the alias follow.
    """

    store: ObjectStore
    catalog: Catalog
    index: VectorIndex
    clock: Clock
    announce: Callable[[ObjectChange], None]
    foreign: Callable[[], list[str]]
    tell: Callable[[str], Told | None] = lambda _: None
    resume: Callable[[str], None] = lambda _: None

    def run(self, base: str, *, repair: bool, yes: bool) -> dict[str, Any]:
        """The drift, and with `repair` the events that mend it. Costs no embedding where there is none.

        Raises Refused 404, 409 MASS_REMOVAL when a repair would remove more than half of the base without `yes`.
        """
        stored = {stat.ref.name: stat.generation for stat in self.store.list(base)}
        known = {record.ref.name: record for record in self.catalog.objects(base)}
        record = self.catalog.base(base)
        foreign = self.index.foreign.of(base) if record is None or record.live is None else None
        drift = Drift()
        if foreign is not None:
            # Nothing of the bucket can be brought in before: its events come with the adoption.
            drift.add("foreign", base, foreign.sentence(base))
            if repair:
                self.resume(base)
            return drift.body()
        if not stored and not known and record is None:
            raise Refused(404, "NO_BASE", f"There is no base {base}.", sentinel="NO_KB_MATCH")
        for name in sorted(stored.keys() | known.keys()):
            self._compare(drift, name, stored.get(name), known.get(name))
        self._compare_index(drift, base, known)
        self._find_stuck(drift, base, known)
        for name in self.foreign():
            drift.add("foreign", name, "lies at the bucket's root and belongs to no base")
        if not repair:
            return drift.body()
        self._repair(drift, base, stored, known, yes=yes)
        self.resume(base)
        told = self.tell(base)
        return {**drift.body(), **({"writeback_status": told.status, "writeback_error": told.error} if told else {})}

    def run_all(self, allowed: Callable[[str], bool], *, repair: bool, yes: bool) -> Round:
        """Every base of the bucket or the catalog that is `allowed`, the one that has waited longest first; one that
        fails holds up no other. Raises Unavailable when it cannot be told which bases there are.
        """
        ends = self.clock.now() + ROUND_SECONDS
        waiting = [base for base in self._longest_waiting_first() if allowed(base)]
        # What lies beside the bases is looked up once, not once for each.
        found, alone = Round(foreign=len(self.foreign())), replace(self, foreign=list)
        while waiting and self.clock.now() < ends:
            base = waiting.pop(0)
            try:
                self._turn_of(base)
                body = alone.run(base, repair=repair, yes=yes)
            except Exception as error:  # noqa: BLE001 - told with the base's name by whoever asked for the run
                if not (isinstance(error, Refused) and error.code == "NO_BASE"):
                    found.failures[base] = error
            else:
                found.counts[base] = {name: told for name, told in body.items() if name not in {"details", "foreign"}}
                found.foreign += body["foreign"]
        found.left = waiting
        return found

    def _longest_waiting_first(self) -> list[str]:
        came = {record.base: record.reconciled_at for record in self.catalog.bases()}
        came = {**dict.fromkeys((*self.store.bases(), *self.index.foreign.bases()), 0.0), **came}
        return sorted(came, key=lambda base: (came[base], base))

    def _turn_of(self, base: str) -> None:
        """Note that its turn has come, before it takes it: one that fails or never ends is not the next one again."""
        now = self.clock.now()
        self.catalog.update_base(
            base, lambda known: (replace(known, reconciled_at=now) if known else None, None), raise_epoch=False
        )

    def _compare(self, drift: Drift, name: str, stored: int | None, known: ObjectRecord | None) -> None:
        """One object of the bucket against what the catalog knows of it."""
        if ignored_name(name):
            return
        if stored is None:
            if known is not None and is_without_file(known):
                drift.add("foreign", name, _WITHOUT_FILE)
            elif known is not None and known.live is not None:
                drift.add("orphaned", name, "answers although the bucket no longer holds it")
        elif known is None or (known.live is None and known.newest < stored):
            drift.add("missing", name, "is in the bucket and was never brought in")
        elif known.newest < stored:
            drift.add("stale", name, "an older version answers than the bucket holds")
        elif known.state == "failed" and known.code not in FILE_FAULTS - {"QUOTA"}:
            kind = "stale" if known.stale else "missing"
            drift.add(kind, name, f"its newest version failed: {known.code}")

    def _compare_index(self, drift: Drift, base: str, known: dict[str, ObjectRecord]) -> None:
        record = self.catalog.base(base)
        for collection in record.writes_to if record else ():
            held = self.index.generations(base, collection)
            for (name, generation), count in sorted(held.items()):
                owner = known.get(name)
                if owner is not None and owner.lease is not None and owner.lease.expires_at > self.clock.now():
                    continue
                if owner is not None and owner.live != generation and not _left_over(owner, generation):
                    continue
                if owner is None or owner.live is None:
                    drift.add("orphaned", name, "passages without an object", generation=generation)
                elif owner.live != generation:
                    drift.add("duplicated", name, "passages of a version that does not answer", generation=generation)
                elif owner.carried_by(collection):
                    _compare_count(drift, owner, count, owner.passages_in(collection))
            _find_missing(drift, known, collection, held)
        if record is not None and record.live is not None and self.index.outside:
            self._compare_alias(drift, record)

    def _compare_alias(self, drift: Drift, record: BaseRecord) -> None:
        if record.reindex is not None and record.reindex.by_words:
            # Until the switch they find the collection that is adopted.
            return
        named = self.index.alias(record.base)
        if named != record.live:
            drift.add("alias", record.base, f"readers outside find {named or 'nothing'}, {record.live} answers")

    def _find_stuck(self, drift: Drift, base: str, known: dict[str, ObjectRecord]) -> None:
        """Jobs whose worker is gone, or never came, and whose event nobody delivered again (RULES 6)."""
        now = self.clock.now()
        leases = [owner.lease for owner in known.values() if owner.lease is not None]
        held = {lease.job_id for lease in leases if lease.expires_at > now}
        left = {lease.job_id for lease in leases} | {_last_job(owner) for owner in known.values()}
        waiting = [job for state in ("queued", "processing") for job in self.catalog.jobs(base, state=state)]
        jobs = (self.catalog.job(base, job_id) for job_id in sorted(left - held - {""}))
        ended = [job for job in jobs if job and job.terminal and not job.finished]
        for job in [*waiting, *ended]:
            if job.job_id not in held and now - job.updated_at > QUEUED_SECONDS:
                why = f"job {job.job_id} is {job.state} and nobody works on it"
                more = {"generation": job.generation, "removal": job.removal, "state": job.state}
                drift.add("stuck", job.ref.name, why, **more)

    def _repair(
        self, drift: Drift, base: str, stored: dict[str, int], known: dict[str, ObjectRecord], *, yes: bool
    ) -> None:
        gone = [n for n in drift.names("orphaned") if n not in stored and n in known and known[n].live is not None]
        answering = sum(record.live is not None for record in known.values())
        if not yes and answering > MASS and len(gone) * 2 > answering:
            raise Refused(
                409, "MASS_REMOVAL", f"{len(gone)} of {answering} files would be removed; say yes if they should be."
            )
        for name in sorted(set(gone)):
            self._again(ObjectChange("delete", ObjectRef(base, name), known[name].newest))
        for name in sorted(set(drift.names("missing", "stale", "half_indexed")) & stored.keys()):
            self._again(ObjectChange("finalize", ObjectRef(base, name), stored[name]))
        record = self.catalog.base(base)
        for detail in drift.details:
            if detail["kind"] == "stuck":
                kind: ChangeKind = "delete" if detail["removal"] else "finalize"
                change = ObjectChange(kind, ObjectRef(base, detail["object"]), detail["generation"])
                # Not opened anew: it keeps its attempts, and one that was published lacks its end only.
                self.announce(change)
            elif detail["kind"] in {"orphaned", "duplicated"} and "generation" in detail and record:
                self._discard(record, detail["object"], detail["generation"])

    def _discard(self, record: BaseRecord, name: str, generation: int) -> None:
        """Delete passages that answer nothing, unless a worker began to write them since they were found."""
        owner = self.catalog.object(ObjectRef(record.base, name))
        if owner is None or (owner.live != generation and _left_over(owner, generation)):
            for collection in record.writes_to:
                self.index.discard(record.base, collection, name, generation)

    def _again(self, change: ObjectChange) -> None:
        """Open the change's job anew where it had ended, and announce it."""
        self.catalog.transact(change.ref, change.job_id, lambda held: reopened(held, change, self.clock.now()))
        self.announce(change)


def _find_missing(
    drift: Drift, known: dict[str, ObjectRecord], collection: str, held: Mapping[tuple[str, int], int]
) -> None:
    for name, owner in sorted(known.items()):
        if owner.live is not None and owner.carried_by(collection) and (name, owner.live) not in held:
            _compare_count(drift, owner, 0, owner.passages_in(collection) if owner.passages else 0)


def _compare_count(drift: Drift, owner: ObjectRecord, stored: int, wanted: int) -> None:
    if stored != wanted:
        drift.add("half_indexed", owner.ref.name, f"{stored} of {wanted} passages are stored")


def _last_job(owner: ObjectRecord) -> str:
    """The job that published the object's answer or its removal: killed behind that, it still has to sweep and tell."""
    if owner.live is None and owner.tombstone >= 0:
        return ObjectChange("delete", owner.ref, owner.tombstone).job_id
    return owner.live_job


def _left_over(owner: ObjectRecord, generation: int) -> bool:
    """Whether that version is not on its way in. A worker that is slow may still publish it, even past its lease."""
    return is_settled_past(owner, generation) or owner.state not in {"queued", "processing"}
