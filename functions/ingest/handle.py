"""The ingest function: one event in, one recorded job out. Raises for the broker to deliver again."""

import time

from cloudevents.http import CloudEvent

from common.domain.notifications import Ignored
from common.logs import log_event
from common.runtime import Runtime
from common.stages.ingest import ingest
from functions.ingest.decode import decode_change


def handle(event: CloudEvent, runtime: Runtime) -> None:
    """Bring one change to its end, and say in one line what became of it."""
    started = time.perf_counter()
    change = decode_change(event["type"], event.data, runtime.bucket)
    if isinstance(change, Ignored):
        log_event("ignored", reason=change.reason)
        return
    verdict = ingest(change, runtime.ingest)
    log_event(
        "ingested",
        base=change.ref.base,
        job_id=change.job_id,
        kind=change.kind,
        verdict=verdict or "ignored",
        took_ms=round((time.perf_counter() - started) * 1000, 1),
    )
