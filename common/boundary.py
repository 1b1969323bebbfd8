"""The HTTP edge that every function shares: routes, answers, problems (RFC 9457) and request ids."""

import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.routing import Map, PathConverter, RequestRedirect, Rule
from werkzeug.wrappers import Request, Response

from common.domain.errors import DocumentError, Misconfigured, Refused, Transient
from common.domain.objects import check_base
from common.identity import Authenticate, Identity, Scope
from common.json_bodies import JSON
from common.logs import TRACE, log_event, trace_of

RETRY_AFTER: Final = "2"
_PATHS_KEPT: Final = 256
UNAUTHENTICATED: Final = 401
_log = logging.getLogger("fichario.http")


class RequestHeaders:
    """A request's headers by name, but for its body's two, which WSGI keeps apart. Those of werkzeug take ten times as
    long to say that there is none.
    """

    def __init__(self, request: Request) -> None:
        self._environ = request.environ

    def get(self, key: str, /) -> str | None:
        found: str | None = self._environ.get(f"HTTP_{key.upper().replace('-', '_')}")
        return found


class Call(NamedTuple):
    """One authenticated request with what its path named."""

    request: Request
    headers: RequestHeaders
    identity: Identity
    path: Mapping[str, Any]

    @property
    def base(self) -> str:
        return str(self.path["base"])


Endpoint = Callable[[Call], Response]


@dataclass(frozen=True, slots=True)
class Route:
    """`scope` is what the caller needs on the path's base; None asks for an identity only."""

    method: str
    rule: str
    endpoint: Endpoint
    scope: Scope | None


class Router:
    """Routes of one function: authenticates, finds the route, checks the base, and turns every error into a problem."""

    def __init__(
        self,
        routes: Sequence[Route],
        authenticate: Authenticate,
        ready: Callable[[], Mapping[str, Any]],
        describe: Callable[[Sequence[tuple[str, str]]], Mapping[str, Any]] | None = None,
    ) -> None:
        self._routes = {id(route): route for route in routes}
        rules = [Rule(r.rule, methods=[r.method], endpoint=str(id(r))) for r in routes]
        self._map = Map(rules, converters={"source": _SourceConverter}, strict_slashes=False, merge_slashes=False)
        # Most requests are to few paths, and finding a route takes longer than an answer that is remembered.
        self._matched = lru_cache(_PATHS_KEPT)(self._match)
        self._authenticate = authenticate
        self._ready = ready
        self._describe = describe
        self._description: Mapping[str, Any] | None = None

    @property
    def routes(self) -> list[tuple[str, str]]:
        """Method and rule of every route."""
        return [(route.method, route.rule) for route in self._routes.values()]

    @property
    def description(self) -> Mapping[str, Any]:
        """The routes in OpenAPI's form, made when first asked for; empty where nothing is written about them."""
        if self._description is None:
            self._description = self._describe(self.routes) if self._describe else {}
        return self._description

    def knows(self, request: Request) -> bool:
        """Whether one of the routes has this path, whatever the method."""
        try:
            self._find(request)
        except MethodNotAllowed:
            return True
        except HTTPException:
            return False
        return True

    def allows(self, request: Request) -> bool:
        """Whether one of the routes has this path and method."""
        try:
            self._find(request)
        except HTTPException:
            return False
        return True

    def __call__(self, request: Request) -> Response:
        started = time.perf_counter()
        headers = RequestHeaders(request)
        request_id = (headers.get("X-Request-Id") or "")[:100] or os.urandom(16).hex()
        traced = TRACE.set(trace_of(headers.get("traceparent") or ""))
        try:
            response = self._public(request) or self._serve(request, headers)
        except Exception as error:  # noqa: BLE001 - the edge: every error becomes a problem and is logged
            response = problem_of(error, request_id)
        response.headers["X-Request-Id"] = request_id if request_id.isprintable() else os.urandom(16).hex()
        took_ms = round((time.perf_counter() - started) * 1000, 2)
        log_event(
            "answered", method=request.method, status=response.status_code, took_ms=took_ms, request_id=request_id
        )
        TRACE.reset(traced)
        return response

    def _public(self, request: Request) -> Response | None:
        """What anybody may know: that the function is there, whether it is ready, and what it can be asked."""
        if request.path == "/healthz":
            return answer({"status": "alive"})
        if request.path == "/readyz":
            return answer({"status": "ready", **self._ready()})
        if request.path == "/openapi.json" and request.method in {"GET", "HEAD"} and self._describe is not None:
            return answer(self.description)
        return None

    def _serve(self, request: Request, headers: RequestHeaders) -> Response:
        identity = self._authenticate(headers)
        route, path = self._find(request)
        if route.scope is not None and not identity.allows(path.get("base", ""), route.scope):
            raise Refused(403, "FORBIDDEN", f"This identity may not {route.scope} this base.")
        if "base" in path:
            check_base(path["base"])
        return route.endpoint(Call(request, headers, identity, path))

    def _find(self, request: Request) -> tuple[Route, Mapping[str, Any]]:
        return self._matched(request.path, request.method)

    def _match(self, path_info: str, method: str) -> tuple[Route, Mapping[str, Any]]:
        endpoint, path = self._map.bind("", path_info=path_info).match(method=method)
        return self._routes[int(endpoint)], path


class _SourceConverter(PathConverter):
    """A document's source: any path, slashes included."""

    regex = ".+?"
    part_isolating = False


def answer(body: Any, status: int = 200, **headers: str) -> Response:  # noqa: ANN401 - JSON-ready data
    """A JSON response; bytes are JSON already."""
    text = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()} if headers else None
    # In a list: the length is told when it is sent, and need not be put among the headers twice.
    return Response([text], status, named, content_type=JSON)


def problem_of(error: Exception, request_id: str) -> Response:
    """Any error as a problem. Only what the caller can act on is told; a bug is logged by its type and place."""
    if isinstance(error, Refused):
        return _problem(error.status, error.code, error.detail, error.field, error.extra)
    if isinstance(error, DocumentError):
        return _problem(422, error.code, f"{error.reason} {error.next_step}")
    if isinstance(error, Transient):
        return _problem(503, "UNAVAILABLE", str(error), retry=True)
    if isinstance(error, Misconfigured):
        _log.error("misconfigured", extra={"request_id": request_id, "error": str(error)})
        return _problem(503, "MISCONFIGURED", str(error), retry=True)
    if isinstance(error, RequestRedirect | NotFound):
        return _problem(404, "NOT_FOUND", "There is no such route.")
    if isinstance(error, MethodNotAllowed):
        response = _problem(405, "METHOD_NOT_ALLOWED", "This route does not take this method.")
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))
        return response
    if isinstance(error, HTTPException):
        return _problem(error.code or 400, "BAD_REQUEST", error.description or "The request cannot be read.")
    _log.error(
        "unexpected error", extra={"request_id": request_id, "error_type": type(error).__name__, **_place(error)}
    )
    return _problem(500, "INTERNAL", f"A fault of ours; report it with request id {request_id}.")


def _problem(
    status: int,
    code: str,
    detail: str,
    field: str | None = None,
    extra: Mapping[str, object] | None = None,
    *,
    retry: bool = False,
) -> Response:
    body: dict[str, object] = {"type": "about:blank", "title": code, "status": status, "code": code, "detail": detail}
    if field:
        body["field"] = field
    response = Response(json.dumps({**body, **(extra or {})}, ensure_ascii=False), status)
    response.headers["Content-Type"] = "application/problem+json"
    if status == UNAUTHENTICATED:
        response.headers["WWW-Authenticate"] = "Bearer"
    if retry:
        response.headers["Retry-After"] = RETRY_AFTER
    return response


def _place(error: Exception) -> dict[str, object]:
    """Where it was raised, without any value."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return {}
    return {"file": trace.tb_frame.f_code.co_filename.rsplit("/", 1)[-1], "line": trace.tb_lineno}
