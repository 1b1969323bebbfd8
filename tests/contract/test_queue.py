"""What every PullQueue keeps to: at least once, no message to two consumers at a time, none lost, none for ever."""

import itertools
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.adapters.frozen_clock import FrozenClock
from common.ports import Message, PullQueue
from tests.contract.stores import MAX_ATTEMPTS, QUEUES

HOLD = 60.0


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(params=list(QUEUES))
def queue(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> Iterator[PullQueue]:
    with QUEUES[request.param](tmp_path, clock) as made:
        yield made


def message(number: int = 1) -> Message:
    return Message(
        {"number": number, "name": "é%2F\u2028 \ud83d", "deep": {"list": [1, None, 2.5]}}, {"kind": "finalize"}
    )


def take_numbers(queue: PullQueue, topic: str = "t") -> list[int]:
    numbers = []
    while (delivery := queue.take(topic, HOLD)) is not None:
        numbers.append(delivery.message.data["number"])
    return numbers


def test_a_message_arrives_as_it_was_published_and_is_gone_once_acknowledged(queue):
    published = queue.publish("t", message())
    assert published
    assert queue.waiting("t") == 1
    delivery = queue.take("t", HOLD)
    assert (delivery.message, delivery.topic, delivery.attempt) == (message(), "t", 1)
    assert queue.waiting("t") == 1
    queue.acknowledge(delivery)
    assert (queue.waiting("t"), queue.next_due("t"), queue.take("t", HOLD)) == (0, None, None)
    queue.acknowledge(delivery)


def test_an_empty_topic_has_nothing(queue):
    queue.publish("other", message())
    assert queue.take("t", HOLD) is None
    assert (queue.waiting("t"), queue.next_due("t"), list(queue.dead("t")), queue.revive("t")) == (0, None, [], 0)


def test_messages_come_by_due_time_then_by_publication(queue, clock):
    for number, delay in ((1, 5.0), (2, 0.0), (3, 5.0), (4, 2.0), (5, 0.0)):
        queue.publish("t", message(number), delay)
    assert take_numbers(queue) == [2, 5]
    clock.advance(5.0)
    assert take_numbers(queue) == [4, 1, 3]


def test_a_delayed_message_is_due_exactly_then(queue, clock):
    queue.publish("t", message(), 1.5)
    assert queue.next_due("t") == clock.now() + 1.5
    clock.advance(1.25)
    assert queue.take("t", HOLD) is None
    clock.advance(0.25)
    assert queue.take("t", HOLD) is not None


def test_a_held_message_comes_back_when_its_hold_runs_out(queue, clock):
    queue.publish("t", message())
    queue.take("t", HOLD)
    assert queue.take("t", HOLD) is None
    assert queue.next_due("t") == clock.now() + HOLD
    clock.advance(HOLD)
    assert queue.take("t", HOLD).attempt == 2


def test_a_delivery_whose_hold_ran_out_can_no_longer_settle_the_message(queue, clock):
    queue.publish("t", message())
    late = queue.take("t", HOLD)
    clock.advance(HOLD)
    current = queue.take("t", HOLD)
    queue.acknowledge(late)
    queue.retry(late)
    assert queue.waiting("t") == 1
    assert queue.next_due("t") == clock.now() + HOLD
    queue.acknowledge(current)
    assert queue.waiting("t") == 0


def test_counted_retries_wait_longer_each_time_and_end_in_the_dead_letters(queue, clock):
    queue.publish("t", message())
    waits = []
    for attempt in range(1, MAX_ATTEMPTS + 1):
        delivery = queue.take("t", HOLD)
        assert delivery.attempt == attempt
        queue.retry(delivery)
        due = queue.next_due("t")
        if due is not None:
            waits.append(due - clock.now())
            clock.advance(due - clock.now())
    assert waits == pytest.approx([0.2, 0.8])
    assert (queue.waiting("t"), queue.take("t", HOLD)) == (0, None)
    assert [(dead.message, dead.attempt) for dead in queue.dead("t")] == [(message(), MAX_ATTEMPTS)]
    assert list(queue.dead("other")) == []


def test_uncounted_retries_never_end_and_wait_at_most_two_seconds(queue, clock):
    queue.publish("t", message())
    waits = []
    for _ in range(4 * MAX_ATTEMPTS):
        queue.retry(queue.take("t", HOLD), counts=False)
        waits.append(queue.next_due("t") - clock.now())
        clock.advance(waits[-1])
    assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, *[2.0] * (4 * MAX_ATTEMPTS - 5)], abs=1e-6)
    assert list(queue.dead("t")) == []
    queue.retry(queue.take("t", HOLD))
    assert queue.next_due("t") - clock.now() == pytest.approx(0.2)
    clock.advance(1.0)
    queue.retry(queue.take("t", HOLD), counts=False)
    assert queue.next_due("t") - clock.now() == pytest.approx(0.1)


def test_consumers_that_die_each_time_count_too(queue, clock):
    queue.publish("t", message(1))
    queue.publish("t", message(2))
    for attempt in range(MAX_ATTEMPTS):
        assert queue.take("t", HOLD).attempt == attempt + 1
        clock.advance(HOLD)
        queue.acknowledge(queue.take("t", HOLD)) if attempt == 0 else None
    assert queue.take("t", HOLD) is None
    assert [dead.message.data["number"] for dead in queue.dead("t")] == [1]
    assert queue.waiting("t") == 0


def test_dead_letters_are_listed_oldest_first(queue, clock):
    for number in (1, 2):
        queue.publish("t", message(number))
    for _ in range(MAX_ATTEMPTS):
        for delivery in [queue.take("t", HOLD), queue.take("t", HOLD)][::-1]:
            queue.retry(delivery)
        clock.advance(HOLD)
    assert [dead.message.data["number"] for dead in queue.dead("t")] == [1, 2]


def test_reviving_makes_held_messages_due_and_leaves_the_others(queue, clock):
    for number, delay in ((1, 0.0), (2, 0.0), (3, 30.0)):
        queue.publish("t", message(number), delay)
    old = queue.take("t", HOLD)
    queue.take("t", HOLD)
    queue.publish("other", message())
    queue.take("other", HOLD)
    assert queue.revive("t") == 2
    assert queue.next_due("t") == clock.now()
    queue.acknowledge(old)
    assert take_numbers(queue) == [1, 2]
    assert take_numbers(queue, "other") == []
    clock.advance(30.0)
    assert take_numbers(queue) == [3]


def test_threads_share_the_messages_without_losing_or_doubling_one(queue):
    for number in range(120):
        queue.publish("t", message(number))
    taken: Counter[int] = Counter()
    lock = threading.Lock()

    def consume(_: int) -> None:
        while (delivery := queue.take("t", HOLD)) is not None:
            with lock:
                taken[delivery.message.data["number"]] += 1
            queue.acknowledge(delivery)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(consume, range(8)))
    assert taken == Counter(range(120))
    assert queue.waiting("t") == 0


steps = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.sampled_from([0.0, 1.0, 7.0])),
        st.tuples(st.sampled_from(["take", "acknowledge", "retry", "wait", "revive"]), st.just(0.0)),
    ),
    max_size=25,
)


@pytest.mark.parametrize("name", list(QUEUES))
def test_every_message_is_waiting_until_it_is_acknowledged_or_dead(name, tmp_path):
    clock, topics = FrozenClock(), itertools.count()
    with QUEUES[name](tmp_path, clock) as queue:

        @settings(max_examples=40, deadline=None)
        @given(steps)
        def holds(steps):
            topic = f"topic {next(topics)}"
            alive, held, ended = 0, [], 0
            for step, delay in steps:
                if step == "publish":
                    queue.publish(topic, message(), delay)
                    alive += 1
                elif step == "take" and (delivery := queue.take(topic, HOLD)) is not None:
                    assert delivery.attempt >= 1
                    held.append(delivery)
                elif step in {"acknowledge", "retry"} and held:
                    before = queue.waiting(topic)
                    (queue.acknowledge if step == "acknowledge" else queue.retry)(held.pop(0))
                    ended += step == "acknowledge" and queue.waiting(topic) < before
                elif step == "wait":
                    clock.advance(HOLD)
                elif step == "revive":
                    queue.revive(topic)
                assert queue.waiting(topic) + len(queue.dead(topic)) + ended == alive
                assert (queue.next_due(topic) is None) == (queue.waiting(topic) == 0)

        holds()
