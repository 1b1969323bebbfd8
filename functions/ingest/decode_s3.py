"""S3's events as hints of what was touched: its notifications, as they are and in the envelopes of SQS, SNS and Lambda,
and EventBridge's events.

Source of the shapes: "Event message structure" (keys are form-encoded there) and "EventBridge event message structure"
(keys are raw there) of the S3 user guide. None of them carries a generation: what became of the object is asked of the
store.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_plus

from common.domain.notifications import Ignored, read_object
from common.domain.objects import ObjectRef, ignored_name, source_problem

_CHANGES: Final = frozenset({"ObjectCreated", "ObjectRemoved", "LifecycleExpiration"})
_BRIDGED: Final = frozenset({"Object Created", "Object Deleted"})
_ENVELOPES: Final = 6
_CONFIRMED_AT: Final = re.compile(r"https://sns\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/\?[!-~]{1,2000}")


@dataclass(frozen=True, slots=True)
class Touched:
    """An object that was written or removed; what it is now is asked of the store."""

    ref: ObjectRef


def is_s3(sent: object) -> bool:
    """Whether parsed JSON is an event of S3, or an envelope of those that carry them."""
    match sent:
        case {"Records": list()} | {"source": "aws.s3", "detail-type": str()} | {"Event": "s3:TestEvent"}:
            return True
        case {"Type": "Notification" | "SubscriptionConfirmation" | "UnsubscribeConfirmation"}:
            return True
    return isinstance(sent, Mapping) and sent.get("eventSource") == "aws:sqs"


def decode_s3(data: object, bucket: str) -> tuple[Touched | Ignored, ...]:
    """What one delivery speaks of, each once: parsed JSON or its text. `bucket` is ours.

    What cannot be read is ignored with the reason, since no retry would mend it.
    """
    return tuple(dict.fromkeys(_read(data, bucket, _ENVELOPES)))


def _read(data: object, bucket: str, envelopes: int) -> Iterator[Touched | Ignored]:
    if envelopes == 0:
        yield Ignored("an event in too many envelopes")
        return
    match _parsed(data):
        case {"Records": [_, *_] as records}:
            for record in records:
                yield from _read(record, bucket, envelopes - 1)
        case {"s3": {"bucket": {"name": name}, "object": {"key": key}}, "eventName": str(event)}:
            yield _notified(event, name, key, bucket)
        case {"source": "aws.s3", "detail-type": kind, "detail": {"bucket": {"name": name}, "object": {"key": key}}}:
            yield _touched(name, key, bucket) if kind in _BRIDGED else _no_change(kind)
        case {"body": str(inner)} | {"Sns": {"Message": str(inner)}} | {"Type": "Notification", "Message": str(inner)}:
            yield from _read(inner, bucket, envelopes - 1)
        case {"Event": "s3:TestEvent"}:
            yield Ignored("the test event of a new notification")
        case {"Type": "SubscriptionConfirmation", **asked}:
            yield _unconfirmed(asked.get("SubscribeURL"))
        case {"Type": "UnsubscribeConfirmation"}:
            yield Ignored("a subscription of SNS was ended")
        case _:
            yield Ignored("no event of S3")


def _notified(event: str, name: object, key: object, bucket: str) -> Touched | Ignored:
    """One record of a notification. S3's likes put `s3:` before the event's name."""
    if event.removeprefix("s3:").split(":")[0] not in _CHANGES:
        return _no_change(event)
    if not isinstance(key, str):
        return Ignored("an event without an object's name")
    try:
        return _touched(name, unquote_plus(key, errors="strict"), bucket)
    except UnicodeDecodeError:
        return Ignored("the object's name is not UTF-8")


def _unconfirmed(address: object) -> Ignored:
    """Whoever made the subscription confirms it by an address that nobody but this endpoint is told."""
    told = isinstance(address, str) and _CONFIRMED_AT.fullmatch(address)
    return Ignored(f"a subscription of SNS, to be confirmed by whoever made it{f' at {address}' if told else ''}")


def _touched(name: object, key: object, bucket: str) -> Touched | Ignored:
    read = read_object("finalize", bucket=name, key=key, generation=0, size=None, overwritten_by=None, ours=bucket)
    if isinstance(read, Ignored):
        return read
    # A folder marker, which no store holds as an object: there is nothing to ask.
    reason = ignored_name(read.ref.name) if source_problem(read.ref.name) else None
    return Ignored(reason) if reason else Touched(read.ref)


def _parsed(data: object) -> object:
    if not isinstance(data, str | bytes):
        return data
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _no_change(event: Any) -> Ignored:  # noqa: ANN401 - parsed JSON
    return Ignored(f"{str(event)[:80]!r} changes no answer")
