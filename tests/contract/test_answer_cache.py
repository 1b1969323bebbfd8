"""AnswerCache: what is put is found under its key alone, until it is too old or has to make room. When one fails, a
question gets another's answer, or one that should be gone.
"""

import threading

import pytest

from common.adapters.frozen_clock import FrozenClock
from common.adapters.process_cache import ProcessCache
from common.domain.search import Search, SearchFilter
from tests.contract.caches import CACHES

LIMIT = 1000


@pytest.fixture(params=list(CACHES))
def opened(request):
    return CACHES[request.param]


@pytest.fixture
def case(opened):
    with opened(60, LIMIT) as made:
        yield made


@pytest.fixture
def cache(case):
    return case.cache


KEYS = [
    "a",
    ("a", "b"),
    ("ab",),
    ("a", 1),
    ("a", 2),
    ("a", "b", 1),
    ("answer", "acme", 7, Search("troca")),
    ("answer", "acme", 8, Search("troca")),
    ("answer", "rival", 7, Search("troca")),
    ("answer", "acme", 7, Search("troca", top_k=6)),
    ("answer", "acme", 7, Search("troca", threshold=None)),
    ("answer", "acme", 7, Search("troca", threshold=0.5)),
    ("answer", "acme", 7, Search("troca", filter=SearchFilter("acme"))),
    ("answer", "acme", 7, Search("troca", filter=SearchFilter("", ("acme",)))),
    ("answer", "acme", 7, Search("troca", filter=SearchFilter("", (), (("k", ("1",)),)))),
    ("answer", "acme", 7, Search("troca", filter=SearchFilter("", (), (("k", (1,)),)))),
    ("answer", "acme", 7, Search("trocá\ud800\u2028\x1f")),
]


def test_what_was_put_is_found_under_its_key_alone(cache):
    for number, key in enumerate(KEYS):
        assert cache.get(key) is None
        cache.put(key, number, 1)
    assert [cache.get(key) for key in KEYS] == list(range(len(KEYS)))


@pytest.mark.parametrize(
    "value",
    [
        "",
        0,
        False,
        [],
        {},
        1.5,
        -(2**60),
        "ação\ud800 \ud83d\ude00 😀\x00",
        {"a": [1, None, {"b": ["c", 0.1]}], "": 1e-300},
    ],
)
def test_data_comes_back_as_it_was_put(cache, value):
    cache.put("a", value, 1)
    found = cache.get("a")
    assert (type(found), found) == (type(value), value)


def test_what_is_too_old_is_gone(case):
    case.cache.put("a", "x", 1)
    case.pass_time(50)
    assert case.cache.get("a") == "x"
    case.pass_time(10)
    assert case.cache.get("a") is None


def test_putting_again_replaces_and_begins_anew(case):
    case.cache.put("a", "x", 1)
    case.pass_time(50)
    case.cache.put("a", "y", 1)
    case.pass_time(50)
    assert case.cache.get("a") == "y"


def test_a_value_larger_than_the_cache_is_not_kept_and_drops_nothing(cache):
    cache.put("a", "x", LIMIT)
    cache.put("b", "y", LIMIT + 1)
    assert (cache.get("a"), cache.get("b")) == ("x", None)


@pytest.mark.parametrize("bounds", [{"ttl": 0, "limit": LIMIT}, {"ttl": 60, "limit": 0}])
def test_a_bound_of_nothing_keeps_nothing(opened, bounds):
    with opened(**bounds) as case:
        case.cache.put("a", "x", 1)
        assert case.cache.get("a") is None


def test_threads_never_see_another_keys_value(cache):
    wrong = []

    def work(number):
        for i in range(300):
            cache.put((number, i % 7), f"{number}:{i % 7}", 9)
            found = cache.get((number, i % 5))
            if found not in {None, f"{number}:{i % 5}"}:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.fixture
def small():
    """Which goes first is a matter of each cache's own: a server has its policy."""
    return ProcessCache(FrozenClock(1000.0), ttl=60, limit=100)


def test_the_least_recently_used_makes_room(small):
    small.put("a", "x", 40)
    small.put("b", "y", 40)
    assert small.get("a") == "x"
    small.put("c", "z", 40)
    assert (small.get("a"), small.get("b"), small.get("c")) == ("x", None, "z")


def test_putting_again_does_not_count_twice(small):
    for _ in range(10):
        small.put("a", "x", 60)
    small.put("b", "y", 40)
    assert (small.get("a"), small.get("b")) == ("x", "y")
