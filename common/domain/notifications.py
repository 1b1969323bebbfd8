"""Bucket notifications as Cloud Storage sends them, read into changes and written for the folder that stands in for it.

Source of the shape: "Pub/Sub notifications for Cloud Storage": attributes eventType, bucketId, objectId,
objectGeneration and overwrittenByGeneration; the payload is the object resource.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from common.domain.objects import ChangeKind, ObjectChange, ObjectRef, is_base_id, source_problem

EVENT_KINDS: Final[Mapping[str, ChangeKind]] = {
    "OBJECT_FINALIZE": "finalize",
    "OBJECT_DELETE": "delete",
    "OBJECT_ARCHIVE": "archive",
}
METADATA_UPDATE: Final = "OBJECT_METADATA_UPDATE"


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event that is acknowledged without a job, and why."""

    reason: str


def read_notification(
    attributes: Mapping[str, str], resource: Mapping[str, Any], bucket: str
) -> ObjectChange | Ignored:
    """The change that a notification speaks of. `bucket` is ours; events of another one are ignored."""
    event = attributes.get("eventType", "")
    if event == METADATA_UPDATE:
        return Ignored("metadata updates change no answer")
    if event not in EVENT_KINDS:
        return Ignored(f"no bucket event: eventType {event[:40]!r}")
    return read_object(
        EVENT_KINDS[event],
        bucket=attributes.get("bucketId") or resource.get("bucket"),
        key=attributes.get("objectId") or resource.get("name"),
        generation=attributes.get("objectGeneration") or resource.get("generation"),
        size=resource.get("size"),
        overwritten_by=attributes.get("overwrittenByGeneration"),
        ours=bucket,
    )


def read_object(
    kind: ChangeKind,
    *,
    bucket: object,
    key: object,
    generation: object,
    size: object,
    overwritten_by: object,
    ours: str,
) -> ObjectChange | Ignored:
    """One event's fields as a change: names are used exactly as given, never decoded."""
    if bucket != ours:
        return Ignored("an event of a foreign bucket")
    number = _whole(generation)
    if not isinstance(key, str) or number is None:
        return Ignored("an event without an object's name or generation")
    base, slash, name = key.partition("/")
    if not slash or not is_base_id(base):
        return Ignored("the object lies in no base")
    if name and not name.endswith("/") and source_problem(name):
        return Ignored(f"the object's name cannot be a source: {source_problem(name)}")
    return ObjectChange(kind, ObjectRef(base, name), number, _whole(size) or 0, _whole(overwritten_by))


def write_notification(change: ObjectChange, bucket: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The attributes and the resource of a change, as the bucket would send them."""
    events = {kind: event for event, kind in EVENT_KINDS.items()}
    attributes = {
        "eventType": events[change.kind],
        "bucketId": bucket,
        "objectId": change.ref.key,
        "objectGeneration": str(change.generation),
        "payloadFormat": "JSON_API_V1",
    }
    if change.overwritten_by is not None:
        attributes["overwrittenByGeneration"] = str(change.overwritten_by)
    resource = {
        "kind": "storage#object",
        "name": change.ref.key,
        "bucket": bucket,
        "generation": str(change.generation),
        "size": str(change.size),
    }
    return attributes, resource


def _whole(value: object) -> int | None:
    try:
        return int(str(value)) if value is not None else None
    except ValueError:
        return None
