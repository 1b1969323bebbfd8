"""Routes in the shapes that model runtimes already speak; each says by itself when the knowledge base is off."""

import time

from werkzeug.wrappers import Response

from common.asking import Asking
from common.boundary import Call, Endpoint, Route, answer, json_body
from common.domain.errors import Unavailable
from common.domain.gate import disabled
from common.domain.search import NO_MATCH, Answer
from functions.query.encode import encode_gate
from functions.query.vector_stores import decode_vector_store, encode_page, page_of


def routes(runtime: Asking) -> list[Route]:
    """The protocols over one runtime."""
    return [Route("POST", "/v1/vector_stores/<base>/search", _vector_store(runtime), "read")]


def _vector_store(runtime: Asking) -> Endpoint:
    def search(call: Call) -> Response:
        if not runtime.settings.enable_knowledge_base:
            off = {"match": False, "sentinel": NO_MATCH, "gate": encode_gate(disabled())}
            return answer({**page_of([], []), **off})
        asked, searches = decode_vector_store(json_body(call.request), runtime.settings)
        until = time.monotonic() + runtime.settings.kb_deadline_seconds
        answers: list[Answer] = []
        for each in searches:
            if answers and time.monotonic() > until:
                raise Unavailable("so many questions take longer than the deadline; ask fewer at once")
            answers.append(runtime.answers.answer(call.base, each))
        return answer(encode_page(asked, answers))

    return search
