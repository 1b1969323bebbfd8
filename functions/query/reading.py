"""Routes that read beside asking: the bases, a base's card and contents, a document's pages and links."""

from collections.abc import Mapping
from typing import Any, Final

from werkzeug.wrappers import Response

from common.asking import Asking
from common.boundary import Call, Route, answer
from common.domain.contents import CARD_TOKENS
from common.domain.errors import Refused
from common.domain.objects import digest
from common.paging import decode_page, encode_cursor

MAX_CARD_TOKENS: Final = 100_000
_NOT_FOUND: Final = 404
_BASE: Final = "/v1/bases/<base>"
_DIGITS: Final = 10


def routes(runtime: Asking) -> list[Route]:
    """The reading routes over one runtime."""

    def bases(call: Call) -> Response:
        records = (
            record for record in runtime.catalog.bases() if record.live and call.identity.allows(record.base, "read")
        )
        return answer({"bases": [runtime.listing.base(record.base) for record in records]})

    return [Route("GET", "/v1/bases", bases, None), *_overviews(runtime), *_documents(runtime)]


def _overviews(runtime: Asking) -> list[Route]:
    def card(call: Call) -> Response:
        max_tokens = _whole(call, "max_tokens", CARD_TOKENS, 1, MAX_CARD_TOKENS)
        text = runtime.reading.card(call.base, max_tokens)
        response = Response(text, mimetype="text/plain")
        response.headers["Cache-Control"] = "private, no-cache"
        response.set_etag(digest("card", call.base, max_tokens, text))
        return response.make_conditional(call.request)

    def toc(call: Call) -> Response:
        page, prefix = decode_page(call.request), call.request.args.get("prefix", "")
        after = (page.cursor[0], page.cursor[1]) if page.cursor else None
        rows = runtime.reading.toc(call.base, prefix, after, page.limit + 1)
        shown = rows[: page.limit]
        following = encode_cursor(shown[-1]["source"], shown[-1]["object"]) if len(rows) > len(shown) else None
        return answer({"base": call.base, "documents": shown, "next_cursor": following})

    return [Route("GET", f"{_BASE}/card", card, "read"), Route("GET", f"{_BASE}/toc", toc, "read")]


def _documents(runtime: Asking) -> list[Route]:
    def page_of(call: Call, name: str) -> Mapping[str, Any]:
        return runtime.reading.page(call.base, name, _whole(call, "offset", 0, 0, 10**_DIGITS))

    def page(call: Call) -> Response:
        return answer(page_of(call, str(call.path["source"])))

    def links(call: Call) -> Response:
        """The longest existing source wins over the route's last word (RULES 22), and so does a name that has it."""
        source = str(call.path["source"])
        whole = f"{source}/links"
        if runtime.reading.is_source(call.base, whole):
            return answer(page_of(call, whole))
        try:
            return answer(runtime.listing.links(call.base, source))
        except Refused as refused:
            if refused.status != _NOT_FOUND:
                raise
            try:
                return answer(page_of(call, whole))
            except Refused as other:
                raise (refused if other.status == _NOT_FOUND else other) from None

    document = f"{_BASE}/documents/<source:source>"
    return [Route("GET", document, page, "read"), Route("GET", f"{document}/links", links, "read")]


def _whole(call: Call, name: str, default: int, low: int, high: int) -> int:
    """A whole number of the query string. Raises Refused 400 naming it."""
    given = call.request.args.get(name)
    if given is None:
        return default
    number = int(given) if given.isascii() and given.isdigit() and len(given) <= _DIGITS else -1
    if not low <= number <= high:
        raise Refused(400, "BAD_REQUEST", f"{name} is a whole number from {low} to {high}.", name)
    return number
