"""Embedding models behind an OpenAI-compatible `/embeddings`: OpenAI itself and what speaks like it, Voyage, Ollama."""

import math
import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from common.adapters.http_exchange import Reply
from common.adapters.json_endpoint import OK, JsonEndpoint, Named
from common.adapters.remote_embedder import MOST_PASSAGES, NotNow, RemoteEmbedder, Role
from common.domain.errors import PassagesRejected, ProviderRefuses, Unavailable
from common.domain.providers import remote_model

MAX_ANSWER: Final = 32 * 1024 * 1024
"""64 vectors of 4,096 numbers of up to 25 characters come to 7 MB."""
_PATHS: Final[Mapping[str, str]] = {"openai": "/embeddings", "voyage": "/embeddings", "ollama": "/v1/embeddings"}
_VOYAGE_INPUT: Final[Mapping[Role, str]] = {"query": "query", "passage": "document"}
_REJECTED: Final = frozenset({400, 413, 422})
_UNKNOWN_KEY: Final = frozenset({401, 403})
_UNKNOWN: Final = 404
_IN_PASSING: Final = frozenset({408, 409, 425, 429})
_FAULTS: Final = 500


def openai_embedder(
    dialect: str, url: str, model: str, key: str = "", *, context: ssl.SSLContext | None = None
) -> RemoteEmbedder:
    """The embedder of `model` at `url`; `dialect` is openai, voyage or ollama. Raises Misconfigured for an address or a
    key that cannot be used.
    """
    return RemoteEmbedder(model, remote_model(model), OpenaiEndpoint(dialect, url, model, key, context))


class OpenaiEndpoint:
    """Endpoint over HTTP. Voyage is told what a text is for; the others are not, and OpenAI's and Ollama's refuse by
    themselves what is too long.
    """

    per_request = MOST_PASSAGES

    def __init__(
        self, dialect: str, url: str, model: str, key: str = "", context: ssl.SSLContext | None = None
    ) -> None:
        """Raises Misconfigured for an address or a key that cannot be used."""
        self.provider = dialect
        self.who = f"{dialect} at {urlsplit(url).hostname}"
        self.query_prefix, self.passage_prefix = "", ""
        if dialect == "voyage":
            self.query_prefix, self.passage_prefix = (f"input_type={role}: " for role in _VOYAGE_INPUT.values())
        path = _PATHS[dialect]
        if urlsplit(url).path.rstrip("/").endswith(("/v1", "/embeddings")):
            path = "/embeddings"
        self._endpoint = JsonEndpoint(url, path, key, Named(self.who, "KB_EMBED_URL", "KB_EMBED_API_KEY"), context)
        self._model = model

    def ask(self, texts: Sequence[str], role: Role, seconds: float) -> Sequence[Any]:
        """The vectors of one request in the order of its texts. See the port of remote_embedder."""
        body: dict[str, Any] = {"model": self._model, "input": list(texts)}
        if self.provider == "voyage":
            body |= {"input_type": _VOYAGE_INPUT[role], "truncation": False}
        try:
            reply = self._endpoint.post(body, seconds, MAX_ANSWER)
            if reply.status == OK:
                return _vectors(self._endpoint.answer(reply), self.who)
        except Unavailable as error:
            raise NotNow(str(error)) from error
        raise self._refusal(reply)

    def _refusal(self, reply: Reply) -> Exception:
        """Why there are no vectors. Of what was said only the status is told: it may quote a text or the key."""
        said = f"{self.who} answered {reply.status}"
        if reply.status in _UNKNOWN_KEY:
            return ProviderRefuses(f"{said} for model {self._model}: check KB_EMBED_API_KEY.")
        if reply.status == _UNKNOWN:
            pull = f" (`ollama pull {self._model}`)" if self.provider == "ollama" else ""
            return ProviderRefuses(f"{said}: check KB_EMBED_URL and that it has the model {self._model}{pull}.")
        if reply.status in _REJECTED:
            return PassagesRejected(f"{said}")
        if reply.status in _IN_PASSING or reply.status >= _FAULTS:
            return NotNow(said, _seconds(reply.retry_after))
        return ProviderRefuses(f"{said}: check KB_EMBED_URL.")


def _vectors(answer: Mapping[str, Any], who: str) -> list[Any]:
    """The vectors of an answer by their `index`, which an answer may leave out where they come in order."""
    data = answer.get("data")
    if not isinstance(data, list) or any(not isinstance(each, dict) for each in data):
        raise Unavailable(f"{who} answered without vectors")
    places = [each.get("index", place) for place, each in enumerate(data)]
    if any(type(place) is not int for place in places) or sorted(places) != list(range(len(data))):
        raise Unavailable(f"{who} answered vectors that are not numbered from 0")
    return [data[at].get("embedding") for at in sorted(range(len(data)), key=places.__getitem__)]


def _seconds(retry_after: str) -> float | None:
    """The header's seconds; None for none, for a date, or for nonsense."""
    try:
        seconds = float(retry_after)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
