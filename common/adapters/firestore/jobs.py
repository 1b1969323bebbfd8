"""Where jobs stand. One that is new or at work shares its object's document, so that what is decided together is one
write. One that ends when the object no longer changes gets a document of its own, for good, as does one whose place a
newer one takes. The job's own document is right where there is one; its object's then says the same of its state.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from common.adapters.firestore.calls import Calls, Change, Row
from common.adapters.firestore.layout import JOBS, OBJECTS, Places, decoded, key, packed, unpacked
from common.domain.records import JobRecord, job_from_json

_FIELDS: Final = ("job_id", "job_order", "job_state_order", "job")
_BEHIND_DIGITS: Final = ":"


def held(job_id: str, newest: Row, own: Row) -> JobRecord | None:
    """The job, from the document of its own or from its object's."""
    shared = newest if newest.fields.get("job_id") == key(job_id) else own
    return unpacked((own if own.exists else shared).fields.get("job"), job_from_json)


def placed(calls: Calls, places: Places, job: JobRecord, newest: Row, own: Row, *, with_object: bool) -> list[Change]:
    """The changes that store the job; `with_object` says that the object's document is written anyway."""
    fields = _fields(job)
    shared: str | None = newest.fields.get("job_id")
    is_newest = shared == fields["job_id"]
    in_step = is_newest and newest.fields["job_state_order"] == fields["job_state_order"]
    alone, together = Change(own, fields), Change(newest, fields)
    if own.exists:
        return [alone, together] if is_newest and not in_step else [alone]
    if job.finished and not with_object and (in_step or not is_newest):
        return [alone]
    if shared is None or is_newest:
        return [together]
    # The one whose place it takes may have ended in a document of its own.
    (before,) = calls.get([places.within(job.ref.base, JOBS).document(shared)])
    moved = [] if before.exists else [Change(before, {name: newest.fields[name] for name in _FIELDS})]
    return [together, *moved]


def find(calls: Calls, places: Places, base: str, job_id: str) -> JobRecord | None:
    # Jobs only ever move out of their object's document: looked for in this order, none is missed on its way.
    own = places.job(base, job_id)
    shared = places.within(base, OBJECTS).where(filter=FieldFilter("job_id", "==", key(job_id))).limit(1)
    reads = partial(calls.get, [own], ["job"]), partial(calls.rows, shared.select(["job"])), partial(calls.get, [own])
    found = (decoded(read(), job_from_json, "job") for read in reads)
    return next((jobs[0] for jobs in found if jobs), None)


def listed(
    calls: Calls, places: Places, base: str, state: str | None, after: tuple[float, str] | None, limit: int
) -> Sequence[JobRecord]:
    """Newest first: both kinds of places, read as of one moment, merged. A job may stand in both."""
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
    own = calls.rows(among(JOBS), at=newest[-1].moment if newest else None)
    places_of = {str(row.fields[field]): row for row in (*newest, *own)}
    merged = [places_of[order] for order in sorted(places_of, reverse=True)]
    return decoded(merged[: limit or None], job_from_json, "job")


def _fields(job: JobRecord) -> dict[str, Any]:
    order = _order(job.created_at, job.job_id)
    return {
        "job_id": key(job.job_id),
        "job_order": order,
        "job_state_order": f"{job.state} {order}",
        "job": packed(job),
    }


def _order(created_at: float, job_id: str) -> str:
    """Sorts as (created_at, job_id) does: nine decimals tell any two floats of this century apart. As one text it needs
    no composite index, and behind a state neither.
    """
    return f"{created_at:022.9f} {job_id}"
