"""The job of a change that is to be done again, whatever became of it before."""

from dataclasses import replace

from common.domain.fencing import Verdict
from common.domain.objects import ObjectChange
from common.domain.records import Decision, Held, JobRecord, ObjectRecord


def reopened(held: Held, change: ObjectChange, now: float) -> Decision[Verdict]:
    """Its job as it was before it began. The object's record is what a base of which only the bucket knows is listed
    by, until the event has come.
    """
    job = held.job or JobRecord(change.job_id, change.ref, change.generation, change.removes, created_at=now)
    fresh = JobRecord(job.job_id, job.ref, job.generation, job.removal, created_at=job.created_at, updated_at=now)
    return Decision("started", replace(held, object=held.object or ObjectRecord(change.ref), job=fresh))
