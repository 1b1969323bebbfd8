"""How Firestore is called: with bounded patience, in consistent reads, in commits that hold only if nothing moved, and
with its errors in the product's words.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final, Generic, TypeVar

from google.api_core import exceptions
from google.api_core.retry import Retry, if_exception_type
from google.auth.exceptions import GoogleAuthError
from google.cloud import firestore
from google.cloud.firestore_v1.aggregation import AggregationQuery
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from common.domain.errors import Misconfigured, Unavailable

T = TypeVar("T")

PATIENCE: Final = 20.0
"""Seconds that one call may take, repetitions included."""

WRITES: Final = 500
"""Writes of one commit, transforms counted."""

COMMIT_BYTES: Final = 3 * 1024 * 1024
"""Bytes of one commit: Firestore takes 10 MiB, its emulator 4."""

_PASSING: Final = (
    exceptions.ServiceUnavailable,
    exceptions.InternalServerError,
    exceptions.DeadlineExceeded,
    exceptions.ResourceExhausted,
)
_MOVED: Final = (
    exceptions.Aborted,
    exceptions.AlreadyExists,
    exceptions.FailedPrecondition,
    exceptions.NotFound,
)
"""How a commit says that another writer was first."""


class Contended(Unavailable):
    """Other writers changed the same documents first, time after time."""


@dataclass(frozen=True, slots=True)
class Row:
    """One document as it stood at `moment`; a missing one has no fields and no version. A query continues behind its
    `cursor`.
    """

    ref: firestore.DocumentReference
    fields: Mapping[str, Any]
    version: datetime | None
    moment: datetime
    cursor: Any

    @property
    def exists(self) -> bool:
        return self.version is not None


@dataclass(frozen=True, slots=True)
class Change:
    """Fields that one document shall have, which was read as `row` and has not moved since; None takes a field away,
    fields that are not named stay.
    """

    row: Row
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """What a decision comes to: its `value`, the changes, the counters to raise by one, the documents to store whatever
    was there, and those that have to be as they were read for all of that to be right.
    """

    value: T
    changes: Sequence[Change] = ()
    raised: Sequence[firestore.DocumentReference] = ()
    stored: Sequence[tuple[firestore.DocumentReference, Mapping[str, Any]]] = ()
    relies_on: Sequence[Row] = ()


class Calls:
    """The calls on one client's database, safe between threads. All raise Unavailable when it does not answer within
    `patience` seconds, and Misconfigured when it refuses us.
    """

    def __init__(self, client: firestore.Client, patience: float) -> None:
        self._client = client
        retry = Retry(
            predicate=if_exception_type(*_PASSING), initial=0.1, maximum=2.0, multiplier=1.6, timeout=patience
        )
        self._bounds: dict[str, Any] = {"retry": retry, "timeout": patience}
        self._retrying = Retrying(
            retry=retry_if_exception_type(Contended),
            stop=stop_after_delay(patience),
            wait=wait_random_exponential(multiplier=0.02, max=1.0),
            sleep=time.sleep,
            reraise=True,
        )

    def get(
        self,
        refs: Sequence[firestore.DocumentReference],
        fields: Iterable[str] | None = None,
        at: datetime | None = None,
    ) -> list[Row]:
        """The documents in the order asked for, missing ones too, all as they stood at one moment (`at`, else now).

        One BatchGetDocuments is one snapshot: the API promises that no document of the stream has changed between its
        own read time and a later one's.
        """
        with translated():
            found = map(_row, self._client.get_all(list(refs), fields, read_time=at, **self._bounds))
            by_path = {row.ref.path: row for row in found}
        return [by_path[ref.path] for ref in refs]

    def rows(self, query: firestore.Query, at: datetime | None = None) -> list[Row]:
        """The query's documents, as they stood at one moment."""
        with translated():
            return [_row(found) for found in query.stream(read_time=at, **self._bounds)]

    def sums(self, collection: firestore.CollectionReference, fields: Sequence[str]) -> dict[str, int]:
        """Sums over the documents that have all the fields, and their number as `count`."""
        query: Any = AggregationQuery(firestore.Query(collection)).count("count")
        for field in fields:
            query = query.sum(field, field)
        with translated():
            (row,) = query.get(**self._bounds)
        return {each.alias: int(each.value) for each in row}

    def children(self, collection: firestore.CollectionReference) -> list[firestore.DocumentReference]:
        """Every document of the collection, also those that exist only by what lies below them."""
        with translated():
            return list(collection.list_documents(**self._bounds))

    def create(self, ref: firestore.DocumentReference, fields: Mapping[str, Any]) -> bool:
        """Store a new document; False when there is one already."""
        try:
            with translated(writing=True):
                ref.create(dict(fields), **self._bounds)
        except Contended:
            return False
        return True

    def put(self, rows: Iterable[tuple[firestore.DocumentReference, Mapping[str, Any], int]]) -> None:
        """Store documents whatever was there, each given with its size in bytes, in as few commits as may be."""
        self._commit_all((partial(_put, ref=ref, fields=fields), size) for ref, fields, size in rows)

    def delete(self, refs: Iterable[firestore.DocumentReference]) -> None:
        self._commit_all((partial(_delete, ref=ref), len(ref.path)) for ref in refs)

    def increase(self, ref: firestore.DocumentReference, field: str, counts: Mapping[str, Mapping[str, int]]) -> None:
        """Add to numbers of a document's field without reading it; the document is made where there is none."""
        steps = {name: {key: firestore.Increment(by) for key, by in more.items()} for name, more in counts.items()}
        with translated():
            ref.set({field: steps}, merge=True, **self._bounds)

    def settle(self, refs: Sequence[firestore.DocumentReference], decide: Callable[[Sequence[Row]], Step[T]]) -> T:
        """Read, decide, and store what was decided only if nothing it stands on has moved; else all of it again.

        No lock is held while deciding. What is written carries the version that was read as its precondition, and what
        was only relied on is read again in the transaction that commits, so whatever is stored was decided on documents
        that still stood. Locking from the first read on would be as right, but then writers of one document block each
        other: on the emulator 16 increments by 8 threads took 404 s so, and 0.3 s this way. Raises Contended when
        others win for all of the call's patience.
        """
        settled: T = self._retrying.copy()(self._attempt, refs, decide)
        return settled

    def _attempt(self, refs: Sequence[firestore.DocumentReference], decide: Callable[[Sequence[Row]], Step[T]]) -> T:
        step = decide(self.get(refs))
        if step.changes or step.raised or step.stored:
            written = {change.row.ref.path for change in step.changes}
            relied = {row.ref.path: row for row in step.relies_on if row.ref.path not in written}
            with translated(writing=True):
                self._commit(step, relied)
        return step.value

    def _commit(self, step: Step[T], relied: Mapping[str, Row]) -> None:
        if not relied:
            batch = self._client.batch()
            _fill(batch, step)
            batch.commit(**self._bounds)
            return

        @firestore.transactional
        def verified(transaction: firestore.Transaction) -> None:
            for row in map(_row, transaction.get_all([row.ref for row in relied.values()], **self._bounds)):
                if row.version != relied[row.ref.path].version:
                    raise Contended(f"{row.ref.path} was changed by another writer")
            _fill(transaction, step)

        verified(self._client.transaction(max_attempts=1))

    def _commit_all(self, writes: Iterable[tuple[Callable[[firestore.WriteBatch], None], int]]) -> None:
        batch, count, size = self._client.batch(), 0, 0
        with translated():
            for write, weight in writes:
                if count == WRITES or (count and size + weight > COMMIT_BYTES):
                    batch.commit(**self._bounds)
                    batch, count, size = self._client.batch(), 0, 0
                write(batch)
                count, size = count + 1, size + weight
            if count:
                batch.commit(**self._bounds)


def _row(snapshot: Any) -> Row:  # noqa: ANN401 - generic in stubs, not in every release at run time
    return Row(snapshot.reference, snapshot.to_dict() or {}, snapshot.update_time, snapshot.read_time, cursor=snapshot)


def _put(batch: firestore.WriteBatch, *, ref: firestore.DocumentReference, fields: Mapping[str, Any]) -> None:
    batch.set(ref, dict(fields))


def _delete(batch: firestore.WriteBatch, *, ref: firestore.DocumentReference) -> None:
    batch.delete(ref)


def _fill(batch: firestore.WriteBatch, step: Step[T]) -> None:
    for change in step.changes:
        row = change.row
        kept = {name: value for name, value in change.fields.items() if value is not None}
        if not row.exists:
            batch.create(row.ref, kept)
        else:
            gone = dict.fromkeys(change.fields.keys() - kept.keys(), firestore.DELETE_FIELD)
            batch.update(row.ref, {**kept, **gone}, option=firestore.LastUpdateOption(row.version))
    for ref, fields in step.stored:
        batch.set(ref, dict(fields))
    for counter in step.raised:
        batch.set(counter, {"raised": firestore.Increment(1)}, merge=True)


@contextmanager
def translated(*, writing: bool = False) -> Iterator[None]:
    """Google's errors in the product's words; in a commit (`writing`) those of a lost race are Contended."""
    try:
        yield
    except (exceptions.GoogleAPIError, GoogleAuthError) as error:
        raise _meaning(error, writing=writing) from error
    except ValueError as error:
        # The client's transactions hide what went wrong behind the failure to undo or to repeat them.
        hidden = error.__cause__ or error.__context__
        if isinstance(hidden, exceptions.GoogleAPIError | GoogleAuthError):
            raise _meaning(hidden, writing=writing) from error
        raise


def _meaning(error: Exception, *, writing: bool) -> Exception:
    if writing and isinstance(error, _MOVED):
        return Contended(f"Firestore: another writer was first ({error}).")
    match error:
        case exceptions.PermissionDenied() | exceptions.Unauthenticated():
            return Misconfigured(f"Firestore refuses this identity: it needs roles/datastore.user ({error}).")
        case GoogleAuthError() if not error.retryable:
            return Misconfigured(f"No Google credentials can be had for Firestore ({error}).")
        case exceptions.NotFound():
            return Misconfigured(f"There is no such Firestore database: check GOOGLE_CLOUD_PROJECT ({error}).")
        case exceptions.FailedPrecondition():
            return Misconfigured(f"Firestore lacks what the catalog needs; apply the deployment's indexes ({error}).")
        case exceptions.InvalidArgument() | exceptions.OutOfRange() | exceptions.MethodNotImplemented():
            return ValueError(f"Firestore refuses the request: {error}")
        case _:
            return Unavailable(f"Firestore does not answer: {error}")
