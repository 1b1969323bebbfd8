"""The ingest function: one event in, one recorded job out. Raises for the broker to deliver again."""

import time

from cloudevents.http import CloudEvent
from werkzeug.wrappers import Response

from common.boundary import Call, Route, Router, answer
from common.domain.errors import Unavailable
from common.domain.notifications import Ignored
from common.identity import Headers, Identity
from common.logs import log_event
from common.runtime import Runtime
from common.stages.ingest import ingest
from functions.ingest.decode import decode_change, decode_event


def router(runtime: Runtime) -> Router:
    """The ingest function over one runtime: events at any path, and health."""

    def take(call: Call) -> Response:
        if runtime.ingest.stopping():
            raise Unavailable("This instance is being stopped; another one takes the event.")
        handle(decode_event(dict(call.request.headers), call.request.get_data()), runtime)
        return answer({"status": "taken"})

    paths = ("/", "/<path:pushed_to>")
    return Router([Route("POST", path, take, None) for path in paths], _platform, runtime.ready)


def _platform(_: Headers) -> Identity:
    """Who may push is settled before the request arrives: by the service's invoker permission."""
    return Identity(frozenset(), {})


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
