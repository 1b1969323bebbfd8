"""The reindex function: one order of a migration in, its work done or the order back with the broker."""

import time
from typing import Any

from werkzeug.wrappers import Response

from common.boundary import Call, Route, Router, answer
from common.domain.errors import Unavailable
from common.identity import Headers, Identity
from common.logs import log_event
from common.runtime import Runtime
from functions.reindex.decode import decode_order, decode_push


def router(runtime: Runtime) -> Router:
    """The reindex function over one runtime: orders at any path, and health."""

    def take(call: Call) -> Response:
        if runtime.ingest.stopping():
            raise Unavailable("This instance is being stopped; another one takes the order.")
        handle(decode_push(call.request.get_data()), runtime)
        return answer({"status": "taken"})

    paths = ("/", "/<path:pushed_to>")
    return Router([Route("POST", path, take, None) for path in paths], _platform, runtime.ready)


def handle(data: Any, runtime: Runtime) -> None:  # noqa: ANN401 - JSON as it came
    """Carry out one order. Raises for the broker to deliver it again."""
    order = decode_order(data)
    if order is None:
        log_event("ignored", reason="a message that is no order")
        return
    started = time.perf_counter()
    runtime.migrating.take(order)
    took_ms = round((time.perf_counter() - started) * 1000, 1)
    log_event("order", kind=order.command, base=order.base, count=len(order.objects), took_ms=took_ms)


def _platform(_: Headers) -> Identity:
    """Who may push is settled before the request arrives: by the service's invoker permission."""
    return Identity(frozenset(), {})
