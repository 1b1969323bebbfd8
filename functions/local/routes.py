"""The routes of the HTTP functions, for whoever has to know them all."""

from tempfile import TemporaryDirectory

from common.bootstrap import local_runtime
from common.settings import read_settings
from functions.manage.handle import router as manage_router
from functions.query.handle import router as query_router


def http_routes() -> dict[str, list[tuple[str, str]]]:
    """Method and rule of every route by function, from the routers themselves over an empty machine."""
    with TemporaryDirectory() as folder:
        runtime = local_runtime(read_settings({}, kb_data_dir=folder))
        try:
            return {"query": query_router(runtime).routes, "manage": manage_router(runtime).routes}
        finally:
            runtime.close()
