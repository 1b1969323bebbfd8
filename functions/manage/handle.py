"""The manage function's routes: upload, listings, jobs, delete, reset, reconcile. Knows nothing of where it runs."""

import uuid
from collections.abc import Sequence
from typing import Any

from werkzeug.wrappers import Response

from common.boundary import Call, Endpoint, Route, Router, answer, problem_of
from common.domain.errors import FicharioError, Refused
from common.json_bodies import json_body
from common.logs import log_event
from common.paging import decode_page, encode_cursor
from common.runtime import Runtime
from common.stages.listing import gate_view, iso
from common.stages.reconcile import KINDS, Round
from functions.manage import questions, reindex
from functions.manage.decode import decode_repair, decode_signing, decode_state, decode_upload, position

BASE = "/v1/bases/<base>"


def router(runtime: Runtime) -> Router:
    """The manage function over one runtime."""
    routes = [*_files(runtime), *_jobs(runtime), *_base(runtime), *questions.routes(runtime), *reindex.routes(runtime)]
    routes.append(Route("POST", "/v1/reconcile", _all(runtime), None))
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


def _all(runtime: Runtime) -> Endpoint:
    """Reconcile of every base that the caller may administer, as a schedule asks for it: one failure is told with its
    base and is none of the request.
    """

    def reconcile(call: Call) -> Response:
        if not call.identity.holds("admin"):
            raise Refused(403, "FORBIDDEN", "This identity may administer no base.")
        wanted = decode_repair(json_body(call.request) if call.request.content_length else {})
        run_all = runtime.reconcile.run_all
        found = run_all(lambda base: call.identity.allows(base, "admin"), repair=wanted.repair, yes=wanted.yes)
        fitted = _fit(runtime, call, found) if wanted.repair and not found.left else []
        return answer({**_encode_round(found), "fitted": fitted})

    return reconcile


def _fit(runtime: Runtime, call: Call, found: Round) -> list[str]:
    """The bases whose gates were due and are fitted now: in the cloud nothing else is idle enough to do it (RULES 16).
    One that fails is told beside those that could not be reconciled.
    """
    fitted = []
    for base in runtime.gate_fit.due():
        if not call.identity.allows(base, "admin"):
            continue
        try:
            runtime.gate_fit.run(base)
        except FicharioError as error:
            found.failures.setdefault(base, error)
        else:
            fitted.append(base)
    return fitted


def _encode_round(found: Round) -> dict[str, Any]:
    """Sums by kind, then the bases one by one; a base's details are told by its own route."""
    sums = {kind: sum(counts.get(kind, 0) for counts in found.counts.values()) for kind in KINDS}
    return {
        **sums,
        "foreign": found.foreign,
        "bases": [{"base": base, **counts} for base, counts in found.counts.items()],
        "errors": [_failed(base, error) for base, error in found.failures.items()],
        "left": found.left,
    }


def _failed(base: str, error: Exception) -> dict[str, str]:
    problem = problem_of(error, uuid.uuid4().hex).get_json()
    log_event("not reconciled", base=base, reason=problem["code"])
    return {"base": base, "code": problem["code"], "detail": problem["detail"]}
