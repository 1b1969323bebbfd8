"""How a Qdrant client is called: one call at a time where it is local, repeated when it fails in passing where not.

The errors of both come out in the product's words.
"""

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Final, ParamSpec, TypeVar

from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from common.domain.errors import Misconfigured, Unavailable

P = ParamSpec("P")
T = TypeVar("T")

_ATTEMPTS: Final = 4
_LONGEST_PAUSE: Final = 5.0
_backoff: Final = wait_random_exponential(multiplier=0.2, max=_LONGEST_PAUSE)


class NoCollection(Unavailable):
    """The collection does not exist (any more)."""


class CollectionExists(Exception):
    """What was to be created is there already."""


class Calls:
    """The calls of one client, safe between threads. `sleep` waits between attempts."""

    def __init__(self, client: QdrantClient, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.local = client.init_options.get("location") == ":memory:" or bool(client.init_options.get("path"))
        self._client = client
        self._closed = False
        # The local client is not thread-safe.
        self._guard = threading.Lock() if self.local else nullcontext()
        self._retrying = Retrying(
            stop=stop_after_attempt(_ATTEMPTS),
            wait=_pause,
            retry=retry_if_exception(_passes),
            sleep=sleep,
            reraise=True,
        )

    def __call__(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The answer of one of the client's methods.

        Raises Unavailable, NoCollection, CollectionExists, Misconfigured for a refused key, and ValueError for what the
        server holds for a wrong request.
        """
        if self._closed:
            raise Unavailable("the index is closed")
        try:
            with self._guard:
                return self._retrying.copy()(method, *args, **kwargs)
        except (ResponseHandlingException, ResourceExhaustedResponse) as error:
            raise Unavailable(f"the index does not answer: {error}") from error
        except UnexpectedResponse as error:
            raise _refusal(error) from error
        except ValueError as error:
            if self.local and str(error).startswith("Collection "):
                raise (NoCollection if "not found" in str(error) else CollectionExists)(str(error)) from error
            raise

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            with self._guard:
                self._client.close()


def _passes(error: BaseException) -> bool:
    """Whether trying again may succeed. Every request here may be repeated without harm."""
    if isinstance(error, UnexpectedResponse):
        return error.status_code is None or error.status_code in {408, 429} or error.status_code >= 500  # noqa: PLR2004
    if isinstance(error, ResponseHandlingException):
        # Its other source is an answer that the client cannot read.
        return not isinstance(error.source, ValueError)
    return isinstance(error, ResourceExhaustedResponse)


def _pause(state: RetryCallState) -> float:
    """Seconds to wait: what the server asks for, within reason, else a random time that grows."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, ResourceExhaustedResponse):
        return min(float(error.retry_after_s), _LONGEST_PAUSE)
    return _backoff(state)


def _refusal(error: UnexpectedResponse) -> Exception:
    if _passes(error):
        return Unavailable(f"the index does not answer: status {error.status_code}")
    match error.status_code:
        case 401 | 403:
            return Misconfigured("The Qdrant server refuses this key: check QDRANT_URL and QDRANT_API_KEY.")
        case 404:
            return NoCollection("the collection does not exist")
        case 409:
            return CollectionExists("it exists already")
        case _:
            exists = error.status_code == 400 and b"already exists" in error.content  # noqa: PLR2004 - older servers
            return CollectionExists("it exists already") if exists else ValueError(f"the index refuses: {error}")
