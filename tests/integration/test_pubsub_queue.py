"""Pub/Sub as the Queue: what is published is what a subscriber gets, and Google's errors come out in our words."""

import json
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from google.api_core import exceptions
from google.auth.exceptions import RefreshError, TransportError

from common.adapters.pubsub_queue import PubsubQueue
from common.domain.errors import Misconfigured, Unavailable
from common.ports import Message
from tests.contract.emulators import new_project, pubsub_publisher, pubsub_subscriber

MESSAGE = Message(
    {"name": "pasta/é%20#\ud83d\u2028.md", "deep": [1, None, {"x": 2.5}]}, {"eventType": "OBJECT_FINALIZE", "é": "ü"}
)


class Topic:
    """One topic with one subscription, of a project of its own."""

    def __init__(self, publisher, subscriber):
        self.project, self.subscriber = new_project(), subscriber
        self.path = publisher.topic_path(self.project, "kb-events")
        self.subscription = subscriber.subscription_path(self.project, "pull")
        publisher.create_topic(name=self.path)
        subscriber.create_subscription(name=self.subscription, topic=self.path)

    def received(self, count):
        messages = []
        while len(messages) < count:
            pulled = self.subscriber.pull(subscription=self.subscription, max_messages=count, timeout=30)
            messages += pulled.received_messages
            ids = [each.ack_id for each in pulled.received_messages]
            self.subscriber.acknowledge(subscription=self.subscription, ack_ids=ids)
        return [each.message for each in messages]


@pytest.fixture(scope="module")
def publisher():
    made = pubsub_publisher()
    yield made
    made.stop()
    made.transport.close()


@pytest.fixture(scope="module")
def subscriber():
    with pubsub_subscriber() as made:
        yield made


@pytest.fixture
def topic(publisher, subscriber):
    return Topic(publisher, subscriber)


def test_a_subscriber_gets_the_body_and_the_attributes_as_they_were_published(publisher, topic):
    published = PubsubQueue(publisher, topic.project).publish("kb-events", MESSAGE)
    (received,) = topic.received(1)
    assert published == received.message_id
    assert json.loads(received.data) == MESSAGE.data
    assert dict(received.attributes) == MESSAGE.attributes


def test_a_delay_is_not_kept(publisher, topic):
    PubsubQueue(publisher, topic.project).publish("kb-events", MESSAGE, delay=3600)
    assert len(topic.received(1)) == 1


def test_threads_publish_every_message_once(publisher, topic):
    queue = PubsubQueue(publisher, topic.project)
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda n: queue.publish("kb-events", Message({"n": n})), range(100)))
    assert len(ids) == 100
    assert {json.loads(each.data)["n"] for each in topic.received(100)} == set(range(100))


def test_a_topic_that_does_not_exist_is_named(publisher, topic):
    with pytest.raises(Misconfigured, match="no topic kb-nothing"):
        PubsubQueue(publisher, topic.project).publish("kb-nothing", MESSAGE)


def test_a_message_over_ten_megabytes_is_refused_and_later_ones_pass(publisher, topic):
    queue = PubsubQueue(publisher, topic.project)
    with pytest.raises(ValueError, match="more than topic kb-events takes"):
        queue.publish("kb-events", Message({"text": "a" * 11_000_000}))
    assert queue.publish("kb-events", MESSAGE)


class Failing:
    """A publisher whose answer is an error, or never comes."""

    def __init__(self, error):
        self.error = error

    def topic_path(self, project, topic):
        return f"projects/{project}/topics/{topic}"

    def publish(self, path, data, **options):
        future = Future()
        if self.error is not None:
            future.set_exception(self.error)
        return future


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (exceptions.ServiceUnavailable("x"), Unavailable),
        (exceptions.DeadlineExceeded("x"), Unavailable),
        (exceptions.ResourceExhausted("x"), Unavailable),
        (exceptions.InternalServerError("x"), Unavailable),
        (exceptions.Aborted("x"), Unavailable),
        (exceptions.RetryError("x", None), Unavailable),
        (TransportError("x", retryable=True), Unavailable),
        (None, Unavailable),
        (exceptions.NotFound("x"), Misconfigured),
        (exceptions.PermissionDenied("x"), Misconfigured),
        (exceptions.Unauthenticated("x"), Misconfigured),
        (RefreshError("x"), Misconfigured),
        (exceptions.InvalidArgument("x"), ValueError),
    ],
)
def test_errors_are_translated(error, expected):
    with pytest.raises(expected):
        PubsubQueue(Failing(error), "project", patience=0.01).publish("kb-events", MESSAGE)
