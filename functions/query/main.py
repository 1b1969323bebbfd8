"""Entry point of the query function under functions-framework."""

from functools import lru_cache

import functions_framework
from flask import Request
from werkzeug.wrappers import Response

from common.bootstrap_query import process_asking, start_process
from common.boundary import Router
from functions.query.handle import router

start_process()


@lru_cache(maxsize=1)
def _serving() -> Router:
    return router(process_asking())


@functions_framework.http
def query(request: Request) -> Response:
    """Answer one HTTP request."""
    return _serving()(request)
