"""Deliveries as changes of the bucket: a pushed notification, a direct storage event, or an event of S3."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Final

from cloudevents.exceptions import GenericException
from cloudevents.http import CloudEvent, from_http

from common.domain.errors import Refused
from common.domain.notifications import Ignored, read_notification, read_object
from common.domain.objects import ChangeKind, ObjectChange
from functions.ingest.decode_s3 import Touched, decode_s3, is_s3

PUSHED: Final = "google.cloud.pubsub.topic.v1.messagePublished"
BY_S3: Final = "fichario.s3.notified"
"""Our own name: S3 sends no CloudEvents."""
_DIRECT: Final[Mapping[str, ChangeKind]] = {
    "google.cloud.storage.object.v1.finalized": "finalize",
    "google.cloud.storage.object.v1.deleted": "delete",
    "google.cloud.storage.object.v1.archived": "archive",
}
_METADATA: Final = "google.cloud.storage.object.v1.metadataUpdated"


def decode_event(headers: dict[str, str], body: bytes) -> CloudEvent:
    """A delivery as a CloudEvent: one already, binary or structured, a push of Pub/Sub with or without data, or an
    event of S3 in any envelope.

    Raises Refused 400 for what none of them sends.
    """
    sent = _json(body)
    if "ce-type" not in {name.lower() for name in headers}:
        if isinstance(sent, Mapping) and isinstance(sent.get("message"), Mapping):
            source = f"//pubsub.googleapis.com/{sent.get('subscription') or ''}"
            return CloudEvent({"type": PUSHED, "source": source}, {"message": sent["message"]})
        if is_s3(sent):
            return CloudEvent({"type": BY_S3, "source": "//s3.amazonaws.com/"}, sent)
    try:
        return from_http(headers, body)
    except (GenericException, ValueError, TypeError, AttributeError, RecursionError) as error:
        # The library trusts that what is parsed has the types of a CloudEvent.
        raise Refused(400, "NO_EVENT", "Send a CloudEvent, a push of Pub/Sub or an event of S3.", "body") from error


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def decode_changes(event_type: object, data: object, bucket: str) -> tuple[ObjectChange | Touched | Ignored, ...]:
    """All that an event speaks of; what cannot be read is ignored with the reason, since no retry would mend it."""
    if event_type == BY_S3:
        return decode_s3(data, bucket)
    if event_type == PUSHED:
        return _pushed(data, bucket)
    return (_direct(event_type, data, bucket),)


def _direct(event_type: object, data: object, bucket: str) -> ObjectChange | Ignored:
    if not isinstance(event_type, str):
        return Ignored("an event whose type is no text")
    if not isinstance(data, Mapping):
        return Ignored("an event without a JSON object as data")
    if event_type == _METADATA:
        return Ignored("metadata updates change no answer")
    if event_type in _DIRECT:
        return read_object(
            _DIRECT[event_type],
            bucket=data.get("bucket"),
            key=data.get("name"),
            generation=data.get("generation"),
            size=data.get("size"),
            overwritten_by=None,
            ours=bucket,
        )
    return Ignored(f"an event of type {event_type[:80]!r}")


def _pushed(data: object, bucket: str) -> tuple[ObjectChange | Touched | Ignored, ...]:
    """What a message of Pub/Sub says: a notification of the bucket, or an event of S3 that somebody forwarded."""
    message = data.get("message") if isinstance(data, Mapping) else None
    if not isinstance(message, Mapping):
        return (Ignored("a pushed event without a message"),)
    attributes = message.get("attributes") or {}
    try:
        body = base64.b64decode(message.get("data") or "", validate=True)
        resource = json.loads(body) if body else {}
    except (binascii.Error, ValueError, TypeError, RecursionError):
        return (Ignored("a pushed message whose data is not base64 of JSON"),)
    if not isinstance(resource, Mapping) or not isinstance(attributes, Mapping):
        return (Ignored("a pushed message without an object resource"),)
    if "eventType" not in attributes and is_s3(resource):
        return decode_s3(resource, bucket)
    return (read_notification(attributes, resource, bucket),)
