"""The manage function's routes: upload, listings, jobs, delete, reset. Knows nothing of where it runs."""

from collections.abc import Sequence
from typing import Any

from werkzeug.wrappers import Response

from common.boundary import Call, Route, Router, answer, json_body
from common.paging import decode_page, encode_cursor
from common.runtime import Runtime
from common.stages.listing import gate_view, iso
from functions.manage.decode import decode_repair, decode_signing, decode_state, decode_upload, position

BASE = "/v1/bases/<base>"


def router(runtime: Runtime) -> Router:
    """The manage function over one runtime."""
    routes = [*_files(runtime), *_jobs(runtime), *_base(runtime)]
    return Router(routes, runtime.authenticate, runtime.ready, _described)


def _described(routes: Sequence[tuple[str, str]]) -> dict[str, Any]:
    from common.openapi import describe  # noqa: PLC0415 - only who asks for it pays for its models
    from functions.manage.operations import OPERATIONS  # noqa: PLC0415 - see above

    return describe("Fichário: manage", routes, OPERATIONS)


def _files(runtime: Runtime) -> list[Route]:
    listing, manage = runtime.listing, runtime.manage

    def upload(call: Call) -> Response:
        given = decode_upload(call.request, manage.file_limit)
        stored = manage.upload(call.base, given.source, given.data, given.content_type)
        return answer(stored, 200 if stored["unchanged"] else 202)

    def sign(call: Call) -> Response:
        wanted = decode_signing(json_body(call.request))
        signed = manage.sign_upload(call.base, wanted.source, wanted.content_type, wanted.size)
        if signed["url"].startswith("/"):
            signed["url"] = call.request.host_url.rstrip("/") + signed["url"]
        return answer({**signed, "expires_at": iso(signed["expires_at"])})

    def documents(call: Call) -> Response:
        page = decode_page(call.request)
        after = (page.cursor[0], page.cursor[1]) if page.cursor else None
        rows = listing.documents(call.base, after, page.limit)
        full = len(rows) == page.limit
        following = encode_cursor(rows[-1]["source"], rows[-1]["object"]) if full and rows else None
        return answer({"documents": rows, "next_cursor": following})

    def delete(call: Call) -> Response:
        return answer({**manage.delete(call.base, str(call.path["source"])), "state": "queued"}, 202)

    return [
        Route("POST", f"{BASE}/documents", upload, "write"),
        Route("POST", f"{BASE}/uploads", sign, "write"),
        Route("GET", f"{BASE}/documents", documents, "read"),
        Route("DELETE", f"{BASE}/documents/<source:source>", delete, "write"),
    ]


def _jobs(runtime: Runtime) -> list[Route]:
    listing = runtime.listing

    def jobs(call: Call) -> Response:
        page = decode_page(call.request)
        found = listing.jobs(call.base, decode_state(call.request), position(page), page.limit)
        following = encode_cursor(*found[-1][1]) if found and len(found) == page.limit else None
        return answer({"jobs": [row for row, _ in found], "next_cursor": following})

    def job(call: Call) -> Response:
        return answer(listing.job(call.base, str(call.path["job_id"])))

    return [
        Route("GET", f"{BASE}/jobs", jobs, "read"),
        Route("GET", f"{BASE}/jobs/<job_id>", job, "read"),
    ]


def _base(runtime: Runtime) -> list[Route]:
    def reset(call: Call) -> Response:
        return answer(runtime.manage.reset(call.base), 202)

    def reconcile(call: Call) -> Response:
        wanted = decode_repair(json_body(call.request) if call.request.content_length else {})
        return answer(runtime.reconcile.run(call.base, repair=wanted.repair, yes=wanted.yes))

    def calibrate(call: Call) -> Response:
        return answer(gate_view(runtime.gate_fit.run(call.base)))

    return [
        Route("DELETE", BASE, reset, "admin"),
        Route("POST", f"{BASE}/reconcile", reconcile, "admin"),
        Route("POST", f"{BASE}/calibrate", calibrate, "admin"),
    ]
