"""The routes of a base's kept questions. All ask for admin: who may ask a base is not to see what others asked it."""

from typing import Any, Final

from werkzeug.wrappers import Response

from common.boundary import Call, Route, answer
from common.domain.errors import Refused
from common.domain.objects import MAX_SOURCE_BYTES
from common.domain.questions import LIMITS, MAX_CHARACTERS, Keep, KeptQuestion
from common.domain.splitting import is_blank
from common.json_bodies import json_list
from common.paging import decode_page
from common.runtime import Runtime
from common.stages.listing import iso

MAX_SET_BYTES: Final = 2 * 2**20
_SET: Final = "/v1/bases/<base>/questions"


def routes(runtime: Runtime) -> list[Route]:
    """What a base does not answer, and the set that comparisons ask."""
    keeping, listing = runtime.keeping, runtime.listing

    def gaps(call: Call) -> Response:
        limit = decode_page(call.request).limit
        listing.require(call.base)
        rows = [_encode_gap(each, keeping.kept) for each in keeping.gaps(call.base, limit)]
        return answer({"kept": keeping.kept, "gaps": rows})

    def counts(call: Call) -> Response:
        listing.require(call.base)
        return answer(keeping.counts(call.base))

    def store(call: Call) -> Response:
        wanted = decode_set(json_list(call.request, MAX_SET_BYTES))
        listing.require(call.base)
        keeping.replace(call.base, wanted)
        return answer(keeping.counts(call.base))

    return [
        Route("GET", "/v1/bases/<base>/gaps", gaps, "admin"),
        Route("GET", _SET, counts, "admin"),
        Route("PUT", _SET, store, "admin"),
    ]


def decode_set(body: list[Any]) -> list[tuple[str, str | None]]:
    """`[{"question": text, "source": text or null}]`. Raises Refused 400 naming the row and its field."""
    if len(body) > LIMITS["set"]:
        raise _refused(f"A set has at most {LIMITS['set']:,} questions, this one has {len(body):,}.", "body")
    return [_decode_row(row, number) for number, row in enumerate(body)]


def _decode_row(row: object, number: int) -> tuple[str, str | None]:
    if not isinstance(row, dict) or row.keys() != {"question", "source"}:
        raise _refused(f"Row {number} holds question and source, and nothing else.", str(number))
    text, source = row["question"], row["source"]
    if not isinstance(text, str) or is_blank(text) or len(text) > MAX_CHARACTERS:
        raise _refused(
            f"A question is a text of at most {MAX_CHARACTERS:,} characters, and not blank.", f"{number}.question"
        )
    if source is not None and not (isinstance(source, str) and 0 < len(source.encode()) <= MAX_SOURCE_BYTES):
        raise _refused("source is the source of a document, or null where none answers.", f"{number}.source")
    return text, source


def _encode_gap(question: KeptQuestion, kept: Keep) -> dict[str, Any]:
    """Words that were kept while that was consented to are not shown any more once it is not."""
    return {
        "question": question.text if kept == "text" and question.text else None,
        "digest": question.digest,
        "count": question.count,
        "last_asked_at": iso(question.asked_at),
    }


def _refused(detail: str, field: str) -> Refused:
    return Refused(400, "BAD_REQUEST", detail, field)
