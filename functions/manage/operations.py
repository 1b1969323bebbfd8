"""What is written about each route of the manage function. Imported only to describe it."""

from collections.abc import Mapping
from typing import Final

from common.domain.codes import STATES
from common.openapi import Body, Operation, Route, Schema, json_of
from common.paging import MAX_PAGE
from functions.manage.schemas import (
    Documents,
    Drift,
    DriftOfAll,
    Fitted,
    Gaps,
    Job,
    Jobs,
    QuestionCounts,
    QuestionSet,
    Removal,
    Repair,
    Reset,
    Signed,
    Signing,
    Stored,
)
from functions.manage.schemas_reindex import Forced, Migration, Plan, Start, Started

_PAGED: Final[Mapping[str, Schema]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE},
    "cursor": {"type": "string", "description": "`next_cursor` of the page before."},
}
_FORM: Final[Schema] = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}, "source": {"type": "string"}},
    "required": ["file"],
}
_BYTES: Final[Schema] = {"type": "string", "format": "binary"}
_STORED: Final[Mapping[int, Body | None]] = {200: Body(Stored), 202: Body(Stored)}
_BASE: Final = "/v1/bases/<base>"

OPERATIONS: Final[Mapping[Route, Operation]] = {
    ("POST", f"{_BASE}/documents"): Operation(
        "Upload a file: a form, or its bytes with the header X-Source",
        _STORED,
        [Body(_FORM, "multipart/form-data"), Body(_BYTES, "application/octet-stream")],
        headers={"X-Source": {"type": "string", "description": "The file's source, in UTF-8."}},
        problems=[409, 413],
    ),
    ("POST", f"{_BASE}/uploads"): Operation(
        "An address to upload one file to, past this function", json_of(Signed), [Body(Signing)], problems=[409]
    ),
    ("GET", f"{_BASE}/documents"): Operation(
        "The documents, and those whose newest version does not answer", json_of(Documents), query=_PAGED
    ),
    ("DELETE", f"{_BASE}/documents/<source:source>"): Operation(
        "Remove a document from the bucket and from all answers, by its id, its source or its job",
        json_of(Removal, 202),
        problems=[409],
    ),
    ("GET", f"{_BASE}/jobs"): Operation(
        "The jobs, newest first", json_of(Jobs), query={"state": {"type": "string", "enum": list(STATES)}, **_PAGED}
    ),
    ("GET", f"{_BASE}/jobs/<job_id>"): Operation("One job", json_of(Job)),
    ("DELETE", _BASE): Operation("Remove every document of a base", json_of(Reset, 202)),
    ("POST", f"{_BASE}/reconcile"): Operation(
        "Compare bucket, catalog and index, and mend what differs",
        json_of(Drift),
        [Body(Repair)],
        body_required=False,
        problems=[409],
    ),
    ("POST", "/v1/reconcile"): Operation(
        "Compare every base that the caller may administer, the one that has waited longest first",
        json_of(DriftOfAll),
        [Body(Repair)],
        body_required=False,
    ),
    ("GET", f"{_BASE}/gaps"): Operation(
        "What the base was asked and does not answer, the most often asked first",
        json_of(Gaps),
        query={"limit": _PAGED["limit"]},
    ),
    ("GET", f"{_BASE}/questions"): Operation("How many questions are kept of a base", json_of(QuestionCounts)),
    ("PUT", f"{_BASE}/questions"): Operation(
        "Store the questions that later comparisons of two models ask", json_of(QuestionCounts), [Body(QuestionSet)]
    ),
    ("POST", f"{_BASE}/calibrate"): Operation("Fit the base's gate anew", json_of(Fitted), problems=[409]),
    ("POST", f"{_BASE}/reindex"): Operation(
        "Begin to move a base to another vector space",
        json_of(Started, 202),
        [Body(Start)],
        body_required=False,
        problems=[409],
    ),
    ("GET", f"{_BASE}/reindex"): Operation("The base's last migration", json_of(Migration)),
    ("GET", f"{_BASE}/reindex/plan"): Operation(
        "What a migration would take", json_of(Plan), query={"model": {"type": "string"}}, problems=[409]
    ),
    ("GET", f"{_BASE}/reindex/<reindex_id>"): Operation("How far a migration is", json_of(Migration)),
    **{
        ("POST", f"{_BASE}/reindex/<reindex_id>/{command}"): Operation(
            says, json_of(Migration), [Body(Forced)] if forced else [], body_required=False, problems=[409]
        )
        for command, says, forced in (
            ("switch", "Let the new collection answer", True),
            ("rollback", "Let the old collection answer again", True),
            ("cancel", "Stop before the new collection answers, and free its space", False),
            ("retire", "Free the collection that no longer answers", False),
        )
    },
}
SIGNED_UPLOADS: Final[Mapping[Route, Operation]] = {
    ("PUT", "/v1/uploads/<token>"): Operation(
        "Send the bytes of a signed upload; the address itself is the permission, once",
        _STORED,
        [Body(_BYTES, "application/octet-stream")],
        problems=[400, 403, 409, 413, 500, 503],
        public=True,
    ),
}
"""What only a machine of its own answers; in the cloud the bucket does."""
