"""The ingest function: one event in, a recorded job out for each change. Raises for the broker to deliver again."""

import logging
import time
from collections.abc import Iterator

from cloudevents.http import CloudEvent
from werkzeug.wrappers import Response

from common.boundary import Call, Route, Router, answer
from common.domain.errors import Transient, Unavailable
from common.domain.notifications import Ignored
from common.domain.objects import ObjectChange
from common.identity import Headers, Identity
from common.logs import log_event
from common.runtime import Runtime
from common.stages.ingest import ingest
from common.stages.touched import changes_of
from functions.ingest.decode import decode_changes, decode_event
from functions.ingest.decode_s3 import Touched

_log = logging.getLogger("fichario.ingest")


def router(runtime: Runtime) -> Router:
    """The ingest function over one runtime: events at any path, and health."""

    def take(call: Call) -> Response:
        if runtime.ingest.stopping():
            raise _stopping()
        handle(decode_event(dict(call.request.headers), call.request.get_data()), runtime)
        return answer({"status": "taken"})

    paths = ("/", "/<path:pushed_to>")
    return Router([Route("POST", path, take, None) for path in paths], _platform, runtime.ready)


def _platform(_: Headers) -> Identity:
    """Who may push is settled before the request arrives: by the service's invoker permission."""
    return Identity(frozenset(), {})


def handle(event: CloudEvent, runtime: Runtime) -> None:
    """Bring every change of one event to its end, and say in one line each what became of it.

    One that fails keeps no other from its end. Raises the first failure that passes by itself, else the first one.
    """
    failures: list[Exception] = []
    for number, said in enumerate(decode_changes(event["type"], event.data, runtime.bucket)):
        if number and runtime.ingest.stopping():
            failures.append(_stopping())
            break
        try:
            _take(said, runtime)
        except Exception as error:  # noqa: BLE001 - raised below, when the others have been taken
            failures.append(error)
    if failures:
        raised = next((error for error in failures if isinstance(error, Transient)), failures[0])
        for other in failures:
            if other is not raised:
                _log.error("a change of a batch failed", extra={"error_type": type(other).__name__})
        raise raised


def _take(said: ObjectChange | Touched | Ignored, runtime: Runtime) -> None:
    """Bring in what one part of an event speaks of."""
    if isinstance(said, Ignored):
        log_event("ignored", reason=said.reason)
        return
    started = time.perf_counter()
    for change in _changes(said, runtime):
        verdict = ingest(change, runtime.ingest)
        took_ms = round((time.perf_counter() - started) * 1000, 1)
        job = runtime.catalog.job(change.ref.base, change.job_id)
        # What an alert on failed jobs counts: a verdict alone does not tell a failed job from an indexed one.
        ended = {"state": job.state, "code": job.code} if job else {}
        log_event(
            "ingested",
            base=change.ref.base,
            job_id=change.job_id,
            kind=change.kind,
            verdict=verdict or "ignored",
            took_ms=took_ms,
            **ended,
        )


def _changes(said: ObjectChange | Touched, runtime: Runtime) -> Iterator[ObjectChange]:
    if isinstance(said, ObjectChange):
        yield said
        return
    found = False
    for change in changes_of(said.ref, runtime.ingest.store):
        found = True
        yield change
    if not found:
        log_event("ignored", base=said.ref.base, reason="the object is not in the bucket")


def _stopping() -> Unavailable:
    return Unavailable("This instance is being stopped; another one takes the event.")
