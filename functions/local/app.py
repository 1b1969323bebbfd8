"""The HTTP functions of one machine mounted together: one port, the same routes and the same handlers."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from werkzeug.wrappers import Request, Response

from common.boundary import Call, Route, Router, answer
from common.identity import Authenticate, Headers, Identity, loopback_only
from common.runtime import LocalRuntime
from functions.manage.decode import decode_upload
from functions.manage.handle import router as manage_router
from functions.query.handle import router as query_router

Wsgi = Callable[[dict[str, object], Callable[..., object]], Iterable[bytes]]


def application(runtime: LocalRuntime) -> Wsgi:
    """One WSGI application over one runtime."""
    routers = (query_router(runtime), manage_router(runtime), _uploads(runtime))
    whole = Router([], runtime.authenticate, runtime.ready, lambda _: _together(routers))

    def serve(environ: dict[str, object], start_response: Callable[..., object]) -> Iterable[bytes]:
        request = Request(environ)
        response = whole(request) if request.path == "/openapi.json" else dispatch(routers, request)
        return response(environ, start_response)  # type: ignore[arg-type]  # werkzeug's own protocol types

    return serve


def _uploads(runtime: LocalRuntime) -> Router:
    """Where signed uploads of this machine go; the address itself is the permission."""

    def put(call: Call) -> Response:
        grant = runtime.uploads.redeem(str(call.path["token"]))
        given = decode_upload(call.request, grant.size, grant.ref.name)
        stored = runtime.manage.upload(grant.ref.base, grant.ref.name, given.data, grant.content_type)
        return answer(stored, 200 if stored["unchanged"] else 202)

    anyone: Authenticate = loopback_only if runtime.settings.kb_auth == "none" else _bearer_of_the_address
    return Router([Route("PUT", "/v1/uploads/<token>", put, None)], anyone, runtime.ready, _described)


def _described(routes: Sequence[tuple[str, str]]) -> dict[str, Any]:
    from common.openapi import describe  # noqa: PLC0415 - only who asks for it pays for its models
    from functions.manage.operations import SIGNED_UPLOADS  # noqa: PLC0415 - see above

    return describe("Fichário", routes, SIGNED_UPLOADS)


def _together(routers: Sequence[Router]) -> dict[str, Any]:
    from common.openapi import merged  # noqa: PLC0415 - see above

    return merged("Fichário", [router.description for router in routers])


def _bearer_of_the_address(_headers: Headers) -> Identity:
    return Identity(frozenset(), {})


def dispatch(routers: Sequence[Router], request: Request) -> Response:
    """The function that has the route answers; where none has it, the first says so."""
    for router in routers:
        if router.allows(request):
            return router(request)
    for router in routers:
        if router.knows(request):
            return router(request)
    return routers[0](request)
