"""The Catalog port in memory. Records are kept as their JSON text, so what cannot be stored for real fails here too."""

import json
import posixpath
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from common.domain.objects import ObjectRef
from common.domain.questions import KeptQuestion, merged
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
    document_from_json,
    job_from_json,
    object_from_json,
    to_json,
)
from common.domain.usage import Usage, added
from common.ports import Live, Totals

T = TypeVar("T")
R = TypeVar("R")
K = TypeVar("K")


class MemoryCatalog:
    """Catalog in dicts behind one lock. `broken` makes every call raise it, as a catalog out of reach would."""

    def __init__(self) -> None:
        self.broken: Exception | None = None
        self._lock = threading.RLock()
        self._epochs: dict[str, int] = {}
        self._bases: dict[str, str] = {}
        self._collections: dict[tuple[str, str], str] = {}
        self._objects: dict[ObjectRef, str] = {}
        self._documents: dict[tuple[ObjectRef, int, str], str] = {}
        self._jobs: dict[tuple[str, str], str] = {}
        self._usage: dict[str, Usage] = {}
        self._questions: dict[str, str] = {}

    def transact(self, ref: ObjectRef, job_id: str, decide: Callable[[Held], Decision[T]]) -> T:
        self._check()
        with self._lock:
            decision = decide(Held(self.base(ref.base), self.object(ref), self.job(ref.base, job_id)))
            wanted = decision.held
            _put(self._bases, ref.base, wanted.base)
            _put(self._objects, ref, wanted.object)
            _put(self._jobs, (ref.base, job_id), wanted.job)
            self._documents.update({(ref, each.generation, each.source): _text(each) for each in decision.documents})
            self._raise(ref.base, by=int(decision.raise_epoch))
        return decision.value

    def update_base(
        self, base: str, decide: Callable[[BaseRecord | None], tuple[BaseRecord | None, T]], *, raise_epoch: bool
    ) -> T:
        self._check()
        with self._lock:
            wanted, value = decide(self.base(base))
            _put(self._bases, base, wanted)
            self._raise(base, by=int(raise_epoch))
        return value

    def base(self, base: str) -> BaseRecord | None:
        self._check()
        return _get(self._bases, base, base_from_json)

    def bases(self) -> Sequence[BaseRecord]:
        self._check()
        with self._lock:
            return [base_from_json(json.loads(text)) for _, text in sorted(self._bases.items())]

    def put_collection(self, record: CollectionRecord) -> CollectionRecord:
        self._check()
        text = self._collections.setdefault((record.base, record.name), _text(record))
        return collection_from_json(json.loads(text))

    def collection(self, base: str, name: str) -> CollectionRecord | None:
        self._check()
        return _get(self._collections, (base, name), collection_from_json)

    def drop_collection(self, base: str, name: str) -> None:
        self._check()
        self._collections.pop((base, name), None)

    def epoch(self, base: str) -> int:
        self._check()
        return self._epochs.get(base, 0)

    def live(self, base: str, names: Collection[str]) -> tuple[Mapping[str, Live], int]:
        self._check()
        with self._lock:
            records = [record for name in names if (record := self.object(ObjectRef(base, name))) is not None]
            epoch = self._epochs.get(base, 0)
        return {each.ref.name: Live(each.live, each.stale) for each in records if each.live is not None}, epoch

    def object(self, ref: ObjectRef) -> ObjectRecord | None:
        self._check()
        return _get(self._objects, ref, object_from_json)

    def objects(self, base: str) -> Iterator[ObjectRecord]:
        self._check()
        with self._lock:
            texts = [text for ref, text in sorted(self._objects.items()) if ref.base == base]
        return (object_from_json(json.loads(text)) for text in texts)

    def put_documents(self, ref: ObjectRef, generation: int, documents: Sequence[DocumentRecord]) -> None:
        self._check()
        with self._lock:
            self._documents.update({(ref, generation, each.source): _text(each) for each in documents})

    def drop_documents(self, ref: ObjectRef, below: int, since: int = 0) -> None:
        self._check()
        with self._lock:
            for key in [key for key in self._documents if key[0] == ref and since <= key[1] < below]:
                del self._documents[key]

    def documents(
        self, base: str, *, prefix: str = "", after: tuple[str, str] = ("", ""), limit: int = 0
    ) -> Sequence[DocumentRecord]:
        wanted = [
            each for each in self._listed(base) if each.source.startswith(prefix) and (each.source, each.object) > after
        ]
        return wanted[: limit or None]

    def documents_of(self, ref: ObjectRef, generation: int) -> Sequence[DocumentRecord]:
        self._check()
        with self._lock:
            texts = [text for key, text in self._documents.items() if key[:2] == (ref, generation)]
        return sorted((document_from_json(json.loads(text)) for text in texts), key=lambda each: each.source)

    def documents_named(self, base: str, name: str) -> Sequence[DocumentRecord]:
        return [each for each in self._listed(base) if name and name in _names(each)]

    def job(self, base: str, job_id: str) -> JobRecord | None:
        self._check()
        return _get(self._jobs, (base, job_id), job_from_json)

    def jobs(
        self, base: str, *, state: str | None = None, after: tuple[float, str] | None = None, limit: int = 0
    ) -> Sequence[JobRecord]:
        self._check()
        with self._lock:
            all_jobs = [job_from_json(json.loads(text)) for key, text in self._jobs.items() if key[0] == base]
        wanted = [
            job
            for job in sorted(all_jobs, key=_age, reverse=True)
            if state in {None, job.state} and (after is None or _age(job) < after)
        ]
        return wanted[: limit or None]

    def totals(self, base: str) -> Totals:
        live = [record for record in self.objects(base) if record.live is not None]
        return Totals(
            len(live),
            sum(record.documents for record in live),
            sum(record.passages for record in live),
            sum(record.tokens for record in live),
            sum(record.size for record in live),
        )

    def add_usage(self, base: str, spent: Usage) -> None:
        self._check()
        with self._lock:
            self._usage[base] = added(self._usage.get(base, {}), spent)

    def usage(self, base: str) -> Usage:
        self._check()
        return self._usage.get(base, {})

    def add_questions(self, base: str, asked: Sequence[KeptQuestion]) -> None:
        with self._lock:
            self._put_questions(base, merged(self.questions(base), asked))

    def replace_questions(self, base: str, stored: Sequence[KeptQuestion]) -> None:
        with self._lock:
            real = [each for each in self.questions(base) if each.origin == "asked"]
            self._put_questions(base, merged(real, stored))

    def questions(self, base: str) -> Sequence[KeptQuestion]:
        self._check()
        return [KeptQuestion(**fields) for fields in json.loads(self._questions.get(base, "[]"))]

    def forget_questions(self, base: str) -> None:
        self._check()
        self._questions.pop(base, None)

    def void_leases(self) -> int:
        self._check()
        with self._lock:
            records = [object_from_json(json.loads(text)) for text in self._objects.values()]
            leased = [record for record in records if record.leased]
            for record in leased:
                _put(self._objects, record.ref, replace(record, lease=None, rebuilding=None))
        return len(leased)

    def _check(self) -> None:
        if self.broken is not None:
            raise self.broken

    def _raise(self, base: str, *, by: int) -> None:
        self._epochs[base] = self._epochs.get(base, 0) + by

    def _put_questions(self, base: str, questions: Sequence[KeptQuestion]) -> None:
        self._questions[base] = json.dumps([to_json(each) for each in questions])

    def _listed(self, base: str) -> list[DocumentRecord]:
        self._check()
        with self._lock:
            live = {record.ref: record.live for record in self.objects(base)}
            texts = [text for (ref, generation, _), text in self._documents.items() if live.get(ref) == generation]
        documents = [document_from_json(json.loads(text)) for text in texts]
        return sorted(documents, key=lambda each: (each.source, each.object))


def _names(document: DocumentRecord) -> set[str]:
    return {document.source, document.document_id, document.external_id, posixpath.splitext(document.source)[0]}


def _age(job: JobRecord) -> tuple[float, str]:
    return job.created_at, job.job_id


def _text(record: object) -> str:
    return json.dumps(to_json(record))


def _put(rows: dict[K, str], key: K, record: object | None) -> None:
    if record is not None:
        rows[key] = _text(record)


def _get(rows: Mapping[K, str], key: K, decode: Callable[[Mapping[str, Any]], R]) -> R | None:
    text = rows.get(key)
    return None if text is None else decode(json.loads(text))
