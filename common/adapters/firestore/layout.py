"""Where the catalog stands in Firestore, and the indexes that its queries need.

    kb_bases/{base}                            record
    kb_bases/{base}/kb_epochs/{n}              raised
    kb_bases/{base}/kb_collections/{name}      record
    kb_bases/{base}/kb_objects/{hash}          name, record, live, stale, leased, documents, passages, tokens, size;
                                               its newest job: job_id, job_order, job_state_order, job;
                                               its document, when it has but one: source, object, generation, names,
                                               document
    kb_bases/{base}/kb_objects/{hash}          those five and version, for each document of an object that has several
    kb_bases/{base}/kb_jobs/{job}              those four of a job that ended, or whose place a newer one took
    kb_bases/{base}/kb_usage/{n}               counts
    kb_bases/{base}/kb_questions/{asked-n}     questions: real ones, as compressed JSON
    kb_bases/{base}/kb_questions/{set-n}       questions: a part of the stored set
    kb_generations/{hash}                      base, name, identity, generation, present

Records are JSON text (compressed bytes when long); beside it stands only what a query selects, orders or sums by. All
of a base lies below its document, so no query can reach into another one. What changes together stands together, for a
write is paid by the document: a file with one document is announced, claimed, published and finished in six of them.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from google.cloud import firestore

from common.adapters.firestore.calls import Row
from common.domain.objects import ObjectRef, digest
from common.domain.records import to_json

R = TypeVar("R")

BASES: Final = "kb_bases"
EPOCHS: Final = "kb_epochs"
COLLECTIONS: Final = "kb_collections"
OBJECTS: Final = "kb_objects"
JOBS: Final = "kb_jobs"
GENERATIONS: Final = "kb_generations"
USAGE: Final = "kb_usage"
QUESTIONS: Final = "kb_questions"

INDEXES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (OBJECTS, ("source", "object")),
    (OBJECTS, ("documents", "passages", "tokens", "size")),
)
"""The composite indexes: collection and fields, all ascending, query scope COLLECTION. Every other query is served by
the single-field indexes that Firestore makes by itself.
"""

UNINDEXED: Final[tuple[tuple[str, str], ...]] = (
    (BASES, "record"),
    (COLLECTIONS, "record"),
    (GENERATIONS, "identity"),
    (GENERATIONS, "generation"),
    (JOBS, "job"),
    (OBJECTS, "record"),
    (OBJECTS, "job"),
    (OBJECTS, "document"),
    (OBJECTS, "object"),
    (OBJECTS, "generation"),
    (OBJECTS, "live"),
    (OBJECTS, "stale"),
    (USAGE, "counts"),
    (QUESTIONS, "questions"),
)
"""Fields to be taken out of the single-field indexes: collection and field. No query reads them so, and an index of a
long text costs money and time with each write.
"""

PLAIN_CHARACTERS: Final = 64 * 1024
"""Longer records are compressed, shorter ones stay readable in Google's console."""

_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")


class Places:
    """References to the documents of one client's database."""

    def __init__(self, client: firestore.Client, shards: int) -> None:
        self.bases = client.collection(BASES)
        self.shards = shards

    def base(self, base: str) -> firestore.DocumentReference:
        return self.bases.document(key(base))

    def within(self, base: str, collection: str) -> firestore.CollectionReference:
        below: firestore.CollectionReference = self.base(base).collection(collection)
        return below

    def collection(self, base: str, name: str) -> firestore.DocumentReference:
        return self.within(base, COLLECTIONS).document(key(name))

    def object(self, ref: ObjectRef) -> firestore.DocumentReference:
        return self.within(ref.base, OBJECTS).document(digest(ref.name))

    def job(self, base: str, job_id: str) -> firestore.DocumentReference:
        return self.within(base, JOBS).document(key(job_id))

    def epochs(self, base: str) -> list[firestore.DocumentReference]:
        """Every counter that takes part in the base's epoch."""
        return [self.within(base, EPOCHS).document(str(number)) for number in range(self.shards)]

    def epoch_of(self, base: str, name: str = "") -> firestore.DocumentReference:
        """The counter that changes of this object raise (RULES 10)."""
        return self.within(base, EPOCHS).document(str(int(digest(name), 16) % self.shards))


def key(text: str) -> str:
    """The text as the id of a document: itself where Firestore takes it, else its hash behind a `~`, which no plain
    one holds.
    """
    return text if _PLAIN_KEY.fullmatch(text) else f"~{digest(text)}"


def packed(record: object) -> str | bytes:
    """The record as the value of one field."""
    text = json.dumps(to_json(record), separators=(",", ":"))
    return text if len(text) <= PLAIN_CHARACTERS else zlib.compress(text.encode())


def unpacked(value: str | bytes | None, decode: Callable[[Mapping[str, Any]], R]) -> R | None:
    """The record of such a field; None where the document has none."""
    if value is None:
        return None
    return decode(json.loads(zlib.decompress(value) if isinstance(value, bytes) else value))


def decoded(rows: Iterable[Row], decode: Callable[[Mapping[str, Any]], R], field: str = "record") -> list[R]:
    """The records that stand in that field of those rows that have it."""
    found = (unpacked(row.fields.get(field), decode) for row in rows)
    return [record for record in found if record is not None]
