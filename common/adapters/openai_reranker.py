"""The Reranker port over any OpenAI-compatible chat endpoint: one listwise call within 8 seconds. Whatever goes wrong
is Unavailable and names neither the key nor a text.
"""

import json
import ssl
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from common.adapters.http_exchange import Reply, Request, exchange, origin_of
from common.domain.errors import Misconfigured, Unavailable
from common.domain.listwise import INSTRUCTION, MAX_PASSAGES, listwise_message, read_order
from common.identity import LOOPBACK
from common.ports import Reranked

SECONDS: Final = 8.0
MAX_ANSWER: Final = 256 * 1024
_PATH: Final = "/chat/completions"
_OK: Final = 200


class OpenaiReranker:
    """Asks `model` at `url` (with or without `/chat/completions`), with `key` as bearer token unless empty."""

    def __init__(
        self, url: str, model: str, key: str = "", *, seconds: float = SECONDS, context: ssl.SSLContext | None = None
    ) -> None:
        """Raises Misconfigured for an address or a key that cannot be used."""
        origin = origin_of(url)
        if origin is None:
            raise Misconfigured("KB_RERANK_URL is an http or https address with a fixed host and without user name.")
        if key and origin[0] == "http" and origin[1] not in LOOPBACK:
            raise Misconfigured("KB_RERANK_API_KEY goes out over https only, or to this machine: see KB_RERANK_URL.")
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise Misconfigured("KB_RERANK_API_KEY is one word of ASCII characters.")
        self._address = _completions(url)
        self._model = model
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._seconds = seconds
        self._secure = origin[0] == "https"
        self._context = context

    def rerank(self, question: str, texts: Sequence[str], deadline: float) -> Reranked:
        """The order of the texts; those behind the first 24 keep their places. See the port."""
        if len(texts) <= 1:
            return Reranked(tuple(range(len(texts))), 0, 0)
        seconds = min(self._seconds, deadline - time.monotonic())
        if seconds <= 0:
            raise Unavailable("the reranker was not asked: no time was left")
        body = {
            "model": self._model,
            "temperature": 0,
            "messages": [
                {"role": "system", "content": INSTRUCTION},
                {"role": "user", "content": listwise_message(question, texts)},
            ],
        }
        answer = _answer(
            self._exchange(Request("POST", self._address, self._headers, json.dumps(body).encode()), seconds)
        )
        order = read_order(_content(answer), min(len(texts), MAX_PASSAGES), len(texts))
        if order is None:
            raise Unavailable("the reranker answered without an order")
        usage = answer.get("usage")
        return Reranked(order, _tokens(usage, "prompt_tokens"), _tokens(usage, "completion_tokens"))

    def _exchange(self, request: Request, seconds: float) -> Reply:
        if self._secure and self._context is None:
            # Made by the first call: reading the machine's certificates takes longer than most starts have.
            self._context = ssl.create_default_context()
        try:
            return exchange(request, seconds, MAX_ANSWER, "rerank", self._context)
        except Unavailable as error:
            raise Unavailable(f"the reranker {error}") from None


def _completions(url: str) -> str:
    where = urlsplit(url)
    path = where.path.rstrip("/")
    return urlunsplit((where.scheme, where.netloc, path if path.endswith(_PATH) else path + _PATH, where.query, ""))


def _answer(reply: Reply) -> Mapping[str, Any]:
    """The JSON object of a whole and successful reply."""
    if reply.status != _OK:
        raise Unavailable(f"the reranker answered {reply.status}")
    if reply.body is None:
        raise Unavailable("the reranker's answer did not arrive whole, or is too large")
    try:
        answer = json.loads(reply.body)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise Unavailable("the reranker answered something that is no JSON object")
    return answer


def _content(answer: Mapping[str, Any]) -> str:
    try:
        content = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        content = None
    return content if isinstance(content, str) else ""


def _tokens(usage: object, name: str) -> int:
    """What the endpoint says it counted; 0 where it says nothing of use."""
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count < 1 << 31 else 0
