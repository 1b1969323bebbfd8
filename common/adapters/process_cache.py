"""Answers and vectors kept in this process, bounded by age and by bytes; the least recently used goes first."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from common.ports import Clock


class ProcessCache:
    """An AnswerCache in memory. `limit` in bytes, `ttl` in seconds; 0 for either keeps nothing."""

    def __init__(self, clock: Clock, ttl: float, limit: int) -> None:
        self._clock = clock
        self._ttl = ttl
        self._limit = limit
        self._size = 0
        self._entries: OrderedDict[Hashable, tuple[float, int, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any | None:  # noqa: ANN401 - what was put
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if entry[0] <= self._clock.now():
                self._drop(key)
                return None
            self._entries.move_to_end(key)
            return entry[2]

    def put(self, key: Hashable, value: Any, size: int) -> None:  # noqa: ANN401
        if size > self._limit or self._ttl <= 0:
            return
        with self._lock:
            if key in self._entries:
                self._drop(key)
            self._entries[key] = (self._clock.now() + self._ttl, size, value)
            self._size += size
            while self._size > self._limit:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: Hashable) -> None:
        self._size -= self._entries.pop(key)[1]
