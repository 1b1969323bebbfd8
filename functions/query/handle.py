"""The query function's routes: what it is asked, handed to the stages, encoded. Knows nothing of where it runs."""

import time

from werkzeug.wrappers import Response

from common.boundary import Call, Route, Router, answer, json_body
from common.runtime import Asking
from functions.query.decode import decode_search
from functions.query.encode import encode_answer


def router(runtime: Asking) -> Router:
    """The query function over one runtime."""

    def search(call: Call) -> Response:
        started = time.perf_counter()
        wanted = decode_search(json_body(call.request), runtime.settings)
        found = runtime.answers.answer(call.base, wanted)
        return answer(encode_answer(found, (time.perf_counter() - started) * 1000))

    def bases(call: Call) -> Response:
        listed = [
            runtime.listing.base(record.base)
            for record in runtime.catalog.bases()
            if call.identity.allows(record.base, "read")
        ]
        return answer({"bases": listed})

    def links(call: Call) -> Response:
        return answer(runtime.listing.links(call.base, str(call.path["source"])))

    return Router(
        [
            Route("POST", "/v1/bases/<base>/search", search, "read"),
            Route("GET", "/v1/bases", bases, None),
            Route("GET", "/v1/bases/<base>/documents/<source:source>/links", links, "read"),
        ],
        runtime.authenticate,
        runtime.ready,
    )
