"""The Catalog port over the one-machine database: bases, epochs, collections, objects and jobs."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from common.adapters.sqlite import documents, questions
from common.adapters.sqlite.connection import Database
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
    job_from_json,
    object_from_json,
    to_json,
)
from common.domain.usage import KINDS, Count, Usage
from common.ports import Live, Totals

T = TypeVar("T")
R = TypeVar("R")

_EPOCH = "SELECT epoch FROM epochs WHERE base = ?"
_RAISE_EPOCH = "INSERT INTO epochs (base, epoch) VALUES (?, 1) ON CONFLICT (base) DO UPDATE SET epoch = epoch + 1"
_BASE = "SELECT record FROM bases WHERE base = ?"
_OBJECT = "SELECT record FROM objects WHERE base = ? AND name = ?"
_JOB = "SELECT record FROM jobs WHERE base = ? AND job_id = ?"
_COLLECTION = "SELECT record FROM collections WHERE base = ? AND name = ?"

# One statement is one snapshot: the names' generations and the epoch beside them cannot be of two moments.
_LIVE = """
SELECT name, live, stale FROM objects
WHERE base = ?1 AND name IN (SELECT value FROM json_each(?2)) AND live IS NOT NULL
UNION ALL SELECT NULL, epoch, 0 FROM epochs WHERE base = ?1
"""

_JOBS = """
SELECT record FROM jobs
WHERE base = ?1 AND (created_at, job_id) < (?2, ?3) {state}
ORDER BY created_at DESC, job_id DESC LIMIT ?4
"""
_ALL_JOBS = _JOBS.format(state="")
_JOBS_IN_STATE = _JOBS.format(state="AND state = ?5")
_USAGE = "SELECT kind, calls, tokens, written FROM usage WHERE base = ?"
_ADD_USAGE = """
INSERT INTO usage (base, kind, calls, tokens, written) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (base, kind) DO UPDATE SET
    calls = calls + excluded.calls, tokens = tokens + excluded.tokens, written = written + excluded.written
"""
_BEHIND_NOTHING = (float("inf"), "")


class SqliteCatalog:
    """Catalog in the one-machine database; see the port for what each method promises."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def transact(self, ref: ObjectRef, job_id: str, decide: Callable[[Held], Decision[T]]) -> T:
        with self._database.transaction() as connection:
            held = Held(
                _one(connection, base_from_json, _BASE, ref.base),
                _one(connection, object_from_json, _OBJECT, ref.base, ref.name),
                _one(connection, job_from_json, _JOB, ref.base, job_id),
            )
            decision = decide(held)
            wanted = decision.held
            if wanted.base is not None and wanted.base != held.base:
                _write_base(connection, ref.base, wanted.base)
            if wanted.object is not None and wanted.object != held.object:
                _write_object(connection, ref, wanted.object)
            if wanted.job is not None and wanted.job != held.job:
                _write_job(connection, ref.base, job_id, wanted.job)
            for document in decision.documents:
                documents.put(connection, ref, document.generation, [document])
            if decision.raise_epoch:
                connection.execute(_RAISE_EPOCH, (ref.base,))
        return decision.value

    def update_base(
        self, base: str, decide: Callable[[BaseRecord | None], tuple[BaseRecord | None, T]], *, raise_epoch: bool
    ) -> T:
        with self._database.transaction() as connection:
            stored = _one(connection, base_from_json, _BASE, base)
            wanted, value = decide(stored)
            if wanted is not None and wanted != stored:
                _write_base(connection, base, wanted)
            if raise_epoch:
                connection.execute(_RAISE_EPOCH, (base,))
        return value

    def base(self, base: str) -> BaseRecord | None:
        with self._database.read() as connection:
            return _one(connection, base_from_json, _BASE, base)

    def bases(self) -> Sequence[BaseRecord]:
        with self._database.read() as connection:
            rows = connection.execute("SELECT record FROM bases ORDER BY base").fetchall()
        return [base_from_json(json.loads(text)) for (text,) in rows]

    def put_collection(self, record: CollectionRecord) -> CollectionRecord:
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO collections (base, name, record) VALUES (?, ?, ?)",
                (record.base, record.name, _text(record)),
            )
            stored = _one(connection, collection_from_json, _COLLECTION, record.base, record.name)
        return stored or record

    def collection(self, base: str, name: str) -> CollectionRecord | None:
        with self._database.read() as connection:
            return _one(connection, collection_from_json, _COLLECTION, base, name)

    def drop_collection(self, base: str, name: str) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM collections WHERE base = ? AND name = ?", (base, name))

    def epoch(self, base: str) -> int:
        row = self._database.row(_EPOCH, (base,))
        return int(row[0]) if row else 0

    def live(self, base: str, names: Collection[str]) -> tuple[Mapping[str, Live], int]:
        with self._database.read() as connection:
            rows = connection.execute(_LIVE, (base, json.dumps(list(names)))).fetchall()
        epoch = sum(number for name, number, _ in rows if name is None)
        return {name: Live(number, bool(stale)) for name, number, stale in rows if name is not None}, epoch

    def object(self, ref: ObjectRef) -> ObjectRecord | None:
        with self._database.read() as connection:
            return _one(connection, object_from_json, _OBJECT, ref.base, ref.name)

    def objects(self, base: str) -> Iterator[ObjectRecord]:
        with self._database.read() as connection:
            rows = connection.execute("SELECT record FROM objects WHERE base = ? ORDER BY name", (base,)).fetchall()
        return (object_from_json(json.loads(text)) for (text,) in rows)

    def put_documents(self, ref: ObjectRef, generation: int, documents_: Sequence[DocumentRecord]) -> None:
        with self._database.transaction() as connection:
            documents.put(connection, ref, generation, documents_)

    def drop_documents(self, ref: ObjectRef, below: int, since: int = 0) -> None:
        with self._database.transaction() as connection:
            documents.drop(connection, ref, below, since)

    def documents(
        self, base: str, *, prefix: str = "", after: tuple[str, str] = ("", ""), limit: int = 0
    ) -> Sequence[DocumentRecord]:
        with self._database.read() as connection:
            return documents.listed(connection, base, prefix, after, limit)

    def documents_of(self, ref: ObjectRef, generation: int) -> Sequence[DocumentRecord]:
        with self._database.read() as connection:
            return documents.of(connection, ref, generation)

    def documents_named(self, base: str, name: str) -> Sequence[DocumentRecord]:
        with self._database.read() as connection:
            return documents.named(connection, base, name)

    def job(self, base: str, job_id: str) -> JobRecord | None:
        with self._database.read() as connection:
            return _one(connection, job_from_json, _JOB, base, job_id)

    def jobs(
        self, base: str, *, state: str | None = None, after: tuple[float, str] | None = None, limit: int = 0
    ) -> Sequence[JobRecord]:
        bounds = (base, *(after or _BEHIND_NOTHING), limit or -1)
        with self._database.read() as connection:
            if state is None:
                rows = connection.execute(_ALL_JOBS, bounds).fetchall()
            else:
                rows = connection.execute(_JOBS_IN_STATE, (*bounds, state)).fetchall()
        return [job_from_json(json.loads(text)) for (text,) in rows]

    def totals(self, base: str) -> Totals:
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT COUNT(*), TOTAL(documents), TOTAL(passages), TOTAL(tokens), TOTAL(size) FROM objects "
                "WHERE base = ? AND live IS NOT NULL",
                (base,),
            ).fetchone()
        return Totals(*map(int, row))

    def add_usage(self, base: str, spent: Usage) -> None:
        with self._database.transaction() as connection:
            rows = [(base, kind, count.calls, count.tokens, count.written) for kind, count in spent.items()]
            connection.executemany(_ADD_USAGE, rows)

    def usage(self, base: str) -> Usage:
        with self._database.read() as connection:
            rows = connection.execute(_USAGE, (base,)).fetchall()
        return {kind: Count(*counts) for kind, *counts in rows if kind in KINDS}

    def add_questions(self, base: str, asked: Sequence[KeptQuestion]) -> None:
        with self._database.transaction() as connection:
            questions.add(connection, base, asked)

    def replace_questions(self, base: str, stored: Sequence[KeptQuestion]) -> None:
        with self._database.transaction() as connection:
            questions.replace(connection, base, stored)

    def questions(self, base: str) -> Sequence[KeptQuestion]:
        with self._database.read() as connection:
            return questions.kept(connection, base)

    def forget_questions(self, base: str) -> None:
        with self._database.transaction() as connection:
            questions.forget(connection, base)

    def void_leases(self) -> int:
        with self._database.transaction() as connection:
            rows = connection.execute("SELECT record FROM objects WHERE leased").fetchall()
            for (text,) in rows:
                record = object_from_json(json.loads(text))
                _write_object(connection, record.ref, replace(record, lease=None, rebuilding=None))
        return len(rows)


def _one(connection: sqlite3.Connection, decode: Callable[[Mapping[str, Any]], R], sql: str, *key: str) -> R | None:
    row = connection.execute(sql, key).fetchone()
    return None if row is None else decode(json.loads(row[0]))


def _text(record: object) -> str:
    return json.dumps(to_json(record), separators=(",", ":"))


def _write_base(connection: sqlite3.Connection, base: str, record: BaseRecord) -> None:
    connection.execute("INSERT OR REPLACE INTO bases (base, record) VALUES (?, ?)", (base, _text(record)))


def _write_object(connection: sqlite3.Connection, ref: ObjectRef, record: ObjectRecord) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO objects (base, name, live, stale, leased, documents, passages, tokens, size, record) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            ref.base,
            ref.name,
            record.live,
            record.stale,
            record.leased,
            record.documents,
            record.passages,
            record.tokens,
            record.size,
            _text(record),
        ),
    )


def _write_job(connection: sqlite3.Connection, base: str, job_id: str, record: JobRecord) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO jobs (base, job_id, state, created_at, record) VALUES (?, ?, ?, ?, ?)",
        (base, job_id, record.state, record.created_at, _text(record)),
    )
