"""Routes in the shapes that model runtimes already speak; each says by itself when the knowledge base is off. What a
protocol needs is imported by its first user: the start of the function pays for none of it.
"""

import time

from werkzeug.wrappers import Response

from common.asking import Asking
from common.boundary import Call, Endpoint, Route, answer
from common.domain.errors import Misconfigured, Unavailable
from common.domain.gate import disabled
from common.domain.search import NO_MATCH, Answer
from common.json_bodies import json_body, json_bytes
from functions.query.encode import encode_gate
from functions.query.noticed import noticed


def routes(runtime: Asking) -> list[Route]:
    """The protocols over one runtime."""
    return [
        Route("POST", "/v1/vector_stores/<base>/search", _vector_store(runtime), "read"),
        Route("POST", "/mcp", _mcp(runtime), None),
    ]


def _vector_store(runtime: Asking) -> Endpoint:
    def search(call: Call) -> Response:
        from functions.query.vector_stores import decode_vector_store, encode_page, page_of  # noqa: PLC0415 - see above

        if not runtime.settings.enable_knowledge_base:
            off = {"match": False, "sentinel": NO_MATCH, "gate": encode_gate(disabled())}
            return answer({**page_of([], []), **off})
        asked, searches = decode_vector_store(json_body(call.request), runtime.settings)
        until = time.monotonic() + runtime.settings.kb_deadline_seconds
        answers: list[Answer] = []
        for each in searches:
            if answers and time.monotonic() > until:
                raise Unavailable("so many questions take longer than the deadline; ask fewer at once")
            answers.append(noticed(runtime.answers.answer(call.base, each)))
        return answer(encode_page(asked, answers))

    return search


def _mcp(runtime: Asking) -> Endpoint:
    """The Model Context Protocol over streamable HTTP, without sessions and without streams."""

    def message(call: Call) -> Response:
        data = json_bytes(call.request)
        try:
            from functions.query.mcp_server import answer_message  # noqa: PLC0415 - see above
        except ModuleNotFoundError as error:
            raise Misconfigured("The Model Context Protocol needs its library: pip install 'fichario[mcp]'.") from error
        from functions.query.tools import Toolbox  # noqa: PLC0415 - see above

        return answer_message(Toolbox(runtime, call.identity), call.request, data)

    return message
