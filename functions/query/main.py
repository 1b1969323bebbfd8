"""Entry point of the query function under functions-framework."""

import functions_framework
from flask import Request
from werkzeug.wrappers import Response

from common.bootstrap import check_process, process_asking
from functions.query.handle import router

check_process(working=False)


@functions_framework.http
def query(request: Request) -> Response:
    """Answer one HTTP request."""
    return router(process_asking())(request)
