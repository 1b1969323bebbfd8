"""What people command of a migration: plan, start, switch, roll back, cancel, retire. Each answers once in effect; only
the work behind a start goes on by itself (stages/migrating.py).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from common.domain.errors import Refused, Transient
from common.domain.objects import ObjectRef
from common.domain.records import BaseRecord, ObjectRecord
from common.domain.reindex import Command, Order, Reindex, moved, worse_by
from common.domain.space import alias_name
from common.ports import Catalog, Clock, VectorIndex
from common.stages.adopting import Adopting
from common.stages.proposing import Proposing, check_not_running
from common.stages.spaces import Spaces

_FAILURES_SHOWN: Final = 100
START_SECONDS: Final = 20.0
"""How long a start brings texts in before it answers."""
Settle = tuple[BaseRecord | None, Reindex]


@dataclass(frozen=True, slots=True)
class Reindexing:
    """Commands on the migration of one base each. `send` publishes what is to be done; `tolerance` is the share of
    questions by which green may be worse, `grace` how many seconds blue is kept behind a switch.
    """

    catalog: Catalog
    index: VectorIndex
    spaces: Spaces
    clock: Clock
    proposing: Proposing
    adopting: Adopting
    send: Callable[[Order], None]
    tolerance: float
    grace: float

    def plan(self, base: str, model: str | None = None) -> dict[str, Any]:
        """What a migration to that model, or to the configured one, would take. Raises Refused 404, 409 SAME_SPACE."""
        return {"base": base, **self.proposing.propose(base, model).plan}

    def start(self, base: str, model: str | None = None, *, auto_switch: bool = False) -> dict[str, Any]:
        """Begin to build the new collection. A base that is not ours yet answers by words when this returns.

        Raises Refused 404, 409 SAME_SPACE, 409 REINDEX_RUNNING with its `id`.
        """
        before = self.catalog.base(base)
        planned = self.proposing.propose(base, model, auto_switch=auto_switch)

        def settle(known: BaseRecord | None) -> Settle:
            if (known.live if known else None) != (before.live if before else None):
                raise Refused(409, "REINDEX_STATE", f"Base {base} was moved meanwhile; look at its plan again.")
            if known is not None:
                check_not_running(known)
            return replace(known or BaseRecord(base, created_at=planned.started_at), reindex=planned), planned

        self.catalog.update_base(base, settle, raise_epoch=planned.adopted)
        begun = self.adopting.begin(base, planned) if planned.adopted else None
        self.send(Order("build", base, planned.id))
        state = begun.reindex.state if begun and begun.reindex else planned.state
        if begun is not None and state == "building":
            self._bring_texts(begun, planned)
        return {"id": planned.id, "base": base, "state": state, "plan": dict(planned.plan)}

    def _bring_texts(self, record: BaseRecord, reindex: Reindex) -> None:
        """As many as can be waited for: of an ordinary base, all. The order that was sent brings in the rest."""
        try:
            self.adopting.announce_files(record.base)
            self.adopting.texts(record, reindex, self.clock.now() + START_SECONDS)
        except Transient:
            return

    def status(self, base: str, key: str | None = None) -> dict[str, Any]:
        """The base's last migration, and how far it is by the state of each object. Raises Refused 404 NO_REINDEX."""
        record, reindex = self._of(base, key)
        known = [each for each in self.catalog.objects(base) if each.live is not None and each.passages]
        done = sum(each.holds.get(reindex.green) == each.live for each in known)
        failures = list(_failures(known, reindex.green)) if reindex.open else []
        return {
            "id": reindex.id,
            "base": base,
            "state": reindex.state,
            "reason": reindex.reason or None,
            "before": reindex.before.model,
            "after": reindex.after.embedding.model,
            "fingerprint": reindex.after.fingerprint,
            "live": record.live,
            "objects": len(known),
            "done": done,
            "failed": len(failures),
            "failures": failures[:_FAILURES_SHOWN],
            "auto_switch": reindex.auto_switch,
            "adopted": reindex.adopted,
            "by_words": reindex.by_words or None,
            "plan": dict(reindex.plan),
            "report": dict(reindex.report) or None,
            "worse_by": worse_by(reindex.report, self.tolerance) or None,
            "started_at": reindex.started_at,
            "updated_at": reindex.updated_at,
        }

    def switch(self, base: str, key: str | None = None, *, force: bool = False) -> dict[str, Any]:
        """Let green answer: one compare-and-set, then the alias. Raises Refused 409: REINDEX_STATE, INCOMPLETE with the
        count of objects that green lacks, WORSE with the figures unless `force`.
        """
        _, reindex = self._of(base, key)
        worse = worse_by(reindex.report, self.tolerance)
        if reindex.state == "ready" and worse and not force:
            raise Refused(409, "WORSE", _worse(worse, self.tolerance), worse_by=worse, report=dict(reindex.report))
        lacking = self.lacking(base, reindex.green)
        if reindex.state == "building" and not lacking:
            self.send(Order("verify", base, reindex.id))
        if reindex.open and lacking:
            detail = f"The new collection lacks {len(lacking)} files that answer; `fichario reindex status` names them."
            raise Refused(409, "INCOMPLETE", detail, missing=len(lacking))

        writes_to = (reindex.green,) if reindex.adopted else (reindex.green, reindex.blue)
        self._settle(base, reindex, "switch", lambda known: replace(known, live=reindex.green, writes_to=writes_to))
        self._follow(base)
        self.send(Order("recount", base, reindex.id))
        return self.status(base, reindex.id)

    def rollback(self, base: str, key: str | None = None, *, force: bool = False) -> dict[str, Any]:
        """Let blue answer again; of an adopted one, by the alias, while ours answer by words again. Raises Refused 409:
        REINDEX_STATE, INCOMPLETE unless `force`.
        """
        _, reindex = self._of(base, key)
        lacking = self.lacking(base, reindex.blue) if reindex.state == "live" and not reindex.adopted else []
        if lacking and not force:
            detail = f"The old collection lacks {len(lacking)} files that answer."
            raise Refused(409, "INCOMPLETE", detail, missing=len(lacking))
        answers = reindex.green if reindex.adopted else reindex.blue
        self._settle(base, reindex, "rollback", lambda known: replace(known, live=answers, writes_to=(answers,)))
        self._follow(base)
        self.send(Order("recount", base, reindex.id))
        return self.status(base, reindex.id)

    def cancel(self, base: str, key: str | None = None) -> dict[str, Any]:
        """Stop before green answers, and free its space. A base that was being adopted is not ours any more: its
        records go, the foreign collection stays as it was. Raises Refused 409 REINDEX_STATE.
        """
        _, reindex = self._of(base, key)
        if reindex.adopted:
            self._settle(base, reindex, "cancel", lambda known: replace(known, live=None, writes_to=(), gates={}))
            self.adopting.abandon(base)
        else:
            self._settle(base, reindex, "cancel", lambda known: _without(known, reindex.green))
        self.free(base)
        return self.status(base, reindex.id)

    def retire(self, base: str, key: str | None = None) -> dict[str, Any]:
        """Free whatever neither answers nor is written any more. Raises Refused 409 REINDEX_STATE."""
        _, reindex = self._of(base, key)
        self._settle(base, reindex, "retire", lambda known: _without(known, reindex.blue))
        self.free(base)
        return self.status(base, reindex.id)

    def retire_due(self) -> list[str]:
        """Retire every migration whose time of grace is over; answers their bases."""
        before, retired = self.clock.now() - self.grace, []
        for record in self.catalog.bases():
            reindex = record.reindex
            if reindex and reindex.state in {"live", "rolled_back", "failed"} and reindex.updated_at <= before:
                self.retire(record.base, reindex.id)
                retired.append(record.base)
        return retired

    def resume(self, base: str) -> None:
        """Say again what a migration waits for: a message may have been lost with whoever was to send it, and what
        follows a command with whoever gave it.
        """
        record = self.catalog.base(base)
        if record is None:
            return
        self._follow(base)
        reindex = record.reindex
        if reindex is not None and reindex.under_way:
            self.send(Order("build", base, reindex.id))
        elif reindex is not None and reindex.state in {"live", "rolled_back"}:
            self.send(Order("recount", base, reindex.id))
        elif reindex is not None and reindex.state in {"retired", "cancelled"}:
            self.free(base)

    def again(self, ref: ObjectRef) -> None:
        """Have an object brought over that an upload could not write into green."""
        record = self.catalog.base(ref.base)
        if record is not None and record.reindex is not None and record.reindex.under_way:
            self.send(Order("rebuild", ref.base, record.reindex.id, (ref.name,)))

    def lacking(self, base: str, collection: str) -> list[ObjectRecord]:
        """The objects of which something answers that the collection does not have."""
        return [known for known in self.catalog.objects(base) if not known.carried_by(collection)]

    def free(self, base: str) -> None:
        """Drop every collection of the base that nothing uses. Repeatable."""
        record = self.catalog.base(base)
        if record is None:
            return
        reindex = record.reindex
        used = {record.live, *record.writes_to}
        if reindex is not None and reindex.open:
            used |= {reindex.blue, reindex.green}
        for name in self.index.collections(base):
            if name not in used:
                self.index.drop(base, name)
                self.catalog.drop_collection(base, name)
        if reindex is not None and reindex.adopted and not reindex.open:
            self.index.foreign.release(base)

    def _of(self, base: str, key: str | None) -> tuple[BaseRecord, Reindex]:
        record = self.catalog.base(base)
        if record is None:
            raise Refused(404, "NO_BASE", f"There is no base {base}.", sentinel="NO_KB_MATCH")
        if record.reindex is None or key not in {None, record.reindex.id}:
            raise Refused(404, "NO_REINDEX", f"Base {base} has no such migration.", "id")
        return record, record.reindex

    def _settle(
        self,
        base: str,
        reindex: Reindex,
        command: Command,
        change: Callable[[BaseRecord], BaseRecord],
    ) -> None:
        """One compare-and-set of state and collections; nothing where the command has had its effect already."""

        def settle(known: BaseRecord | None) -> tuple[BaseRecord | None, None]:
            if known is None or known.reindex is None or known.reindex.id != reindex.id:
                raise Refused(404, "NO_REINDEX", f"Base {base} has no such migration.", "id")
            following = moved(known.reindex, command, self.clock.now())
            return (None if following is None else replace(change(known), reindex=following)), None

        self.catalog.update_base(base, settle, raise_epoch=True)

    def _follow(self, base: str) -> None:
        """Let the alias name what answers: of a base that was adopted from its switch on, and nothing of ours
        behind its rollback. Where a collection that we did not adopt has the alias's name, it stays.
        """
        record = self.catalog.base(base)
        if record is None or record.live is None:
            return
        reindex = record.reindex
        if reindex is not None and reindex.by_words:
            if reindex.state == "rolled_back":
                self.index.foreign.restore(base, reindex.blue)
        elif reindex is not None and reindex.adopted:
            self.index.foreign.replace(base, record.live)
        elif self.index.alias(base) != record.live and not self._is_taken(base):
            self.index.set_alias(base, record.live)

    def _is_taken(self, base: str) -> bool:
        foreign = self.index.foreign.of(base)
        return foreign is not None and foreign.name == alias_name(self.spaces.template, base)


def _without(record: BaseRecord, collection: str) -> BaseRecord:
    gates = {name: gate for name, gate in record.gates.items() if name != collection}
    return replace(record, writes_to=tuple(n for n in record.writes_to if n != collection), gates=gates)


def _failures(known: Sequence[ObjectRecord], green: str) -> Iterator[dict[str, Any]]:
    for each in known:
        pending = each.pending.get(green)
        if pending is not None and not each.carried_by(green):
            yield {"source": each.ref.name, "reason": pending.reason, "attempts": pending.attempts}


def _worse(worse: dict[str, float], tolerance: float) -> str:
    figures = ", ".join(f"{name} by {value:.3f}" for name, value in sorted(worse.items()))
    return f"The new collection is worse ({figures}; {tolerance} is tolerated). `--force` switches all the same."
