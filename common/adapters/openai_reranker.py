"""The Reranker port over any OpenAI-compatible chat endpoint: one listwise call within 8 seconds. Whatever goes wrong
is Unavailable and names neither the key nor a text.
"""

import ssl
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from common.adapters.json_endpoint import OK, JsonEndpoint, Named
from common.domain.errors import Unavailable
from common.domain.listwise import INSTRUCTION, MAX_PASSAGES, listwise_message, read_order
from common.ports import Reranked

SECONDS: Final = 8.0
MAX_ANSWER: Final = 256 * 1024
_PATH: Final = "/chat/completions"
_NAMED: Final = Named("the reranker", "KB_RERANK_URL", "KB_RERANK_API_KEY")


class OpenaiReranker:
    """Asks `model` at `url` (with or without `/chat/completions`), with `key` as bearer token unless empty."""

    def __init__(
        self, url: str, model: str, key: str = "", *, seconds: float = SECONDS, context: ssl.SSLContext | None = None
    ) -> None:
        """Raises Misconfigured for an address or a key that cannot be used."""
        self._endpoint = JsonEndpoint(url, _PATH, key, _NAMED, context)
        self._model = model
        self._seconds = seconds

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
        reply = self._endpoint.post(body, seconds, MAX_ANSWER)
        if reply.status != OK:
            raise Unavailable(f"the reranker answered {reply.status}")
        answer = self._endpoint.answer(reply)
        order = read_order(_content(answer), min(len(texts), MAX_PASSAGES), len(texts))
        if order is None:
            raise Unavailable("the reranker answered without an order")
        usage = answer.get("usage")
        return Reranked(order, _tokens(usage, "prompt_tokens"), _tokens(usage, "completion_tokens"))


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
