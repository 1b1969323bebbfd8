"""AnswerCache: what is put is found until it is too old or has to make room. When one fails, answers could be stale."""

import threading

import pytest

from common.adapters.frozen_clock import FrozenClock
from common.adapters.process_cache import ProcessCache


@pytest.fixture
def clock():
    return FrozenClock(1000.0)


@pytest.fixture
def cache(clock):
    return ProcessCache(clock, ttl=60, limit=100)


def test_what_was_put_is_found_under_its_key_alone(cache):
    cache.put(("a", 1), "x", 1)
    assert (cache.get(("a", 1)), cache.get(("a", 2))) == ("x", None)


def test_what_is_too_old_is_gone(cache, clock):
    cache.put("a", "x", 1)
    clock.advance(59)
    assert cache.get("a") == "x"
    clock.advance(1)
    assert cache.get("a") is None


def test_the_least_recently_used_makes_room(cache):
    cache.put("a", "x", 40)
    cache.put("b", "y", 40)
    assert cache.get("a") == "x"
    cache.put("c", "z", 40)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ("x", None, "z")


def test_a_value_larger_than_the_cache_is_not_kept_and_drops_nothing(cache):
    cache.put("a", "x", 100)
    cache.put("b", "y", 101)
    assert (cache.get("a"), cache.get("b")) == ("x", None)


def test_putting_again_replaces_and_does_not_count_twice(cache):
    for _ in range(10):
        cache.put("a", "x", 60)
    cache.put("b", "y", 40)
    assert (cache.get("a"), cache.get("b")) == ("x", "y")


@pytest.mark.parametrize("bounds", [{"ttl": 0, "limit": 100}, {"ttl": 60, "limit": 0}])
def test_a_bound_of_nothing_keeps_nothing(clock, bounds):
    cache = ProcessCache(clock, **bounds)
    cache.put("a", "x", 1)
    assert cache.get("a") is None


def test_threads_never_see_another_keys_value(cache):
    wrong = []

    def work(number):
        for i in range(2000):
            cache.put((number, i % 7), (number, i % 7), 9)
            found = cache.get((number, i % 5))
            if found not in {None, (number, i % 5)}:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
