"""Documents of the catalog: stored by generation, listed while that generation is the one of their object that answers.

The only document of an object stands within the object's own Firestore document and comes and goes with its live
generation. Those of an object with several have one each: a page is read in the order of (source, object), then the
objects it names are asked which generation answers, both as of one moment. So a publish moves no document, and a page
costs its documents and at most as many objects.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from common.adapters.firestore.calls import Calls, Row
from common.adapters.firestore.layout import OBJECTS, Places, decoded, packed
from common.domain.errors import DocumentError
from common.domain.objects import MAX_SOURCE_BYTES, ObjectRef, digest
from common.domain.records import DocumentRecord, document_from_json

PAGE: Final = 500
LARGEST_RECORD: Final = 1_000_000
"""Bytes of one record: a Firestore document holds 1 MiB, its other fields included."""

WITHIN_OBJECT: Final = 64 * 1024
"""Bytes of a record that may stand within its object's document, which is read whenever the object is worked on."""

_LAST_CHARACTER: Final = chr(0x10FFFF)
_FIELDS: Final = ("source", "object", "generation", "names", "document")
_ALL: Final = ("source", "object", "generation", "live", "document")

Placed = tuple[Mapping[str, Any], Sequence[tuple[firestore.DocumentReference, Mapping[str, Any]]]]


def put(calls: Calls, places: Places, ref: ObjectRef, generation: int, documents: Sequence[DocumentRecord]) -> None:
    """Store them. Raises DocumentError TOO_LARGE for a record that no Firestore document holds."""
    calls.put(list(_stored(places, ref, generation, documents)))


def placed(places: Places, ref: ObjectRef, live: int | None, documents: Sequence[DocumentRecord]) -> Placed:
    """Where the documents that are stored with their object stand: the fields to set in its document (None takes one
    away), and the Firestore documents beside it. Raises as `put`.
    """
    beside = list(_stored(places, ref, live, documents)) if live is not None else []
    if len(beside) == 1 and len(beside[0][1]["document"]) <= WITHIN_OBJECT:
        return {name: beside[0][1][name] for name in _FIELDS}, []
    return dict.fromkeys(_FIELDS), [(place, fields) for place, fields, _ in beside]


def drop(calls: Calls, places: Places, ref: ObjectRef, below: int, since: int) -> None:
    """Those within the object's document are no concern of this: they leave with their live generation."""
    stored = places.within(ref.base, OBJECTS)
    older = (
        stored.where(filter=FieldFilter("version", ">=", _version(ref, max(since, 0))))
        .where(filter=FieldFilter("version", "<", _version(ref, max(below, 0))))
        .select(["generation"])
    )
    calls.delete([row.ref for row in calls.rows(older)])


def listed(
    calls: Calls, places: Places, base: str, prefix: str, after: tuple[str, str], limit: int
) -> Sequence[DocumentRecord]:
    """Live documents behind `after`, by (source, object); all when `limit` is 0."""
    query = _behind(places.within(base, OBJECTS), prefix, after)
    found: list[DocumentRecord] = []
    if query is None:
        return found
    size = min(limit or PAGE, PAGE)
    live: dict[str, int | None] = {}
    moment: datetime | None = None
    while True:
        page = calls.rows(query.limit(size), at=moment)
        if not page:
            return found[: limit or None]
        moment = moment or page[-1].moment
        found += _answering(calls, places, base, page, moment, live)
        if len(page) < size or (limit and len(found) >= limit):
            return found[: limit or None]
        query = query.start_after(page[-1].cursor)


def of(calls: Calls, places: Places, ref: ObjectRef, generation: int) -> Sequence[DocumentRecord]:
    """The documents of one generation of an object by source."""
    stored = places.within(ref.base, OBJECTS)
    beside = calls.rows(stored.where(filter=FieldFilter("version", "==", _version(ref, generation))).select(_ALL))
    within = [row for row in calls.get([places.object(ref)], _ALL) if row.fields.get("generation") == generation]
    return sorted(decoded([*within, *beside], document_from_json, "document"), key=lambda each: each.source)


def named(calls: Calls, places: Places, base: str, name: str) -> Sequence[DocumentRecord]:
    """Live documents that go by this name."""
    if not name:
        return []
    stored = places.within(base, OBJECTS)
    rows = calls.rows(stored.where(filter=FieldFilter("names", "array_contains", digest(name))).select(_ALL))
    found = _answering(calls, places, base, rows, rows[-1].moment, {}) if rows else []
    return sorted(found, key=lambda document: (document.source, document.object))


def _stored(
    places: Places, ref: ObjectRef, generation: int, documents: Sequence[DocumentRecord]
) -> Iterator[tuple[firestore.DocumentReference, Mapping[str, Any], int]]:
    stored = places.within(ref.base, OBJECTS)
    for document in documents:
        record = packed(document)
        if len(record) > LARGEST_RECORD:
            raise DocumentError(
                "TOO_LARGE",
                f"What is known of {document.source} (headings, links, metadata) takes {len(record)} bytes; one "
                f"document may have {LARGEST_RECORD}.",
                "Split the document, or shorten its metadata.",
            )
        names = {document.source, document.document_id, document.external_id, posixpath.splitext(document.source)[0]}
        fields = {
            "source": document.source,
            "object": ref.name,
            "generation": generation,
            "version": _version(ref, generation),
            # Hashes: an external id may be longer than what Firestore indexes.
            "names": sorted(digest(name) for name in names if name),
            "document": record,
        }
        weight = len(record) + 2 * len(document.source.encode()) + len(ref.name.encode()) + 1024
        yield stored.document(digest(ref.name, generation, document.source)), fields, weight


def _version(ref: ObjectRef, generation: int) -> str:
    """Sorts by generation within the object: one field, so that older ones are found without a composite index."""
    return f"{digest(ref.name)} {generation:020d}"


def _behind(stored: firestore.CollectionReference, prefix: str, after: tuple[str, str]) -> firestore.Query | None:
    """The documents of that prefix behind `after`; None where there can be none."""
    bytes_ = _size(prefix)
    if bytes_ is None or bytes_ > MAX_SOURCE_BYTES:
        return None
    query = stored.order_by("source").order_by("object").select(_ALL)
    if prefix:
        # No source that starts with the prefix has room for so many of the last character.
        end = prefix + _LAST_CHARACTER * ((MAX_SOURCE_BYTES - bytes_) // 4 + 1)
        if after[0] >= end:
            return None
        query = query.where(filter=FieldFilter("source", ">=", prefix)).where(filter=FieldFilter("source", "<", end))
    return query.start_after({"source": after[0], "object": after[1]}) if after >= (prefix, "") else query


def _size(text: str) -> int | None:
    """Bytes in UTF-8; None for lone surrogates, which no stored name holds and Firestore cannot be asked about."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return None


def _answering(
    calls: Calls, places: Places, base: str, rows: Sequence[Row], at: datetime, live: dict[str, int | None]
) -> list[DocumentRecord]:
    """The documents of those rows whose generation answers; `live` keeps what objects were asked about it."""
    apart = {row.fields["object"] for row in rows if "live" not in row.fields}
    asked = list(apart - live.keys())
    if asked:
        owners = calls.get([places.object(ObjectRef(base, name)) for name in asked], ["live"], at)
        live |= {name: owner.fields.get("live") for name, owner in zip(asked, owners, strict=True)}
    found = (row for row in rows if row.fields.get("live", live.get(row.fields["object"])) == row.fields["generation"])
    return decoded(found, document_from_json, "document")
