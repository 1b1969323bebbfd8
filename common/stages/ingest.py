"""One change of the bucket, brought into the index: claim, read, cut, embed, write, publish, sweep (RULES 1-8).

A kill between any two steps, delivered again, ends in the state of one clean run: writes before the publish are seen by
nobody, writes after it are repeated. `step` names each boundary as it is passed.
"""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from common.domain import fencing
from common.domain.documents import Parsed
from common.domain.errors import (
    Busy,
    DocumentError,
    LeaseLost,
    Misconfigured,
    ObjectGone,
    SliceOver,
    Superseded,
    Transient,
)
from common.domain.fencing import Verdict
from common.domain.objects import ObjectChange, ObjectRef, ignored_name
from common.domain.outcomes import Result, outcome, skipped
from common.domain.records import Decision, DocumentRecord, Held
from common.domain.usage import Spend, uncounted
from common.domain.writeback import Told, told_of
from common.ports import Catalog, Clock, ObjectStore, Parser, VectorIndex
from common.stages.filling import FilledAll, Filling
from common.stages.quota import Quota
from common.stages.shared_ids import shared_id_warnings
from common.stages.spaces import Spaces
from common.stages.sweeping import Sweeping
from common.stages.touched import with_successor

PROGRESS_SECONDS: Final = 1.0
"""How often progress is written at most, which is also well under the time after which a lease must be renewed."""


@dataclass(frozen=True, slots=True)
class IngestPorts:
    """All that ingest needs; `file_limit` in bytes, 0 for none. `stopping` asks for a checkpoint as soon as can be;
    `lagging` is told of an object that a base's new collection lacks.
    """

    store: ObjectStore
    catalog: Catalog
    index: VectorIndex
    spaces: Spaces
    parser: Parser
    clock: Clock
    quota: Quota
    announce: Callable[[ObjectChange], None]
    max_attempts: int
    file_limit: int
    slice_seconds: float
    stopping: Callable[[], bool] = lambda: False
    step: Callable[[str], None] = lambda _: None
    notify: Callable[[ObjectChange], Told | None] = lambda _: None
    spend: Spend = uncounted
    lagging: Callable[[ObjectRef], None] = lambda _: None


def ingest(change: ObjectChange, ports: IngestPorts) -> Verdict | None:
    """Bring one change to its end. None for a change that is acknowledged without a job.

    Raises Busy, Unavailable or Misconfigured for the broker to deliver again, and any bug as it is.
    """
    ignored = ignored_name(change.ref.name)
    if ignored:
        return None if change.removes else _skip(change, ports, ignored)
    if change.removes and change.overwritten_by is None:
        change = with_successor(change, ports.store)
        ports.step("asked")
    return _Attempt(change, ports).run()


def _skip(change: ObjectChange, ports: IngestPorts, reason: str) -> Verdict:
    def decide(held: Held) -> Decision[Verdict]:
        job = skipped(change, reason, ports.clock.now())
        return Decision("already_done" if held.job else "published", replace(held, job=held.job or job))

    return ports.catalog.transact(change.ref, change.job_id, decide)


class _Attempt:
    """One claim of one change by one worker, named by its token."""

    def __init__(self, change: ObjectChange, ports: IngestPorts) -> None:
        self.change = change
        self.ports = ports
        self.token = uuid.uuid4().hex
        self.renewed = ports.clock.now()
        self.slice_ends = self.renewed + ports.slice_seconds
        leases = self._keep_lease, self._end_slice
        self.filling = Filling(change, ports.index, ports.catalog, ports.clock, *leases, ports.step, ports.spend)
        self.sweeping = Sweeping(change, ports.index, ports.catalog)

    def run(self) -> Verdict:
        verdict = self._transact(self._begin)
        self.ports.step("begin")
        if verdict == "busy":
            raise Busy(f"object {self.change.ref.key} is being worked on")
        if verdict in {"already_done", "stale"}:
            return verdict
        if verdict == "started":
            try:
                self._work()
            except LeaseLost:
                self._leave()
            except SliceOver:
                return self._hand_over()
            except (Transient, Misconfigured):
                self._transact(fencing.release, self.token, self.ports.clock.now(), refund=True)
                raise
            except Exception:
                self._break_off()
                raise
        self.sweeping.clean_up()
        self.ports.step("sweep")
        told = self.ports.notify(self.change)
        self.ports.step("notified")
        self._transact(self._finish, told)
        self.ports.step("finish")
        return verdict

    def _work(self) -> None:
        try:
            if self.change.removes:
                self._remove()
            else:
                self._index()
        except (Superseded, ObjectGone):
            self._require(self._transact(fencing.supersede, self.token, self.ports.clock.now()))
        except DocumentError as error:
            self._refuse(error)

    def _transact(self, decide: Callable[..., Decision[Verdict]], *args: object, **named: object) -> Verdict:
        return self.ports.catalog.transact(
            self.change.ref, self.change.job_id, lambda held: decide(held, *args, **named)
        )

    def _begin(self, held: Held) -> Decision[Verdict]:
        now = self.ports.clock.now()
        return fencing.begin(held, self.change, self.token, now, self.ports.max_attempts)

    def _finish(self, held: Held, told: Told | None) -> Decision[Verdict]:
        now = self.ports.clock.now()
        return told_of(fencing.finish(held, self.token, now), told, now)

    def _require(self, verdict: Verdict) -> Verdict:
        if verdict == "lease_lost":
            raise LeaseLost(self.change.ref.key)
        return verdict

    def _index(self) -> None:
        data = self._read()
        parsed = self._parse(data)
        self.ports.quota.check_documents(self.change.ref, len(parsed.documents))
        for _ in range(3):
            writing = self.filling.timed("write", self.ports.spaces.writing, self.change.ref.base)
            filled = self.filling.fill_all(parsed, writing)
            listed = self.filling.timed("write", self._list, filled.documents)
            self.ports.step("documents")
            result = self._result(filled, (*parsed.warnings, *filled.warnings, *listed), len(data))
            if self._publish(filled.wrote, result) != "rewrite":
                if filled.lacking:
                    self.ports.lagging(self.change.ref)
                return
        raise Busy(f"the collections of base {self.change.ref.base} keep changing")

    def _list(self, documents: tuple[DocumentRecord, ...]) -> tuple[str, ...]:
        """Put the documents into the catalog, but for a single one, which comes with the publish; answers what is to be
        said of ids that others have too.
        """
        shared = shared_id_warnings(self.ports.catalog, documents)
        if len(documents) > 1:
            self.ports.catalog.put_documents(self.change.ref, self.change.generation, documents)
        return shared

    def _read(self) -> bytes:
        since = time.perf_counter()
        ref, generation = self.change.ref, self.change.generation
        current = self.ports.store.stat(ref)
        if current is None:
            raise ObjectGone(ref.key)
        if current.generation != generation:
            raise Superseded(ref.key)
        self.ports.quota.check_size(ref, current.size)
        data = self.ports.store.read(ref, generation, self.ports.file_limit)
        self.filling.took("read", since)
        self.ports.step("read")
        return data

    def _parse(self, data: bytes) -> Parsed:
        parsed = self.filling.timed("parse", self.ports.parser.parse, data, self.change.ref.name)
        self.ports.step("parse")
        return parsed

    def _keep_lease(self, done: int, total: int) -> None:
        """Read the lease before a write; renew it, with the progress, when it is time."""
        now = self.ports.clock.now()
        if now - self.renewed >= PROGRESS_SECONDS:
            self._renew(now, done, total)
        elif not fencing.holds_lease(self.ports.catalog.object(self.change.ref), self.token):
            raise LeaseLost(self.change.ref.key)

    def _end_slice(self, done: int, total: int) -> None:
        """Checkpoint and stop once the slice's time is over, with everything that was embedded written."""
        now = self.ports.clock.now()
        if now >= self.slice_ends or self.ports.stopping():
            self._renew(now, done, total)
            raise SliceOver

    def _renew(self, now: float, done: int, total: int) -> None:
        spent = self.filling.spent()
        self._require(self._transact(fencing.renew, self.token, now, done=done, total=total, spent=spent))
        self.renewed = now

    def _result(self, filled: FilledAll, warnings: tuple[str, ...], size: int) -> Result:
        listed = filled.documents
        passages = sum(d.passages for d in listed)
        state, code, reason, next_step = outcome(passages, sum(d.tokens_in_source for d in listed), warnings)
        return Result(
            state=state,
            code=code,
            reason=reason,
            next_step=next_step,
            documents=len(listed) if passages else 0,
            passages=passages,
            new_passages=self.filling.new_passages,
            tokens_in_source=sum(d.tokens_in_source for d in listed),
            tokens_embedded=sum(d.tokens_embedded for d in listed),
            embedded_tokens=self.filling.embedded_tokens,
            size=size,
            timings_ms=self.filling.timings_ms,
            warnings=warnings,
            rows=listed if len(listed) == 1 else (),
            counts=filled.counts,
            pending=filled.lacking,
        )

    def _publish(self, wrote: tuple[str, ...], result: Result) -> Verdict:
        verdict = self._transact(fencing.publish, self.token, wrote, result, self.ports.clock.now())
        self.ports.step("publish")
        return self._require(verdict)

    def _remove(self) -> None:
        self._require(self._transact(fencing.remove, self.token, self.ports.clock.now()))
        self.ports.step("removed")

    def _refuse(self, error: DocumentError) -> None:
        """Record a permanent failure; the file's own fault takes the older generation out of the answers (RULES 4)."""
        state: Verdict
        result = Result(
            state="skipped" if error.code == "UNSUPPORTED" else "failed",
            code=error.code,
            reason=error.reason,
            next_step=error.next_step,
            new_passages=self.filling.new_passages,
            embedded_tokens=self.filling.embedded_tokens,
            timings_ms=self.filling.timings_ms,
        )
        now = self.ports.clock.now()
        if error.file_fault:
            writing = self.ports.spaces.writing(self.change.ref.base)
            wrote = (*(target.collection for target in writing.targets), *writing.lacking)
            state = self._transact(fencing.publish, self.token, wrote, result, now)
        else:
            state = self._transact(fencing.fail, self.token, result, now)
        self._require(state)
        self.ports.step("refused")

    def _break_off(self) -> None:
        """After a bug: the last attempt fails the job, an earlier one lets the object go."""
        now = self.ports.clock.now()
        job = self.ports.catalog.job(self.change.ref.base, self.change.job_id)
        if job is None or job.attempts < self.ports.max_attempts:
            self._transact(fencing.release, self.token, now, refund=False)
            return
        reason = "The file could not be indexed because of a fault of ours."
        result = Result("failed", "INTERNAL", reason, "Report it with the job's id; the log names the fault.")
        self._transact(fencing.fail, self.token, result, now)

    def _hand_over(self) -> Verdict:
        """The slice is over: what is written stays, and the same change is announced again for the rest of it."""
        self._transact(fencing.release, self.token, self.ports.clock.now(), refund=True)
        self.ports.announce(self.change)
        self.ports.step("continuation")
        return "continued"

    def _leave(self) -> NoReturn:
        """Another worker, perhaps at another job, owns the object: discard what can never answer, and come again."""
        if fencing.is_settled_past(self.ports.catalog.object(self.change.ref), self.change.generation):
            self.sweeping.discard()
        raise Busy(f"object {self.change.ref.key} was taken over")
