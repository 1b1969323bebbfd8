"""What is written about each route of the query function. Imported only to describe it."""

from collections.abc import Mapping
from typing import Final

from common.openapi import TEXT, Body, Operation, Route, Schema, json_of
from common.paging import MAX_PAGE
from functions.query.bodies import SearchBody, SeveralBody
from functions.query.decode_context import ContextBody, PromptBody, SeveralContextBody
from functions.query.reading import MAX_CARD_TOKENS
from functions.query.schemas import (
    Bases,
    BaseUsage,
    Contents,
    DocumentPage,
    JsonRpc,
    LinksOrPage,
    SearchAnswer,
    StorePage,
)
from functions.query.schemas_context import ContextAnswer, PromptAnswer
from functions.query.vector_stores import VectorStoreBody

_LIMIT: Final[Mapping[str, Schema]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE},
    "cursor": {"type": "string", "description": "`next_cursor` of the page before."},
}
_BASE: Final = "/v1/bases/<base>"
_DOCUMENT: Final = f"{_BASE}/documents/<source:source>"
_AMBIGUOUS: Final = 409

OPERATIONS: Final[Mapping[Route, Operation]] = {
    ("POST", f"{_BASE}/search"): Operation(
        "Ask a base: cited passages, or no match",
        json_of(SearchAnswer),
        [Body(SearchBody)],
        headers={"X-Keep-Question": {"type": "string", "description": "`no`: answer it, and keep nothing of it."}},
    ),
    ("POST", "/v1/search"): Operation(
        "Ask several bases at once", json_of(SearchAnswer), [Body(SeveralBody)], problems=[404]
    ),
    ("POST", f"{_BASE}/context"): Operation(
        "A block of text for a model, within a budget", json_of(ContextAnswer), [Body(ContextBody)]
    ),
    ("POST", "/v1/context"): Operation(
        "The same over several bases", json_of(ContextAnswer), [Body(SeveralContextBody)], problems=[404]
    ),
    ("POST", f"{_BASE}/prompt"): Operation(
        "A whole system prompt, in the part that stands until the base changes and the part that does not",
        json_of(PromptAnswer),
        [Body(PromptBody)],
    ),
    ("POST", "/v1/vector_stores/<base>/search"): Operation(
        "Ask a base in the shape of OpenAI's vector stores", json_of(StorePage), [Body(VectorStoreBody)]
    ),
    ("POST", "/mcp"): Operation(
        "The Model Context Protocol over streamable HTTP: one message, or up to 20 where its version knows batches",
        {200: Body(JsonRpc), 202: None, 400: Body(JsonRpc), 404: Body(JsonRpc), 406: Body(JsonRpc)},
        [Body(JsonRpc)],
        headers={"MCP-Protocol-Version": {"type": "string"}},
    ),
    ("GET", "/v1/bases"): Operation("The bases that the caller may read", json_of(Bases)),
    ("GET", f"{_BASE}/usage"): Operation(
        "What the base's models were given to do, and what that costs at the configured prices", json_of(BaseUsage)
    ),
    ("GET", f"{_BASE}/card"): Operation(
        "What a base holds, for a model to read before it asks; its bytes change only with the base's epoch",
        {200: Body({"type": "string"}, TEXT), 304: None},
        query={"max_tokens": {"type": "integer", "minimum": 1, "maximum": MAX_CARD_TOKENS}},
    ),
    ("GET", f"{_BASE}/toc"): Operation(
        "The documents that answer, by source", json_of(Contents), query={"prefix": {"type": "string"}, **_LIMIT}
    ),
    ("GET", _DOCUMENT): Operation(
        "One page of a document's exact text",
        json_of(DocumentPage),
        query={"offset": {"type": "integer", "minimum": 0, "description": "`next_offset` of the page before."}},
        problems=[_AMBIGUOUS],
    ),
    ("GET", f"{_DOCUMENT}/links"): Operation(
        "What a document refers to, and what refers to it; the page of a document whose own name ends so",
        json_of(LinksOrPage),
        problems=[_AMBIGUOUS],
    ),
}
