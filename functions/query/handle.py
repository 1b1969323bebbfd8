"""The query function's routes: what it is asked, handed to the stages, encoded. Knows nothing of where it runs."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from werkzeug.wrappers import Response

from common.asking import Asking
from common.boundary import Call, Endpoint, Route, Router, answer
from common.domain.errors import Refused
from common.domain.gate import disabled
from common.domain.search import Answer
from common.json_bodies import json_body
from functions.query import context, protocols, reading, usage
from functions.query.decode import decode_search, decode_several
from functions.query.encode import answer_json, encode_answer
from functions.query.noticed import noticed

KEEP_QUESTION: Final = "X-Keep-Question"
"""A header: `no` has a question answered and not kept, as one that only measures a base."""


def router(runtime: Asking) -> Router:
    """The query function over one runtime."""
    routes = [*_search(runtime), *context.routes(runtime), *reading.routes(runtime), *usage.routes(runtime)]
    if not runtime.settings.enable_knowledge_base:
        routes = [replace(route, endpoint=_switched_off(route.rule)) for route in routes]
    return Router([*routes, *protocols.routes(runtime)], runtime.authenticate, runtime.ready, _described)


def _described(routes: Sequence[tuple[str, str]]) -> dict[str, Any]:
    from common.openapi import describe  # noqa: PLC0415 - only who asks for it pays for its models
    from functions.query.operations import OPERATIONS  # noqa: PLC0415 - see above

    return describe("Fichário: query", routes, OPERATIONS)


def _search(runtime: Asking) -> list[Route]:
    def search(call: Call) -> Response:
        started = time.perf_counter()
        measuring = call.headers.get(KEEP_QUESTION) == "no"
        wanted = decode_search(json_body(call.request), runtime.settings, measuring=measuring)
        found = noticed(runtime.answers.answer(call.base, wanted))
        return answer(answer_json(found, (time.perf_counter() - started) * 1000, runtime.prices))

    def several(call: Call) -> Response:
        started = time.perf_counter()
        asked, wanted = decode_several(json_body(call.request), runtime.settings)
        for each in asked:
            if not call.identity.allows(each.base, "read"):
                raise Refused(403, "FORBIDDEN", f"This identity may not read base {each.base}.", "bases")
        found = noticed(runtime.several.answer(asked, wanted))
        return answer(answer_json(found, (time.perf_counter() - started) * 1000, runtime.prices))

    return [
        Route("POST", "/v1/bases/<base>/search", search, "read"),
        Route("POST", "/v1/search", several, None),
    ]


def _switched_off(rule: str) -> Endpoint:
    """ENABLE_KNOWLEDGE_BASE=false: every query route says so at once, whatever it was asked."""
    body = {**encode_answer(Answer((), disabled(), "hybrid"), 0.0), **context.nothing(rule)}
    return lambda _: answer(body)
