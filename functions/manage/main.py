"""Entry point of the manage function under functions-framework."""

import functions_framework
from flask import Request
from werkzeug.wrappers import Response

from common.bootstrap import check_process, process_runtime
from functions.manage.handle import router

check_process(working=True)


@functions_framework.http
def manage(request: Request) -> Response:
    """Answer one HTTP request."""
    return router(process_runtime())(request)
