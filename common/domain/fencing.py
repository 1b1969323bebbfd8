"""Who may work on an object and what may become of it: the pure decisions behind every catalog transaction (RULES 1-8).

Each function takes the held as they are stored and answers the ones to store; `Catalog.transact` runs it.
"""

from dataclasses import replace
from typing import Final, Literal

from common.domain.objects import ObjectChange
from common.domain.outcomes import Result
from common.domain.rebuilding import unready
from common.domain.records import (
    Decision,
    Held,
    JobRecord,
    Lease,
    ObjectRecord,
    Pending,
    capped,
    touched,
)

LEASE_SECONDS: Final = 60.0
PAST: Final = "Another version of the file took its place."

Verdict = Literal[
    "started",
    "busy",
    "finish",
    "already_done",
    "stale",
    "exhausted",
    "published",
    "superseded",
    "lease_lost",
    "rewrite",
    "continued",
]


def enqueue(held: Held, change: ObjectChange, now: float) -> Decision[Verdict]:
    """The job of a change that was announced but not begun; one that exists stays as it is."""
    if held.job is not None:
        return Decision("already_done", held)
    job = _new_job(change, now)
    known = held.object or ObjectRecord(ref=change.ref)
    if not change.removes and change.generation > max(known.newest, known.tombstone):
        known = touched(known, now, newest=change.generation, state="queued", code=None, reason="")
    return Decision("started", replace(held, object=known, job=job))


def begin(held: Held, change: ObjectChange, token: str, now: float, max_attempts: int) -> Decision[Verdict]:
    """Claim the object for this change: add an attempt and take the lease before any work (RULES 6).

    A removal that the bucket tells of because another version took the place is no work, and no job unless somebody
    asked for it.
    """
    known = held.object or ObjectRecord(ref=change.ref)
    job = held.job or _new_job(change, now)
    if job.finished:
        return Decision("already_done", held)
    if not job.terminal and _is_past(known, change):
        if change.removes and held.job is None:
            return Decision("stale", held)
        gone = replace(touched(job, now, state="superseded"), reason=PAST, swept=True, notified=True)
        return Decision("stale", replace(held, job=gone))
    if job.terminal and _needs_no_lease(known, job):
        return Decision("finish", held)
    if known.lease is not None and known.lease.expires_at > now:
        return Decision("busy", held)
    claimed = touched(known, now, lease=Lease(job.job_id, token, now + LEASE_SECONDS))
    if job.terminal:
        return Decision("finish", replace(held, object=claimed))
    if job.attempts >= max_attempts:
        return _exhausted(replace(held, object=claimed), job, now)
    if change.generation >= known.newest:
        claimed = replace(claimed, newest=change.generation, state="processing", code=None, reason="")
    started = touched(job, now, state="processing", attempts=job.attempts + 1)
    return Decision("started", replace(held, object=claimed, job=started))


def holds_lease(known: ObjectRecord | None, token: str) -> bool:
    """Whether that worker still owns the object. An expired lease that nobody took over is still its holder's."""
    return known is not None and known.lease is not None and known.lease.token == token


def renew(
    held: Held, token: str, now: float, *, done: int, total: int, spent: tuple[int, int] = (0, 0)
) -> Decision[Verdict]:
    """Keep the lease, and count the passages and tokens `spent` on embedding since the last time.

    A checkpoint beyond all earlier ones of the job sets the attempts to 0 (RULES 6).
    """
    known, job = held.object, held.job
    if known is None or job is None or known.lease is None or not holds_lease(known, token):
        return Decision("lease_lost", held)
    lease = replace(known.lease, expires_at=now + LEASE_SECONDS)
    reached = int(job.progress.get("done", 0))
    progress = {"stage": "embed", "done": max(done, reached), "total": total}
    passages, tokens = spent
    job = touched(
        job,
        now,
        progress=progress,
        attempts=0 if done > reached else job.attempts,
        new_passages=job.new_passages + passages,
        embedded_tokens=job.embedded_tokens + tokens,
    )
    return Decision("started", replace(held, object=replace(known, lease=lease), job=job))


def publish(held: Held, token: str, wrote: tuple[str, ...], result: Result, now: float) -> Decision[Verdict]:
    """Make the job's generation the one that answers, for a good file and for one that is itself at fault (RULES 4).

    The lease ends with it: what is left to do may be done by anybody, and again. Answers `rewrite` when the base wants
    collections that were not written (RULES 19), `superseded` when the generation was removed meanwhile, `lease_lost`
    when another worker owns the object.
    """
    known, job = held.object, held.job
    if known is None or job is None or not holds_lease(known, token):
        return Decision("lease_lost", held)
    if known.tombstone >= job.generation or known.newest > job.generation:
        return supersede(held, token, now)
    wanted = held.base.writes_to if held.base else wrote
    lacking = {name: Pending(reason) for name, reason in result.pending.items() if name in wanted}
    if not set(wanted) <= {*wrote, *lacking} or (held.base and held.base.live in lacking):
        return Decision("rewrite", held)
    answering = touched(
        known,
        now,
        lease=None,
        live=job.generation,
        live_job=job.job_id,
        state=result.state,
        code=result.code,
        reason=result.reason,
        holds={name: job.generation for name in wrote if name in wanted},
        pending=lacking,
        counts=result.counts,
        documents=result.documents,
        passages=result.passages,
        tokens=result.tokens_in_source,
        size=result.size,
    )
    ended = replace(_ended(job, result, now), replaced=known.live is not None)
    base = unready(held.base, now) if lacking and result.passages else held.base
    published = Held(base, answering, ended)
    return Decision("published", published, raise_epoch=True, documents=result.rows)


def fail(held: Held, token: str, result: Result, now: float) -> Decision[Verdict]:
    """End the job by our own fault: the older generation keeps answering, marked stale (RULES 4)."""
    known, job = held.object, held.job
    if known is None or job is None or not holds_lease(known, token):
        return Decision("lease_lost", held)
    if known.newest == job.generation:
        known = touched(known, now, state="failed", code=result.code, reason=result.reason)
    return Decision("published", replace(held, object=known, job=_ended(job, result, now)), raise_epoch=known.stale)


def supersede(held: Held, token: str, now: float) -> Decision[Verdict]:
    """End the job because its generation is not the current one: nothing of it is published."""
    known, job = held.object, held.job
    if known is None or job is None or not holds_lease(known, token):
        return Decision("lease_lost", held)
    if known.newest == job.generation and known.state == "processing":
        known = touched(known, now, state="superseded")
    return Decision(
        "superseded", replace(held, object=known, job=replace(touched(job, now, state="superseded"), reason=PAST))
    )


def remove(held: Held, token: str, now: float) -> Decision[Verdict]:
    """Take the removed generation and all older ones out of the answers, and leave a tombstone for late events."""
    known, job = held.object, held.job
    if known is None or job is None or not holds_lease(known, token):
        return Decision("lease_lost", held)
    generation = job.generation
    if known.newest > generation:
        return supersede(held, token, now)
    gone = touched(
        known,
        now,
        lease=None,
        live=None,
        live_job="",
        state="deleted",
        code=None,
        reason="",
        tombstone=max(known.tombstone, generation),
        removed_at=now,
        holds={},
        pending={},
        counts={},
        documents=0,
        passages=0,
        tokens=0,
        size=0,
    )
    return Decision("published", replace(held, object=gone, job=touched(job, now, state="deleted")), raise_epoch=True)


def finish(held: Held, token: str, now: float) -> Decision[Verdict]:
    """Nothing is left to sweep or to tell: let the object go.

    What was swept had still counted in the document frequencies, so the epoch moves once more; a first version that
    was published swept nothing.
    """
    known, job = held.object, held.job
    if known is None or job is None or not job.terminal:
        return Decision("lease_lost", held)
    if holds_lease(known, token):
        known = replace(known, lease=None)
    elif not _needs_no_lease(known, job):
        return Decision("lease_lost", held)
    if job.finished:
        return Decision("published", replace(held, object=known))
    done = touched(job, now, swept=True, notified=True)
    swept = job.replaced or job.removal or known.live != job.generation
    return Decision("published", replace(held, object=known, job=done), raise_epoch=swept)


def release(held: Held, token: str, now: float, *, refund: bool) -> Decision[Verdict]:
    """Let the object go for another try; `refund` gives the attempt back when the process itself was not at fault."""
    known, job = held.object, held.job
    if known is None or job is None or not holds_lease(known, token):
        return Decision("lease_lost", held)
    job = touched(job, now, attempts=max(0, job.attempts - 1) if refund else job.attempts)
    return Decision("started", replace(held, object=replace(known, lease=None), job=job))


def is_settled_past(known: ObjectRecord | None, generation: int) -> bool:
    """Whether that generation can never answer again, so that whatever is stored of it may be discarded. The one that
    answers goes on doing so until a newer one is published, however many have begun.
    """
    if known is None or known.live == generation:
        return False
    return known.newest > generation or known.tombstone >= generation


def _needs_no_lease(known: ObjectRecord, job: JobRecord) -> bool:
    """Whether whatever is swept behind this job is past for good: its generation answers, or never will again. One that
    failed may be tried anew, so sweeping behind it takes the lease.
    """
    return known.tombstone >= job.generation or (known.live is not None and known.live >= job.generation)


def _is_past(known: ObjectRecord, change: ObjectChange) -> bool:
    if change.removes:
        overwritten = change.overwritten_by is not None and change.overwritten_by >= change.generation
        return overwritten or known.newest > change.generation or known.tombstone > change.generation
    return known.newest > change.generation or known.tombstone >= change.generation


def _new_job(change: ObjectChange, now: float) -> JobRecord:
    return JobRecord(
        job_id=change.job_id,
        ref=change.ref,
        generation=change.generation,
        removal=change.removes,
        created_at=now,
        updated_at=now,
    )


def _ended(job: JobRecord, result: Result, now: float) -> JobRecord:
    return touched(
        job,
        now,
        state=result.state,
        code=result.code,
        reason=result.reason,
        next_step=result.next_step,
        passages=result.passages,
        new_passages=job.new_passages + result.new_passages,
        tokens_in_source=result.tokens_in_source,
        tokens_embedded=result.tokens_embedded,
        embedded_tokens=job.embedded_tokens + result.embedded_tokens,
        timings_ms=result.timings_ms or {},
        progress={},
        warnings=capped(result.warnings),
    )


def _exhausted(held: Held, job: JobRecord, now: float) -> Decision[Verdict]:
    known = held.object or ObjectRecord(ref=job.ref)
    result = Result(
        "failed",
        "ATTEMPTS_EXHAUSTED",
        f"The file was tried {job.attempts} times and stopped the work each time.",
        "Look at the file: it may be damaged or too complex. Upload it again to retry.",
    )
    if known.newest <= job.generation and not job.removal:
        known = touched(known, now, newest=job.generation, state="failed", code=result.code, reason=result.reason)
    return Decision("exhausted", replace(held, object=known, job=_ended(job, result, now)), raise_epoch=known.stale)
