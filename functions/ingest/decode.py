"""CloudEvents as changes of the bucket: a pushed notification, or a direct storage event."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final

from cloudevents.exceptions import GenericException
from cloudevents.http import CloudEvent, from_http

from common.domain.errors import Refused
from common.domain.notifications import Ignored, read_notification, read_object
from common.domain.objects import ChangeKind, ObjectChange

PUSHED: Final = "google.cloud.pubsub.topic.v1.messagePublished"
_DIRECT: Final[Mapping[str, ChangeKind]] = {
    "google.cloud.storage.object.v1.finalized": "finalize",
    "google.cloud.storage.object.v1.deleted": "delete",
    "google.cloud.storage.object.v1.archived": "archive",
}
_METADATA: Final = "google.cloud.storage.object.v1.metadataUpdated"


def decode_event(headers: dict[str, str], body: bytes) -> CloudEvent:
    """A delivery as a CloudEvent: one already, binary or structured, or a push of Pub/Sub with or without data.

    Raises Refused 400 for what neither of them sends.
    """
    pushed = _json(body)
    if (
        "ce-type" not in {name.lower() for name in headers}
        and isinstance(pushed, Mapping)
        and isinstance(pushed.get("message"), Mapping)
    ):
        source = f"//pubsub.googleapis.com/{pushed.get('subscription') or ''}"
        return CloudEvent({"type": PUSHED, "source": source}, {"message": pushed["message"]})
    try:
        return from_http(headers, body)
    except (GenericException, ValueError) as error:
        raise Refused(400, "NO_EVENT", "Send a CloudEvent, or a push of Pub/Sub.", "body") from error


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def decode_change(event_type: str, data: object, bucket: str) -> ObjectChange | Ignored:
    """The change an event speaks of; what cannot be read is ignored with the reason, since no retry would mend it."""
    if not isinstance(data, Mapping):
        return Ignored("an event without a JSON object as data")
    if event_type == PUSHED:
        return _pushed(data, bucket)
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


def _pushed(data: Mapping[str, Any], bucket: str) -> ObjectChange | Ignored:
    message = data.get("message")
    if not isinstance(message, Mapping):
        return Ignored("a pushed event without a message")
    attributes = message.get("attributes") or {}
    try:
        body = base64.b64decode(message.get("data") or "", validate=True)
        resource = json.loads(body) if body else {}
    except (binascii.Error, ValueError, TypeError, RecursionError):
        return Ignored("a pushed message whose data is not base64 of JSON")
    if not isinstance(resource, Mapping) or not isinstance(attributes, Mapping):
        return Ignored("a pushed message without an object resource")
    return read_notification(attributes, resource, bucket)
