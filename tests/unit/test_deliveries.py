"""What arrives at ingest over HTTP, as a CloudEvent and as the changes that it speaks of. When one fails, a sender is
refused for ever, or an event is taken for another kind of event.
"""

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.errors import Refused
from common.domain.notifications import Ignored
from common.domain.objects import ObjectChange, ObjectRef
from functions.ingest.decode import PUSHED, decode_changes, decode_event
from functions.ingest.decode_s3 import Touched

EVENTS = Path(__file__).parents[1] / "events"
CHANGE = ObjectChange("finalize", ObjectRef("acme", "manual/Guia do usuário.md"), 1700000000000001, 1204)
TOUCHED = Touched(ObjectRef("acme", "manual/Guia do usuário + 100%25.md"))
FINALIZED = "google.cloud.storage.object.v1.finalized"
BINARY = {
    "Content-Type": "application/json",
    "Ce-Id": "1",
    "Ce-Source": "//storage.googleapis.com/projects/_/buckets/bucket",
    "Ce-Specversion": "1.0",
    "Ce-Type": FINALIZED,
}
STRUCTURED = {"Content-Type": "application/cloudevents+json"}
PLAIN = {"Content-Type": "application/json"}
BY_SNS = {"Content-Type": "text/plain; charset=UTF-8", "X-Amz-Sns-Message-Type": "Notification"}


def recorded(name):
    return json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))


def decoded(headers, body):
    event = decode_event(headers, body if isinstance(body, bytes) else json.dumps(body).encode())
    return decode_changes(event["type"], event.data, "bucket")


def push(message):
    return {"message": message, "subscription": "projects/p/subscriptions/s"}


def test_a_push_of_pubsub_is_the_notification_it_carries():
    message = recorded("finalize")["data"]["message"]
    assert decoded(PLAIN, push(message)) == (CHANGE,)
    assert decoded({}, {"message": message}) == (CHANGE,)
    event = decode_event(PLAIN, json.dumps(push(message)).encode())
    assert (event["type"], event["source"]) == (PUSHED, "//pubsub.googleapis.com/projects/p/subscriptions/s")


def test_a_push_without_data_is_read_by_its_attributes():
    """functions-framework refuses it in a CloudEvent target, and it comes back for ever."""
    message = {name: value for name, value in recorded("finalize")["data"]["message"].items() if name != "data"}
    (change,) = decoded(PLAIN, push(message))
    assert (change.ref, change.generation) == (CHANGE.ref, CHANGE.generation)
    (ignored,) = decoded(PLAIN, push({}))
    assert isinstance(ignored, Ignored)


def test_a_direct_event_is_read_in_binary_and_in_structured_form():
    data = recorded("direct-finalized")["data"]
    whole = {"specversion": "1.0", "id": "1", "source": "//storage", "type": FINALIZED, "data": data}
    assert decoded(BINARY, data) == (CHANGE,)
    assert decoded({name.lower(): value for name, value in BINARY.items()}, data) == (CHANGE,)
    assert decoded(STRUCTURED, whole) == (CHANGE,)


@pytest.mark.parametrize("body", [{"message": {"attributes": {}}}, {"Records": [{}]}])
def test_a_cloudevent_is_what_its_headers_say_whatever_its_data_look_like(body):
    event = decode_event(BINARY, json.dumps(body).encode())
    assert (event["type"], event.data) == (FINALIZED, body)


@pytest.mark.parametrize(
    "name",
    [
        *("put", "multipart", "removed", "delete-marker", "expired", "minio", "sqs-of-sns", "sns", "sns-lambda"),
        *("bridge-created", "bridge-deleted"),
    ],
)
@pytest.mark.parametrize("headers", [PLAIN, BY_SNS, {}])
def test_an_event_of_s3_is_told_by_its_body_whoever_sent_it(name, headers):
    assert decoded(headers, recorded(f"s3-{name}")) == (TOUCHED,)


def test_one_message_of_a_queue_may_come_outside_a_batch():
    """As EventBridge Pipes sends it."""
    assert decoded(PLAIN, recorded("s3-sqs-of-sns")["Records"][0]) == (TOUCHED,)


@pytest.mark.parametrize("name", ["put", "sns", "bridge-created"])
def test_an_event_of_s3_may_be_forwarded_through_pubsub(name):
    data = base64.b64encode(json.dumps(recorded(f"s3-{name}")).encode()).decode()
    assert decoded(PLAIN, push({"data": data, "attributes": {"from": "a forwarder"}})) == (TOUCHED,)


def test_a_notification_of_our_own_is_never_taken_for_one_of_s3():
    message = recorded("finalize")["data"]["message"]
    data = base64.b64encode(json.dumps({"size": "1204", "Records": [1]}).encode()).decode()
    assert decoded(PLAIN, push({**message, "data": data})) == (CHANGE,)


def test_a_subscription_of_sns_is_taken_and_says_where_it_is_confirmed():
    (ignored,) = decoded(
        {**BY_SNS, "X-Amz-Sns-Message-Type": "SubscriptionConfirmation"}, recorded("s3-sns-confirmation")
    )
    assert ignored.reason.endswith("at https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription")


@pytest.mark.parametrize(
    "address",
    [
        "http://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription",
        "https://sns.eu-west-1.amazonaws.com.thief.example/?Action=ConfirmSubscription",
        "https://thief.example/?https://sns.eu-west-1.amazonaws.com/",
        "https://sns.thief.example/.amazonaws.com/?Action=ConfirmSubscription",
        "https://sns.eu-west-1.amazonaws.com/?Action=Confirm\nseverity: forged",
        f"https://sns.eu-west-1.amazonaws.com/?{'a' * 2001}",
        7,
        None,
    ],
)
def test_an_address_that_is_not_of_sns_is_not_passed_on(address):
    """Whoever reads the log would follow it."""
    (ignored,) = decoded(BY_SNS, {"Type": "SubscriptionConfirmation", "SubscribeURL": address})
    assert ignored.reason == "a subscription of SNS, to be confirmed by whoever made it"


REFUSED = {
    "nothing": b"",
    "no JSON": b"\xff\xfe",
    "JSON that is too deep": b"[" * 100_000,
    "null": b"null",
    "a list": b"[]",
    "an empty object": b"{}",
    "a message that is none": b'{"message": "text"}',
    "an event of another service": b'{"source": "aws.ec2", "detail-type": "Object Created", "detail": {}}',
    "records that are none": b'{"Records": "text"}',
    "a type of nobody": b'{"Type": "Advertisement"}',
    "a CloudEvent without a type": b'{"specversion": "1.0", "id": "1", "source": "s", "data": {}}',
}


@pytest.mark.parametrize("headers", [PLAIN, STRUCTURED, {}])
@pytest.mark.parametrize("name", REFUSED)
def test_what_nobody_sends_is_refused(name, headers):
    with pytest.raises(Refused) as raised:
        decode_event(headers, REFUSED[name])
    assert (raised.value.status, raised.value.code, raised.value.field) == (400, "NO_EVENT", "body")


def test_a_cloudevent_without_what_every_one_has_is_refused():
    with pytest.raises(Refused):
        decode_event({"Ce-Type": FINALIZED}, b"{}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["message", "Records", "Type", "source", "data", "specversion", "x"]), inner)
    ),
    max_leaves=12,
)


WHOLE = st.fixed_dictionaries(
    {"specversion": st.just("1.0"), "type": JSON, "id": JSON, "source": st.just("s"), "data": st.just({})}
)
BODIES = (JSON | WHOLE).map(json.dumps).map(str.encode) | st.binary()


@given(st.sampled_from([PLAIN, STRUCTURED, BINARY, BY_SNS, {}]), BODIES)
def test_whatever_arrives_is_an_event_or_refused(headers, body):
    try:
        event = decode_event(headers, body)
    except Refused as refused:
        assert refused.status == 400
        return
    assert decode_changes(event["type"], event.data, "bucket")
