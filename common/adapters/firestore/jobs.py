"""Where jobs stand. An object's newest job shares the object's document, so that what is decided together is one write;
the job whose place it takes moves to a document of its own, for good.
"""

from collections.abc import Sequence
from typing import Any, Final

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from common.adapters.firestore.calls import Calls, Change, Row
from common.adapters.firestore.layout import JOBS, OBJECTS, Places, decoded, key, packed, unpacked
from common.domain.records import JobRecord, job_from_json

_FIELDS: Final = ("job_id", "job_order", "job_state_order", "job")
_BEHIND_DIGITS: Final = ":"


def held(job_id: str, newest: Row, moved: Row) -> JobRecord | None:
    """The job, from its object's document or from the one of its own."""
    row = newest if newest.fields.get("job_id") == key(job_id) else moved
    return unpacked(row.fields.get("job"), job_from_json)


def placed(job: JobRecord, job_id: str, newest: Row, moved: Row) -> list[Change]:
    """The changes that store the job where it stands; a new one takes the place of the object's newest."""
    if moved.exists:
        return [Change(moved.ref, _fields(job, job_id))]
    taken = Change(newest.ref, _fields(job, job_id))
    before = newest.fields
    if before.get("job_id") in {None, key(job_id)}:
        return [taken]
    own = moved.ref.parent.document(before["job_id"])
    return [taken, Change(own, {name: before[name] for name in _FIELDS})]


def find(calls: Calls, places: Places, base: str, job_id: str) -> JobRecord | None:
    # Jobs only ever move out of their object's document: looked for in this order, none is missed on its way.
    objects = places.within(base, OBJECTS)
    found = calls.rows(objects.where(filter=FieldFilter("job_id", "==", key(job_id))).select(["job"]).limit(1))
    rows = found or calls.get([places.job(base, job_id)], ["job"])
    return next(iter(decoded(rows, job_from_json, "job")), None)


def listed(
    calls: Calls, places: Places, base: str, state: str | None, after: tuple[float, str] | None, limit: int
) -> Sequence[JobRecord]:
    """Newest first: both kinds of places, read as of one moment, merged."""
    field, prefix = ("job_order", "") if state is None else ("job_state_order", f"{state} ")
    end = prefix + (_order(*after) if after else _BEHIND_DIGITS)

    def among(collection: str) -> firestore.Query:
        query = (
            places.within(base, collection)
            .where(filter=FieldFilter(field, ">=", prefix))
            .where(filter=FieldFilter(field, "<", end))
            .order_by(field, direction=firestore.Query.DESCENDING)
            .select([field, "job"])
        )
        return query.limit(limit) if limit else query

    newest = calls.rows(among(OBJECTS))
    moved = calls.rows(among(JOBS), at=newest[-1].moment if newest else None)
    merged = sorted([*newest, *moved], key=lambda row: str(row.fields[field]), reverse=True)
    return decoded(merged[: limit or None], job_from_json, "job")


def _fields(job: JobRecord, job_id: str) -> dict[str, Any]:
    order = _order(job.created_at, job_id)
    return {"job_id": key(job_id), "job_order": order, "job_state_order": f"{job.state} {order}", "job": packed(job)}


def _order(created_at: float, job_id: str) -> str:
    """Sorts as (created_at, job_id) does: nine decimals tell any two floats of this century apart. As one text it needs
    no composite index, and behind a state neither.
    """
    return f"{created_at:022.9f} {job_id}"
