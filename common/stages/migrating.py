"""The work behind a migration, one message at a time: build green, bring objects over in batches, verify, and tidy up.
Every message may come again, or be lost and said again; a kill anywhere ends as an undisturbed run does.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from common.domain import rebuilding
from common.domain.errors import Busy, ModelFilesDiffer, ModelMissing, Refused, SliceOver
from common.domain.fencing import is_settled_past
from common.domain.objects import ObjectRef
from common.domain.records import BaseRecord, Gate
from common.domain.reindex import Command, Order, Reindex, moved
from common.ports import Catalog, Clock, VectorIndex
from common.stages.adopting import Adopting
from common.stages.comparing import Comparing
from common.stages.fit import GateFit
from common.stages.rebuild import Ended, Rebuild
from common.stages.reindex import Reindexing
from common.stages.spaces import Spaces, canaries_differ

_ROUNDS: Final = 5
"""How often green may be found to lack something before a person has to look."""


@dataclass(frozen=True, slots=True)
class Migrating:
    """Carries out orders. Raises Transient or Misconfigured for the message to come again."""

    catalog: Catalog
    index: VectorIndex
    spaces: Spaces
    clock: Clock
    reindexing: Reindexing
    adopting: Adopting
    rebuild: Rebuild
    gate_fit: GateFit
    comparing: Comparing
    send: Callable[[Order], None]
    step: Callable[[str], None] = lambda _: None

    def take(self, order: Order) -> None:
        """Do what the order says, as far as its migration still is where it can be done."""
        if order.command == "retire" and not order.base:
            self.reindexing.retire_due()
            return
        record = self.catalog.base(order.base)
        if record is None or record.reindex is None or record.reindex.id != order.id:
            return
        reindex = record.reindex
        if order.command == "build" and reindex.under_way:
            self._build(record, reindex)
        elif order.command == "rebuild" and reindex.state == "building":
            self._bring(record, reindex, order)
        elif order.command == "verify" and reindex.state in {"building", "verifying"}:
            self._verify(record, reindex)
        elif order.command == "recount":
            self._recount(record)

    def _build(self, record: BaseRecord, reindex: Reindex) -> None:
        if reindex.state == "planned" and reindex.adopted:
            record = self.adopting.begin(record.base, reindex) or record
        elif reindex.state == "planned":
            self._make(record, reindex)
            self.step("made")
            record = self._move(record, "build", lambda known: _with_green(known, reindex, self._prior(reindex)))
            self.step("building")
        if self._has_texts(record):
            self._hand_out(record)

    def _has_texts(self, record: BaseRecord) -> bool:
        """Whether the base's records know all that is to be brought over; of an adopted one, after some work for it."""
        reindex = record.reindex
        if reindex is None or reindex.state != "building" or reindex.texts_in or not reindex.adopted:
            return True
        ends = self.clock.now() + min(rebuilding.BATCH_SECONDS, self.rebuild.slice_seconds)
        if self.adopting.texts(record, reindex, ends):
            return True
        self.send(Order("build", record.base, reindex.id))
        return False

    def _prior(self, reindex: Reindex) -> Gate:
        return self.spaces.gate(reindex.after.embedding)

    def _make(self, record: BaseRecord, reindex: Reindex) -> None:
        """An empty green. What an earlier migration left of it goes first, and so does what objects say of it.

        Only while the migration is planned: nothing writes to green before it is building.
        """
        base = record.base
        self.index.drop(base, reindex.green)
        self.catalog.drop_collection(base, reindex.green)
        for known in self.catalog.objects(base):
            self.catalog.transact(known.ref, reindex.id, lambda held: rebuilding.forgotten(held, reindex.green))
        self.spaces.make(base, reindex.after, self.spaces.find(reindex.after.embedding))

    def _hand_out(self, record: BaseRecord) -> None:
        """Send what is left in batches, or have green verified when nothing is."""
        reindex = record.reindex
        if reindex is None:
            return
        left = [
            known
            for known in self.reindexing.lacking(record.base, reindex.green)
            if rebuilding.may_try(known, reindex.green)
        ]
        each = float(str(reindex.plan.get("seconds_per_passage", 0.01)))
        for batch in rebuilding.batches(left, each):
            self.send(Order("rebuild", record.base, reindex.id, batch))
        if not left:
            self.send(Order("verify", record.base, reindex.id))
        self.step("handed out")

    def _bring(self, record: BaseRecord, reindex: Reindex, order: Order) -> None:
        ends = self.clock.now() + min(rebuilding.BATCH_SECONDS, self.rebuild.slice_seconds)
        busy: list[str] = []
        for place, name in enumerate(order.objects):
            current = self.catalog.base(record.base) if place else record
            if current is None or not _builds(current, reindex.id):
                return
            try:
                ended = self._one(current, name, ends, begun=place > 0)
            except SliceOver:
                self.send(replace(order, objects=(*busy, *order.objects[place:])))
                return
            busy += [name] if ended == "busy" else []
        self.step("batch")
        if busy:
            raise Busy(f"{len(busy)} files of base {record.base} are being brought over by somebody else")
        self._go_on(record.base, reindex, order)

    def _one(self, record: BaseRecord, name: str, ends: float, *, begun: bool) -> Ended:
        """Bring one object over. Raises SliceOver when its delivery has no time left for it."""
        if begun and (self.clock.now() >= ends or self.rebuild.stopping()):
            raise SliceOver
        return self.rebuild.object(record, name, ends)

    def _go_on(self, base: str, reindex: Reindex, order: Order) -> None:
        """Behind a batch: verify when nothing is lacking, try again what may be tried, or say that it is stuck."""
        lacking = self.reindexing.lacking(base, reindex.green)
        if not lacking:
            self.send(Order("verify", base, reindex.id))
            return
        may = [known.ref.name for known in lacking if rebuilding.may_try(known, reindex.green)]
        mine = set(order.objects)
        if again := tuple(name for name in may if name in mine):
            self.send(replace(order, objects=again))
        elif not may:
            self._note(base, reindex.id, f"{len(lacking)} files could not be brought over.")

    def _verify(self, record: BaseRecord, reindex: Reindex) -> None:
        if reindex.state == "building":
            if self.reindexing.lacking(record.base, reindex.green):
                return
            record = self._move(record, "complete")
            self.step("complete")
        if self._mended(record, reindex):
            return
        collection = self.spaces.stored(record.base, reindex.green)
        embedder = self.spaces.find(collection.space.embedding)
        differs = canaries_differ(collection, embedder)
        if differs:
            self._move(record, "fail", lambda known: _left(known, reindex), reason=differs)
            return
        gate = self.gate_fit.fit(record.base, reindex.green)
        self.step("fitted")
        # There is nothing to compare with where nobody can ask blue: one that is foreign, or whose model is gone.
        lost = "" if reindex.adopted else self._lost(record.base, reindex.blue)
        reason = f"Both could not be compared: {lost}." if lost else ""
        report: dict[str, Any] = {}
        if reindex.adopted:
            self.index.foreign.keep(record.base)
        elif not lost:
            report = self.comparing.run(record, reindex.blue, reindex.green, gate)
        self.step("compared")
        self._move(record, "pass", lambda known: _with_gate(known, reindex.green, gate), report=report, reason=reason)
        self.step("ready")
        if reindex.auto_switch and not lost:
            self._switch(record.base, reindex.id)

    def _lost(self, base: str, collection: str) -> str:
        """Why the model that filled the collection cannot be asked any more, if so: then it answers by words alone."""
        stored = self.spaces.stored(base, collection)
        try:
            return canaries_differ(stored, self.spaces.find(stored.space.embedding)) or ""
        except (ModelMissing, ModelFilesDiffer) as missing:
            return str(missing)

    def _switch(self, base: str, key: str) -> None:
        try:
            self.reindexing.switch(base, key)
        except Refused as refused:
            self._note(base, key, refused.detail)

    def _mended(self, record: BaseRecord, reindex: Reindex) -> bool:
        """Whether something was missing in green, in which case it is being brought over again."""
        self.index.flush()
        stored = self.index.generations(record.base, reindex.green)
        wrong = []
        for known in self.catalog.objects(record.base):
            if known.live is None or not known.passages:
                continue
            count = stored.get((known.ref.name, known.live), 0)
            whole = known.carried_by(reindex.green) and count == known.passages_in(reindex.green)
            if not whole or (reindex.adopted and not self.adopting.has_vectors(known, reindex)):
                wrong.append(known)
        self._sweep(record.base, reindex.green, stored)
        new = self.adopting.lacks(record.base) if reindex.adopted else 0
        if not wrong and not new:
            return False
        for known in wrong:
            self.catalog.transact(known.ref, reindex.id, lambda held: rebuilding.forgotten(held, reindex.green))
        if reindex.rounds >= _ROUNDS:
            reason = f"{len(wrong) + new} files are not whole in the new collection after {_ROUNDS} rounds."
            self._move(record, "fail", lambda known: _left(known, reindex), reason=reason)
            return True
        moved_on = self._move(record, "reopen", rounds=reindex.rounds + 1, texts_in=False)
        self.send(Order("build", moved_on.base, reindex.id))
        return True

    def _sweep(self, base: str, green: str, stored: Iterable[tuple[str, int]]) -> None:
        """Points of what was overtaken while it was brought over."""
        for name, generation in stored:
            known = self.catalog.object(ObjectRef(base, name))
            if known is None or is_settled_past(known, generation):
                self.index.discard(base, green, name, generation)

    def _recount(self, record: BaseRecord) -> None:
        """The sums of each object as the collection that answers has it."""
        if record.live is None:
            return
        live = record.live
        for known in self.catalog.objects(record.base):
            if live in known.counts:
                self.catalog.transact(known.ref, "recount", lambda held: rebuilding.counted_in(held, live))
        self.step("recounted")

    def _move(
        self,
        record: BaseRecord,
        command: Command,
        change: Callable[[BaseRecord], BaseRecord] = lambda known: known,
        **changes: Any,  # noqa: ANN401 - fields of Reindex
    ) -> BaseRecord:
        """The base behind that command; as it stands where somebody was first, or where the command no longer fits."""
        key = record.reindex.id if record.reindex else ""
        # What is said of an answer by words alone names the state.
        told = record.reindex is not None and record.reindex.adopted

        def settle(known: BaseRecord | None) -> tuple[BaseRecord | None, BaseRecord]:
            if known is None or known.reindex is None or known.reindex.id != key:
                return None, record
            following = moved(known.reindex, command, self.clock.now(), **changes)
            if following is None:
                return None, known
            settled = replace(change(known), reindex=following)
            return settled, settled

        try:
            return self.catalog.update_base(record.base, settle, raise_epoch=told)
        except Refused as refused:
            raise Busy(f"the migration of base {record.base} went on meanwhile") from refused

    def _note(self, base: str, key: str, reason: str) -> None:
        def settle(known: BaseRecord | None) -> tuple[BaseRecord | None, None]:
            if known is None or known.reindex is None or known.reindex.id != key:
                return None, None
            return replace(known, reindex=replace(known.reindex, reason=reason)), None

        self.catalog.update_base(base, settle, raise_epoch=False)


def _with_green(record: BaseRecord, reindex: Reindex, prior: Gate) -> BaseRecord:
    writes_to = tuple(dict.fromkeys((*record.writes_to, reindex.green)))
    return replace(record, writes_to=writes_to, gates={**record.gates, reindex.green: prior})


def _with_gate(record: BaseRecord, green: str, gate: Gate) -> BaseRecord:
    return replace(record, gates={**record.gates, green: gate})


def _left(record: BaseRecord, reindex: Reindex) -> BaseRecord:
    """Nothing writes to green any more, unless it is what answers."""
    if record.live == reindex.green:
        return record
    return replace(record, writes_to=tuple(name for name in record.writes_to if name != reindex.green))


def _builds(record: BaseRecord, key: str) -> bool:
    return record.reindex is not None and record.reindex.id == key and record.reindex.state == "building"
