"""Entry point of the reindex function under functions-framework."""

from functools import lru_cache

import functions_framework
from flask import Request
from werkzeug.wrappers import Response

from common.bootstrap import check_process, process_runtime
from common.boundary import Router
from functions.reindex.handle import router

check_process()


@lru_cache(maxsize=1)
def _serving() -> Router:
    return router(process_runtime())


@functions_framework.http
def reindex(request: Request) -> Response:
    """Take one order: 200 acknowledges it, anything else has it delivered again."""
    return _serving()(request)
