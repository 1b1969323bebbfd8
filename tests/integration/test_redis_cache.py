"""The shared cache when its server is away, slow, foreign or holds what none of us put: a miss, soon, and no more."""

import json
import math
import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest
from redis import Redis

from common.adapters.frozen_clock import FrozenClock
from common.adapters.layered_cache import LayeredCache
from common.adapters.process_cache import ProcessCache
from common.adapters.redis_cache import MAX_VALUE, PAUSE_SECONDS, REPORT_SECONDS, RedisCache, connect
from common.domain.answer_json import QUESTION_VECTORS
from common.domain.errors import Misconfigured
from common.domain.shared_keys import shared_name
from tests.contract.caches import PATIENT, new_prefix, redis_cache
from tests.contract.redis_server import PASSWORD, RedisServer, redis_url

KEY = ("answer", "acme", 7, "what was asked")


class Ticks:
    """A clock that stands until it is told."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Case:
    """A cache of one process at some address, what it reported, and its clock."""

    def __init__(self, url, timeout=PATIENT, prefix=""):
        self.prefix = prefix or new_prefix()
        self.ticks, self.reports = Ticks(), []
        self.cache = RedisCache(connect(url, timeout), self.prefix, 60, self.reports.append, ticks=self.ticks)

    @property
    def name(self):
        return self.prefix + shared_name(KEY)


@pytest.fixture
def opened():
    made = []

    def case(*args, **more):
        made.append(Case(*args, **more))
        return made[-1]

    yield case
    for each in made:
        each.cache.close()


@pytest.fixture
def case(opened):
    return opened(redis_url())


@pytest.fixture
def server():
    with Redis.from_url(redis_url()) as client:
        yield client


class Listener:
    """A server of another kind: it takes every caller, sends `says` at once and then nothing."""

    def __init__(self, says=b""):
        self.says = says
        self.callers = []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://:{PASSWORD}@127.0.0.1:{self.listening.getsockname()[1]}/0"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        with suppress(OSError):
            while True:
                caller, _ = self.listening.accept()
                self.callers.append(caller)
                caller.sendall(self.says)

    def close(self):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        self.thread.join()
        for caller in self.callers:
            caller.close()


@contextmanager
def listener(says=b""):
    made = Listener(says)
    try:
        yield made
    finally:
        made.close()


def test_an_entry_is_json_with_its_name_and_an_end(case, server):
    case.cache.put(KEY, {"text": "ação"}, 10)
    assert json.loads(server.get(case.name)) == [case.name, {"text": "ação"}]
    assert 50_000 < server.pttl(case.name) <= 60_000
    assert case.name.startswith(f"{case.prefix}answer:acme:7:")


def test_nobody_there_is_a_miss(opened):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        case = opened(f"redis://:{PASSWORD}@127.0.0.1:{taken.getsockname()[1]}/0", 0.05)
        case.cache.put(KEY, "x", 1)
        assert case.cache.get(KEY) is None
    assert case.reports == ["ConnectionError"]


def test_a_server_that_hangs_costs_one_short_wait_and_is_then_left_alone(opened):
    with listener() as hanging:
        case = opened(hanging.url, 0.05)
        since = time.monotonic()
        assert case.cache.get(KEY) is None
        assert time.monotonic() - since < 2
        for _ in range(100):
            case.cache.put(KEY, "x", 1)
            assert case.cache.get(KEY) is None
        assert len(hanging.callers) == 1
        assert case.reports == ["TimeoutError"]
        case.ticks.now += PAUSE_SECONDS - 0.1
        assert case.cache.get(KEY) is None
        assert len(hanging.callers) == 1
        case.ticks.now += 0.1
        assert case.cache.get(KEY) is None
        assert len(hanging.callers) == 2


def test_after_the_pause_one_caller_finds_out_for_all(opened):
    with listener() as hanging:
        case = opened(hanging.url, 0.3)
        assert case.cache.get(KEY) is None
        case.ticks.now += PAUSE_SECONDS
        threads = [threading.Thread(target=case.cache.get, args=(KEY,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(hanging.callers) == 2


def test_a_fault_is_reported_once_a_minute(opened):
    with listener() as hanging:
        case = opened(hanging.url, 0.01)
        for _ in range(11):
            case.cache.get(KEY)
            case.ticks.now += PAUSE_SECONDS
        assert case.ticks.now < 1000 + REPORT_SECONDS
        assert len(case.reports) == 1
        case.ticks.now += PAUSE_SECONDS
        case.cache.get(KEY)
        assert case.reports == ["TimeoutError"] * 2


def test_a_server_that_comes_back_is_asked_again(opened):
    own = RedisServer()
    try:
        case = opened(own.url)
        case.cache.put(KEY, "x", 1)
        assert case.cache.get(KEY) == "x"
        own.stop()
        assert case.cache.get(KEY) is None
        own.start()
        assert case.cache.get(KEY) is None
        case.ticks.now += PAUSE_SECONDS
        case.cache.put(KEY, "y", 1)
        assert case.cache.get(KEY) == "y"
        assert case.cache.get(("answer", "acme", 8, "asked")) is None
    finally:
        own.stop()


@pytest.mark.parametrize(
    "says",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSH-2.0-other\r\n",
        b":x\r\n",
        b"$x\r\n",
        b"*1\r\n" * 5000,
        b"$5\r\nab",
        b"\r\n",
        b"\x16\x03\x01\x00",
        b"-NOAUTH Authentication required.\r\n" * 9,
        b"-LOADING dataset\r\n" * 9,
        b"+OK\r\n" * 9,
        b"$-1\r\n" * 9,
        b":7\r\n" * 9,
        b"*0\r\n" * 9,
        b"$3\r\n[1]\r\n" * 9,
    ],
)
def test_a_server_that_is_none_is_a_miss(opened, says):
    with listener(says) as foreign:
        case = opened(foreign.url, 0.05)
        assert case.cache.get(KEY) is None
        case.cache.put(KEY, "x", 1)
        assert case.cache.get(KEY) is None


def test_a_wrong_password_is_a_miss_that_never_names_it(opened):
    case = opened(redis_url().replace(PASSWORD, "another"))
    case.cache.put(KEY, "x", 1)
    assert case.cache.get(KEY) is None
    assert case.reports == ["AuthenticationError"]


@pytest.mark.parametrize(
    "held",
    [
        b"",
        b"not json",
        b"\xff\xfe\x00",
        b"null",
        b'"x"',
        b"{}",
        b"[]",
        b'["x"]',
        b'["another name", "x"]',
        b"[" * 100_000,
        b"1" * 5000,
        b'["' + b"x" * MAX_VALUE + b'", 1]',
    ],
)
def test_what_nobody_of_ours_put_is_a_miss(case, server, held):
    server.set(case.name, held)
    assert case.cache.get(KEY) is None
    case.cache.put(KEY, "x", 1)
    assert case.cache.get(KEY) == "x"
    assert case.reports == []


def test_no_more_is_fetched_than_the_bound(case, server):
    server.set(case.name, json.dumps([case.name, "x" * 16 * MAX_VALUE]))
    before = server.info("stats")["total_net_output_bytes"]
    assert case.cache.get(KEY) is None
    assert server.info("stats")["total_net_output_bytes"] - before < 2 * MAX_VALUE


def test_an_entry_under_another_name_is_a_miss(case, server):
    other = ("answer", "rival", 7, "what was asked")
    case.cache.put(other, "of the rival", 1)
    server.set(case.name, server.get(case.prefix + shared_name(other)))
    assert case.cache.get(KEY) is None


def test_a_command_refused_is_a_miss_and_the_server_is_asked_on(case, server):
    server.rpush(case.name, "x")
    assert case.cache.get(KEY) is None
    assert case.reports == ["ResponseError"]
    case.cache.put(("other",), "y", 1)
    assert case.cache.get(("other",)) == "y"


@pytest.mark.parametrize("value", [{1, 2}, object(), math.nan, {"a": math.inf}])
def test_a_value_that_is_no_json_is_not_kept_and_reported(case, value):
    case.cache.put(KEY, value, 1)
    assert case.cache.get(KEY) is None
    assert case.reports in (["TypeError"], ["ValueError"])


def test_a_value_larger_than_the_bound_is_not_sent(case, server):
    case.cache.put(KEY, "x" * MAX_VALUE, 1)
    assert server.get(case.name) is None


@pytest.mark.parametrize(
    "url",
    [
        "s3nh4",
        "http://s3nh4.test",
        "redis://:s3nh4@host:port/0",
        "redis://[s3nh4/0",
        "redis://h/0?s3nh4=1",
        "redis://h/0?db=s3nh4",
        "redis://h/0?socket_timeout=s3nh4",
    ],
)
def test_an_address_that_is_none_is_said_at_the_start_without_naming_it(url):
    with pytest.raises(Misconfigured, match="REDIS_URL") as raised:
        connect(url)
    assert "s3nh4" not in str(raised.value)
    assert raised.value.__suppress_context__


@pytest.mark.parametrize("url", ["redis://h", "redis://u:p@h:6380/3", "rediss://h/0", "unix:///run/redis.sock?db=2"])
def test_any_address_of_redis_will_do(url):
    assert connect(url)


VECTOR = ((0.6, 0.8), 3)


class Process:
    """A process with its own memory over the shared server."""

    def __init__(self, far, clock):
        self.near = ProcessCache(clock, 60, 10_000)
        self.cache = LayeredCache(self.near, far, QUESTION_VECTORS, clock, 60)


@pytest.fixture
def clock():
    return FrozenClock(5000.0)


@pytest.fixture
def far():
    with redis_cache(new_prefix(), limit=10_000) as cache:
        yield cache


def test_what_one_process_put_the_other_finds_and_keeps(far, clock, server):
    one, other = Process(far, clock), Process(far, clock)
    one.cache.put(KEY, VECTOR, 10)
    assert other.cache.get(KEY) == VECTOR
    [name] = server.scan_iter(f"{far._prefix}*")
    server.delete(name)
    assert other.cache.get(KEY) == VECTOR
    assert Process(far, clock).cache.get(KEY) is None


def test_no_value_outlives_its_time_by_going_through_another_process(far, clock):
    one, other = Process(far, clock), Process(far, clock)
    one.cache.put(KEY, VECTOR, 10)
    clock.advance(59)
    assert other.cache.get(KEY) == VECTOR
    clock.advance(1)
    assert (one.cache.get(KEY), other.cache.get(KEY)) == (None, None)


def test_an_end_that_lies_too_far_ahead_is_no_end(far, clock):
    """Another instance's clock, or nobody's: the process's own cache does not keep it longer than its own."""
    far.put(KEY, [1e18, QUESTION_VECTORS.encode(VECTOR)], 10)
    process = Process(far, clock)
    assert process.cache.get(KEY) == VECTOR
    far.put(KEY, "gone", 1)
    clock.advance(59)
    assert process.cache.get(KEY) == VECTOR
    clock.advance(1)
    assert process.cache.get(KEY) is None


@pytest.mark.parametrize(
    "held",
    [
        "x",
        [],
        [5060.0],
        ["5060.0", [[0.6, 0.8], 3]],
        [None, [[0.6, 0.8], 3]],
        [5060.0, [[0.6, "0.8"], 3]],
        [5060.0, None],
        [5060.0, [[0.6, 0.8], 3], 1],
        [5000.0, [[0.6, 0.8], 3]],
        {"0": 5060.0, "1": [[0.6, 0.8], 3]},
    ],
)
def test_what_cannot_be_read_is_a_miss_and_made_anew(far, clock, held):
    far.put(KEY, held, 1)
    process = Process(far, clock)
    assert process.cache.get(KEY) is None
    process.cache.put(KEY, VECTOR, 10)
    assert Process(far, clock).cache.get(KEY) == VECTOR
