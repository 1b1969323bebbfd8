"""An AnswerCache in a Redis server that instances share. Its loss costs time and never an answer: whatever goes wrong,
with the server or with what it holds, is a miss.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, Final

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry

from common.domain.errors import Misconfigured
from common.domain.shared_keys import shared_name

TIMEOUT_SECONDS: Final = 0.05
PAUSE_SECONDS: Final = 5.0
REPORT_SECONDS: Final = 60.0
MAX_VALUE: Final = 2**20
_FAULTS: Final = (RedisError, OSError, ValueError, RecursionError)
"""What the client raises, for a server that is none as well."""


def connect(url: str, timeout: float = TIMEOUT_SECONDS) -> Redis:
    """A client that tries once and waits `timeout` seconds to connect and for each answer. Connects when first asked.

    Raises Misconfigured for an address that is none; it may hold a password, so it is never named.
    """
    try:
        client = Redis.from_url(
            url, protocol=2, socket_connect_timeout=timeout, socket_timeout=timeout, retry=Retry(NoBackoff(), 0)
        )
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)
    except (ValueError, TypeError):
        raise Misconfigured("REDIS_URL is redis://, rediss:// or unix:// with host, port and database.") from None
    return client


class RedisCache:
    """Values that JSON can hold, each of at most `limit` bytes, for `ttl` seconds; 0 for either keeps nothing.

    After a fault the server is left alone for some seconds, then asked by one caller first. `report` hears the type of
    an error, at most once a minute.
    """

    def __init__(
        self,
        client: Redis,
        prefix: str,
        ttl: float,
        report: Callable[[str], None],
        *,
        limit: int = MAX_VALUE,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._prefix = prefix
        self._ttl = math.ceil(ttl * 1000)
        self._report = report
        self._limit = limit
        self._ticks = ticks
        self._lock = threading.Lock()
        self._failing = False
        self._paused_until = -math.inf
        self._silent_until = -math.inf

    def get(self, key: Hashable) -> Any | None:  # noqa: ANN401 - what was put
        name = self._name(key)
        # Cut to what may stand under the name: what is longer is none of ours and ends as no JSON.
        text = self._ask(lambda: self._client.getrange(name, 0, self._limit - 1))
        if not isinstance(text, bytes):
            return None
        try:
            held = json.loads(text.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return None
        return held[1] if isinstance(held, list) and len(held) == 2 and held[0] == name else None  # noqa: PLR2004

    def put(self, key: Hashable, value: Any, size: int) -> None:  # noqa: ANN401
        if self._ttl <= 0 or size > self._limit:
            return
        name = self._name(key)
        try:
            text = json.dumps([name, value], ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
        except (TypeError, ValueError) as error:
            self._tell(error)
            return
        if len(text) <= self._limit:
            self._ask(lambda: self._client.set(name, text, px=self._ttl))

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def _name(self, key: Hashable) -> str:
        return self._prefix + shared_name(key)

    def _ask(self, command: Callable[[], object]) -> object | None:
        """What the server answers, or None: it failed, or is left alone."""
        if not self._may_ask():
            return None
        try:
            answer = command()
        except ResponseError as error:
            # It is there and answers at once, but not to this.
            self._failing = False
            self._tell(error)
        except _FAULTS as error:
            with self._lock:
                self._failing, self._paused_until = True, self._ticks() + PAUSE_SECONDS
            self._tell(error)
        else:
            self._failing = False
            return answer
        return None

    def _may_ask(self) -> bool:
        if not self._failing:
            return True
        with self._lock:
            now = self._ticks()
            if now < self._paused_until:
                return False
            # Whoever comes first finds out for all others.
            self._paused_until = now + PAUSE_SECONDS
            return True

    def _tell(self, error: Exception) -> None:
        with self._lock:
            now = self._ticks()
            if now < self._silent_until:
                return
            self._silent_until = now + REPORT_SECONDS
        self._report(type(error).__name__)
