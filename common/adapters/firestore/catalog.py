"""The Catalog port over Firestore: bases, epochs, collections, objects and jobs; layout.py says where each stands."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from common.adapters.firestore import documents, jobs, questions, usage
from common.adapters.firestore.calls import PATIENCE, Calls, Change, Row, Step
from common.adapters.firestore.layout import OBJECTS, Places, decoded, packed, unpacked
from common.domain.objects import ObjectRef
from common.domain.questions import KeptQuestion
from common.domain.records import (
    BaseRecord,
    CollectionRecord,
    Decision,
    DocumentRecord,
    Held,
    JobRecord,
    ObjectRecord,
    base_from_json,
    collection_from_json,
    object_from_json,
)
from common.domain.usage import Usage
from common.ports import Live, Totals

T = TypeVar("T")

_SUMS = ("documents", "passages", "tokens", "size")


class FirestoreCatalog:
    """Catalog in one Firestore database; see the port for what each method promises.

    `shards` (1 to 64) is the number of counters that share an epoch's writes. Every instance has to know the same
    number: change it only while none runs. `patience` is how many seconds one call may take.
    """

    def __init__(self, client: firestore.Client, shards: int = 4, *, patience: float = PATIENCE) -> None:
        self._calls = Calls(client, patience)
        self._places = Places(client, shards)
        self._shard = usage.own_shard()

    def transact(self, ref: ObjectRef, job_id: str, decide: Callable[[Held], Decision[T]]) -> T:
        places = self._places

        def settled(seen: Sequence[Row]) -> Step[T]:
            base, known, own = seen
            held = Held(_record(base, base_from_json), _record(known, object_from_json), jobs.held(job_id, known, own))
            decision = decide(held)
            wanted = decision.held
            changes = []
            if wanted.base is not None and wanted.base != held.base:
                changes.append(Change(base, {"record": packed(wanted.base)}))
            fields, beside = self._of_object(ref, held.object, wanted.object, decision.documents)
            if fields:
                changes.append(Change(known, fields))
            if wanted.job is not None and wanted.job != held.job:
                changes += jobs.placed(self._calls, places, wanted.job, known, own, with_object=bool(fields))
            raised = [places.epoch_of(ref.base, ref.name)] if decision.raise_epoch else []
            return Step(decision.value, _joined(changes), raised, beside, seen)

        refs = [places.base(ref.base), places.object(ref), places.job(ref.base, job_id)]
        return self._calls.settle(refs, settled)

    def _of_object(
        self,
        ref: ObjectRef,
        before: ObjectRecord | None,
        wanted: ObjectRecord | None,
        rows: Sequence[DocumentRecord],
    ) -> documents.Placed:
        """What changes in the object's document, and the documents to store beside it. One within it leaves with its
        generation.
        """
        if wanted is None or (wanted == before and not rows):
            return {}, []
        fields = _object_fields(wanted)
        if not rows and before is not None and wanted.live == before.live:
            return fields, []
        within, beside = documents.placed(self._places, ref, wanted.live, rows)
        return {**fields, **within}, beside

    def update_base(
        self, base: str, decide: Callable[[BaseRecord | None], tuple[BaseRecord | None, T]], *, raise_epoch: bool
    ) -> T:
        def settled(seen: Sequence[Row]) -> Step[T]:
            (row,) = seen
            stored = _record(row, base_from_json)
            wanted, value = decide(stored)
            changed = wanted is not None and wanted != stored
            changes = [Change(row, {"record": packed(wanted)})] if changed else []
            raised = [self._places.epoch_of(base)] if raise_epoch else []
            return Step(value, changes, raised, relies_on=[row])

        return self._calls.settle([self._places.base(base)], settled)

    def base(self, base: str) -> BaseRecord | None:
        (row,) = self._calls.get([self._places.base(base)])
        return _record(row, base_from_json)

    def bases(self) -> Sequence[BaseRecord]:
        return decoded(self._calls.rows(self._places.bases.order_by("__name__")), base_from_json)

    def put_collection(self, record: CollectionRecord) -> CollectionRecord:
        created = self._calls.create(self._places.collection(record.base, record.name), {"record": packed(record)})
        return record if created else self.collection(record.base, record.name) or record

    def collection(self, base: str, name: str) -> CollectionRecord | None:
        (row,) = self._calls.get([self._places.collection(base, name)])
        return _record(row, collection_from_json)

    def drop_collection(self, base: str, name: str) -> None:
        self._calls.delete([self._places.collection(base, name)])

    def epoch(self, base: str) -> int:
        return _sum(self._calls.get(self._places.epochs(base)))

    def live(self, base: str, names: Collection[str]) -> tuple[Mapping[str, Live], int]:
        asked = list(dict.fromkeys(names))
        objects = [self._places.object(ObjectRef(base, name)) for name in asked]
        rows = self._calls.get([*objects, *self._places.epochs(base)], ["live", "stale", "raised"])
        found = {}
        for name, row in zip(asked, rows, strict=False):
            if row.fields.get("live") is not None:
                found[name] = Live(int(row.fields["live"]), bool(row.fields["stale"]))
        return found, _sum(rows[len(asked) :])

    def object(self, ref: ObjectRef) -> ObjectRecord | None:
        (row,) = self._calls.get([self._places.object(ref)], ["record"])
        return _record(row, object_from_json)

    def objects(self, base: str) -> Iterator[ObjectRecord]:
        query = self._places.within(base, OBJECTS).order_by("name").select(["record"])
        return iter(decoded(self._calls.rows(query), object_from_json))

    def put_documents(self, ref: ObjectRef, generation: int, documents_: Sequence[DocumentRecord]) -> None:
        documents.put(self._calls, self._places, ref, generation, documents_)

    def drop_documents(self, ref: ObjectRef, below: int, since: int = 0) -> None:
        documents.drop(self._calls, self._places, ref, below, since)

    def documents(
        self, base: str, *, prefix: str = "", after: tuple[str, str] = ("", ""), limit: int = 0
    ) -> Sequence[DocumentRecord]:
        return documents.listed(self._calls, self._places, base, prefix, after, limit)

    def documents_of(self, ref: ObjectRef, generation: int) -> Sequence[DocumentRecord]:
        return documents.of(self._calls, self._places, ref, generation)

    def documents_named(self, base: str, name: str) -> Sequence[DocumentRecord]:
        return documents.named(self._calls, self._places, base, name)

    def job(self, base: str, job_id: str) -> JobRecord | None:
        return jobs.find(self._calls, self._places, base, job_id)

    def jobs(
        self, base: str, *, state: str | None = None, after: tuple[float, str] | None = None, limit: int = 0
    ) -> Sequence[JobRecord]:
        return jobs.listed(self._calls, self._places, base, state, after, limit)

    def totals(self, base: str) -> Totals:
        sums = self._calls.sums(self._places.within(base, OBJECTS), _SUMS)
        return Totals(objects=sums.pop("count"), **sums)

    def add_usage(self, base: str, spent: Usage) -> None:
        usage.add(self._calls, self._places, base, self._shard, spent)

    def usage(self, base: str) -> Usage:
        return usage.total(self._calls, self._places, base)

    def add_questions(self, base: str, asked: Sequence[KeptQuestion]) -> None:
        questions.add(self._calls, self._places, base, self._shard, asked)

    def replace_questions(self, base: str, stored: Sequence[KeptQuestion]) -> None:
        questions.replace(self._calls, self._places, base, stored)

    def questions(self, base: str) -> Sequence[KeptQuestion]:
        return questions.kept(self._calls, self._places, base)

    def forget_questions(self, base: str) -> None:
        questions.forget(self._calls, self._places, base)

    def void_leases(self) -> int:
        voided = 0
        for base in self._calls.children(self._places.bases):
            leased = base.collection(OBJECTS).where(filter=FieldFilter("leased", "==", True)).select(["leased"])  # noqa: FBT003
            voided += sum(self._calls.settle([row.ref], _unleased) for row in self._calls.rows(leased))
        return voided


def _record(row: Row, decode: Callable[[Mapping[str, Any]], T]) -> T | None:
    return unpacked(row.fields.get("record"), decode)


def _sum(counters: Sequence[Row]) -> int:
    return sum(row.fields.get("raised", 0) for row in counters)


def _object_fields(record: ObjectRecord) -> dict[str, Any]:
    """The fields of an object's document. Only what answers has counts, so that sums over them leave the rest out."""
    counts = dict.fromkeys(_SUMS) if record.live is None else {name: getattr(record, name) for name in _SUMS}
    return {
        "name": record.ref.name,
        "live": record.live,
        "stale": record.stale,
        "leased": record.leased,
        **counts,
        "record": packed(record),
    }


def _joined(changes: Sequence[Change]) -> list[Change]:
    """One change per document."""
    fields: dict[str, dict[str, Any]] = {}
    rows = {change.row.ref.path: change.row for change in changes}
    for change in changes:
        fields.setdefault(change.row.ref.path, {}).update(change.fields)
    return [Change(rows[path], merged) for path, merged in fields.items()]


def _unleased(seen: Sequence[Row]) -> Step[int]:
    (row,) = seen
    record = _record(row, object_from_json)
    if record is None or not record.leased:
        return Step(0)
    return Step(1, [Change(row, _object_fields(replace(record, lease=None, rebuilding=None)))])
