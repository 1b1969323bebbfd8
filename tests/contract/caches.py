"""The answer caches that the contract suite runs on, by name. A new adapter is one more entry."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from redis import Redis

from common.adapters.frozen_clock import FrozenClock
from common.adapters.layered_cache import LayeredCache
from common.adapters.process_cache import ProcessCache
from common.adapters.redis_cache import RedisCache, connect
from common.domain.answer_json import Codec
from common.ports import AnswerCache
from tests.contract.redis_server import redis_url

PATIENT = 30.0
"""Seconds: a busy machine is no fault of the cache."""
UNCHANGED: Codec[object] = Codec(lambda value: value, lambda data: data, lambda value: 1)


@dataclass
class CacheCase:
    """`pass_time` makes everything in the cache that much older."""

    cache: AnswerCache
    pass_time: Callable[[float], None]


def new_prefix() -> str:
    """What the names of one test begin with: on a shared server no other test meets them."""
    return f"test:{secrets.token_hex(8)}:"


@contextmanager
def redis_cache(prefix: str, ttl: float = 60, limit: int = 100) -> Iterator[RedisCache]:
    """A cache on the shared server whose faults are the test's."""
    faults: list[str] = []
    cache = RedisCache(connect(redis_url(), PATIENT), prefix, ttl, faults.append, limit=limit)
    yield cache
    cache.close()
    assert faults == []


def age(prefix: str, seconds: float) -> None:
    """Bring the server's end of every entry nearer; those whose end has come are gone."""
    with Redis.from_url(redis_url()) as server:
        for name in server.scan_iter(f"{prefix}*"):
            server.pexpire(name, max(0, server.pttl(name) - int(seconds * 1000)))


@contextmanager
def in_process(ttl: float, limit: int) -> Iterator[CacheCase]:
    clock = FrozenClock(1000.0)
    yield CacheCase(ProcessCache(clock, ttl, limit), clock.advance)


@contextmanager
def in_redis(ttl: float, limit: int) -> Iterator[CacheCase]:
    prefix = new_prefix()
    with redis_cache(prefix, ttl, limit) as cache:
        yield CacheCase(cache, lambda seconds: age(prefix, seconds))


@contextmanager
def layered(ttl: float, limit: int) -> Iterator[CacheCase]:
    """A process that has kept what it put."""
    clock, prefix = FrozenClock(1000.0), new_prefix()

    def pass_time(seconds: float) -> None:
        clock.advance(seconds)
        age(prefix, seconds)

    with redis_cache(prefix, ttl, limit) as far:
        yield CacheCase(LayeredCache(ProcessCache(clock, ttl, limit), far, UNCHANGED, clock, ttl), pass_time)


@contextmanager
def layered_elsewhere(ttl: float, limit: int) -> Iterator[CacheCase]:
    """A process that keeps nothing itself, and finds what others put."""
    clock, prefix = FrozenClock(1000.0), new_prefix()

    def pass_time(seconds: float) -> None:
        clock.advance(seconds)
        age(prefix, seconds)

    with redis_cache(prefix, ttl, limit) as far:
        yield CacheCase(LayeredCache(ProcessCache(clock, 0, 0), far, UNCHANGED, clock, ttl), pass_time)


CACHES: dict[str, Callable[[float, int], AbstractContextManager[CacheCase]]] = {
    "process": in_process,
    "redis": in_redis,
    "layered": layered,
    "layered-elsewhere": layered_elsewhere,
}
