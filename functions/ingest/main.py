"""Entry point of the ingest function under functions-framework.

An HTTP target: a CloudEvent one tells nothing of health, answers 500 where Busy is 503, and refuses a pushed message
without data, which then comes back for ever.
"""

from functools import lru_cache

import functions_framework
from flask import Request
from werkzeug.wrappers import Response

from common.bootstrap import check_process, process_runtime
from common.boundary import Router
from functions.ingest.handle import router

check_process()


@lru_cache(maxsize=1)
def _serving() -> Router:
    return router(process_runtime())


@functions_framework.http
def ingest(request: Request) -> Response:
    """Take one event: 200 acknowledges it, anything else has it delivered again."""
    return _serving()(request)
