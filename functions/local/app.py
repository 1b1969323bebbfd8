"""The HTTP functions of one machine mounted together: one port, the same routes and the same handlers."""

from collections.abc import Callable, Iterable, Sequence

from werkzeug.wrappers import Request, Response

from common.boundary import Router
from common.runtime import LocalRuntime
from functions.manage.handle import router as manage_router
from functions.query.handle import router as query_router

Wsgi = Callable[[dict[str, object], Callable[..., object]], Iterable[bytes]]


def application(runtime: LocalRuntime) -> Wsgi:
    """One WSGI application over one runtime."""
    routers = (query_router(runtime), manage_router(runtime))

    def serve(environ: dict[str, object], start_response: Callable[..., object]) -> Iterable[bytes]:
        response = dispatch(routers, Request(environ))
        return response(environ, start_response)  # type: ignore[arg-type]  # werkzeug's own protocol types

    return serve


def dispatch(routers: Sequence[Router], request: Request) -> Response:
    """The function that has the route answers; where none has it, the first says so."""
    for router in routers:
        if router.allows(request):
            return router(request)
    for router in routers:
        if router.knows(request):
            return router(request)
    return routers[0](request)
