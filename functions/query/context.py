"""The routes that give a model text rather than a list: context of one base or several, and a whole system prompt."""

import time
from typing import TYPE_CHECKING, Any

from werkzeug.wrappers import Response

from common.asking import Asking
from common.boundary import Call, Route, answer
from common.domain.errors import Refused
from common.domain.search import Answer
from common.domain.usage import Prices
from common.json_bodies import json_body
from functions.query.encode import as_json, encode_answer

if TYPE_CHECKING:
    from common.domain.context import Block, ShownPassage


def routes(runtime: Asking) -> list[Route]:
    """The routes over one runtime."""

    def context(call: Call) -> Response:
        from functions.query.decode_context import decode_context  # noqa: PLC0415 - who only searches needs none of it

        started = time.perf_counter()
        wanted = decode_context(json_body(call.request), runtime.settings, runtime.token_counter)
        found, block = runtime.contexts.of_base(call.base, wanted)
        return answer(as_json(encode_block(found, block, started, runtime.prices)))

    def several(call: Call) -> Response:
        from functions.query.decode_context import decode_several_context  # noqa: PLC0415 - see context

        started = time.perf_counter()
        asked, wanted = decode_several_context(json_body(call.request), runtime.settings, runtime.token_counter)
        for each in asked:
            if not call.identity.allows(each.base, "read"):
                raise Refused(403, "FORBIDDEN", f"This identity may not read base {each.base}.", "bases")
        found, block = runtime.contexts.of_several(asked, wanted)
        return answer(as_json(encode_block(found, block, started, runtime.prices)))

    def prompt(call: Call) -> Response:
        from functions.query.decode_context import decode_prompt  # noqa: PLC0415 - see context

        started = time.perf_counter()
        wanted, preamble = decode_prompt(json_body(call.request), runtime.settings, runtime.token_counter)
        found, made = runtime.contexts.prompt(call.base, wanted, preamble)
        system = {
            "system": made.system,
            "stable": made.stable,
            "volatile": made.volatile,
            "system_tokens": runtime.token_counter.count(made.system),
            "system_characters": len(made.system),
        }
        return answer(as_json({**encode_block(found, made.block, started, runtime.prices), **system}))

    return [
        Route("POST", "/v1/bases/<base>/context", context, "read"),
        Route("POST", "/v1/context", several, None),
        Route("POST", "/v1/bases/<base>/prompt", prompt, "read"),
    ]


def nothing(rule: str) -> dict[str, Any]:
    """What a switched off deployment says beside the answer on the route with this rule."""
    if not rule.endswith(("/context", "/prompt")):
        return {}
    from common.domain.context import Block  # noqa: PLC0415 - who only searches needs none of it

    parts = {"system": "", "stable": "", "volatile": ""} if rule.endswith("/prompt") else {}
    return {**_block(Block()), **parts}


def encode_block(found: Answer, block: "Block", started: float, prices: Prices) -> dict[str, Any]:
    """The block with all that the answer says, its passages as they are shown."""
    body = {**encode_answer(found._replace(passages=()), 0.0, prices), **_block(block)}
    if block.redacted:
        secrets = "1 secret was" if block.redacted == 1 else f"{block.redacted} secrets were"
        body["warnings"] = [*body["warnings"], f"{secrets} masked (KB_REDACT=secrets)."]
    body["took_ms"] = round((time.perf_counter() - started) * 1000, 3)
    return body


def _block(block: "Block") -> dict[str, Any]:
    return {
        "text": block.text,
        "documents": [document._asdict() for document in block.documents],
        "passages": [_passage(passage) for passage in block.passages],
        "tokens": block.tokens,
        "characters": block.characters,
        "truncated": block.truncated,
    }


def _passage(passage: "ShownPassage") -> dict[str, Any]:
    """One stretch; `stale` only where an older generation still answers (RULES 4)."""
    body = passage._asdict()
    if not passage.stale:
        del body["stale"]
    return body
