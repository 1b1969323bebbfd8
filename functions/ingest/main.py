"""Entry point of the ingest function under functions-framework.

An HTTP target: a CloudEvent one tells nothing of health, answers 500 where Busy is 503, and refuses a pushed message
without data, which then comes back for ever.
"""

import functions_framework
from flask import Request
from werkzeug.wrappers import Response

from common.bootstrap import check_process, process_runtime
from functions.ingest.handle import router

check_process(working=True)


@functions_framework.http
def ingest(request: Request) -> Response:
    """Take one event: 200 acknowledges it, anything else has it delivered again."""
    return router(process_runtime())(request)
