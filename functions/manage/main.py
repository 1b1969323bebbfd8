"""Entry point of the manage function under functions-framework."""

from functools import lru_cache

import functions_framework
from flask import Request
from werkzeug.wrappers import Response

from common.bootstrap import check_process, process_runtime
from common.boundary import Router
from functions.manage.handle import router

check_process()


@lru_cache(maxsize=1)
def _serving() -> Router:
    return router(process_runtime())


@functions_framework.http
def manage(request: Request) -> Response:
    """Answer one HTTP request."""
    return _serving()(request)
