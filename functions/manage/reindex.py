"""The manage function's routes of migrations."""

from werkzeug.wrappers import Response

from common.boundary import Call, Endpoint, Route, answer
from common.json_bodies import json_body
from common.runtime import Runtime
from functions.manage.decode import decode_force, decode_start

BASE = "/v1/bases/<base>"


def routes(runtime: Runtime) -> list[Route]:
    """A migration of a base: its plan, its start, how far it is, and what people command of it."""
    reindexing = runtime.reindexing
    commands = {"switch": reindexing.switch, "rollback": reindexing.rollback}

    def start(call: Call) -> Response:
        wanted = decode_start(json_body(call.request) if call.request.content_length else {})
        return answer(reindexing.start(call.base, wanted.model, auto_switch=wanted.auto_switch), 202)

    def plan(call: Call) -> Response:
        return answer(reindexing.plan(call.base, decode_start(dict(call.request.args)).model))

    def status(call: Call) -> Response:
        return answer(reindexing.status(call.base, _key(call)))

    def forced(name: str) -> Endpoint:
        def command(call: Call) -> Response:
            force = decode_force(json_body(call.request) if call.request.content_length else {})
            return answer(commands[name](call.base, _key(call), force=force))

        return command

    def cancel(call: Call) -> Response:
        return answer(reindexing.cancel(call.base, _key(call)))

    def retire(call: Call) -> Response:
        return answer(reindexing.retire(call.base, _key(call)))

    own = f"{BASE}/reindex/<reindex_id>"
    return [
        Route("POST", f"{BASE}/reindex", start, "admin"),
        Route("GET", f"{BASE}/reindex", status, "admin"),
        Route("GET", f"{BASE}/reindex/plan", plan, "admin"),
        Route("GET", own, status, "admin"),
        Route("POST", f"{own}/switch", forced("switch"), "admin"),
        Route("POST", f"{own}/rollback", forced("rollback"), "admin"),
        Route("POST", f"{own}/cancel", cancel, "admin"),
        Route("POST", f"{own}/retire", retire, "admin"),
    ]


def _key(call: Call) -> str | None:
    """The migration that the path names; the base's last one where it names none."""
    key = call.path.get("reindex_id")
    return None if key is None or key == "last" else str(key)
