"""The query function's routes: what it is asked, handed to the stages, encoded. Knows nothing of where it runs."""

import time
from dataclasses import replace

from werkzeug.wrappers import Response

from common.boundary import Call, Endpoint, Route, Router, answer, json_body
from common.domain.errors import Refused
from common.domain.gate import disabled
from common.domain.search import Answer
from common.runtime import Asking
from functions.query import context
from functions.query.decode import decode_search, decode_several
from functions.query.encode import encode_answer


def router(runtime: Asking) -> Router:
    """The query function over one runtime."""
    routes = [*_search(runtime), *context.routes(runtime), *_listings(runtime)]
    if not runtime.settings.enable_knowledge_base:
        routes = [replace(route, endpoint=_switched_off(route.rule)) for route in routes]
    return Router(routes, runtime.authenticate, runtime.ready)


def _search(runtime: Asking) -> list[Route]:
    def search(call: Call) -> Response:
        started = time.perf_counter()
        wanted = decode_search(json_body(call.request), runtime.settings)
        found = runtime.answers.answer(call.base, wanted)
        return answer(encode_answer(found, (time.perf_counter() - started) * 1000))

    def several(call: Call) -> Response:
        started = time.perf_counter()
        asked, wanted = decode_several(json_body(call.request), runtime.settings)
        for each in asked:
            if not call.identity.allows(each.base, "read"):
                raise Refused(403, "FORBIDDEN", f"This identity may not read base {each.base}.", "bases")
        found = runtime.several.answer(asked, wanted)
        return answer(encode_answer(found, (time.perf_counter() - started) * 1000))

    return [
        Route("POST", "/v1/bases/<base>/search", search, "read"),
        Route("POST", "/v1/search", several, None),
    ]


def _listings(runtime: Asking) -> list[Route]:
    def bases(call: Call) -> Response:
        listed = [
            runtime.listing.base(record.base)
            for record in runtime.catalog.bases()
            if call.identity.allows(record.base, "read")
        ]
        return answer({"bases": listed})

    def links(call: Call) -> Response:
        return answer(runtime.listing.links(call.base, str(call.path["source"])))

    return [
        Route("GET", "/v1/bases", bases, None),
        Route("GET", "/v1/bases/<base>/documents/<source:source>/links", links, "read"),
    ]


def _switched_off(rule: str) -> Endpoint:
    """ENABLE_KNOWLEDGE_BASE=false: every query route says so at once, whatever it was asked."""
    body = {**encode_answer(Answer((), disabled(), "hybrid"), 0.0), **context.nothing(rule)}
    return lambda _: answer(body)
