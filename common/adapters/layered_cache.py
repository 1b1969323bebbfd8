"""An AnswerCache of two: the values themselves in the process, and their JSON in the cache that instances share."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from common.domain.answer_json import Codec
from common.ports import AnswerCache, Clock

T = TypeVar("T")


class LayeredCache(Generic[T]):
    """Values of one kind, asked of `near` first. No value is found longer than `ttl` seconds after it was made, through
    however many instances it went.
    """

    def __init__(self, near: AnswerCache, far: AnswerCache, codec: Codec[T], clock: Clock, ttl: float) -> None:
        self._near = near
        self._far = far
        self._codec = codec
        self._clock = clock
        self._ttl = ttl

    def get(self, key: Hashable) -> T | None:
        now = self._clock.now()
        held: tuple[float, T] | None = self._near.get(key)
        if held is None:
            held = self._fetched(key, now)
        return held[1] if held is not None and now < held[0] else None

    def put(self, key: Hashable, value: T, size: int) -> None:
        until = self._clock.now() + self._ttl
        self._near.put(key, (until, value), size)
        self._far.put(key, [until, self._codec.encode(value)], size)

    def _fetched(self, key: Hashable, now: float) -> tuple[float, T] | None:
        """What another instance made, kept near from now on; None for what cannot be read."""
        match self._far.get(key):
            case [int() | float() as until, data]:
                try:
                    value = self._codec.decode(data)
                except ValueError:
                    return None
            case _:
                return None
        if now < until:
            self._near.put(key, (until, value), self._codec.size(value))
        return until, value
