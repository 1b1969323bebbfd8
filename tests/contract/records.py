"""Records for the catalog's contract: some plain, some with every field and awkward characters."""

from dataclasses import replace

from common.domain.objects import ObjectRef, document_id
from common.domain.records import (
    BaseRecord,
    CollectionRecord,
    Decision,
    DocumentRecord,
    Gate,
    JobRecord,
    Lease,
    ObjectRecord,
)
from common.domain.space import Chunking, EmbeddingSpace, LexicalSpace, VectorSpace
from common.ports import Catalog

REF = ObjectRef("acme", "handbook/férias.md")


def store(catalog: Catalog, record: ObjectRecord, *, raise_epoch: bool = False) -> None:
    catalog.transact(
        record.ref, "unused", lambda held: Decision(None, replace(held, object=record), raise_epoch=raise_epoch)
    )


def store_job(catalog: Catalog, job: JobRecord) -> None:
    catalog.transact(job.ref, job.job_id, lambda held: Decision(None, replace(held, job=job)))


def document(name: str, generation: int, source: str = "", **fields: object) -> DocumentRecord:
    source = source or name
    given_fields = {"title": source, "passages": 1, "tokens_in_source": 9, "tokens_embedded": 9, "characters": 40}
    return DocumentRecord(
        "acme", name, generation, source, document_id(ObjectRef("acme", name), source), **(given_fields | fields)
    )


def publish(catalog: Catalog, name: str, generation: int, *documents: DocumentRecord) -> None:
    ref = ObjectRef("acme", name)
    catalog.put_documents(ref, generation, documents or [document(name, generation)])
    store(catalog, ObjectRecord(ref, newest=generation, live=generation))


def publish_with(catalog: Catalog, name: str, live: int | None, *documents: DocumentRecord) -> None:
    """Publish in one transaction with the documents, or take the object out."""
    record = ObjectRecord(ObjectRef("acme", name), live=live)
    catalog.transact(
        record.ref, "unused", lambda held: Decision(None, replace(held, object=record), documents=documents)
    )


def full_object() -> ObjectRecord:
    return ObjectRecord(
        REF,
        newest=7,
        state="failed",
        code="INTERNAL",
        reason="não abriu \ud800",
        live=6,
        live_job="j6",
        tombstone=3,
        removed_at=12.5,
        holds={"acme_kb__0": 6, "acme_kb__1": 5},
        lease=Lease("j7", "token", 99.25),
        documents=2,
        passages=30,
        tokens=4000,
        size=123456789012,
        updated_at=1790000000.125,
    )


def full_job() -> JobRecord:
    return JobRecord(
        "j7",
        REF,
        7,
        state="processing",
        attempts=2,
        passages=3,
        timings_ms={"read": 1.5},
        progress={"stage": "embed", "done": 3, "total": 9, "parts": ["a", None, True]},
        warnings=("linha 3: aspas \u2028 aqui",),
        writeback_status="failed",
        created_at=1790000000.5,
    )


def full_base() -> BaseRecord:
    return BaseRecord(
        "acme", "acme_kb__0", ("acme_kb__0", "acme_kb__1"), {"acme_kb__0": Gate(0.8, 0.01, 1.12, rates={"f1": 0.9})}
    )


def collection(name: str = "acme_kb__0", model: str = "e5") -> CollectionRecord:
    space = VectorSpace(
        EmbeddingSpace(model, "hash", "mean", "l2", "query: ", "passage: ", 384),
        Chunking(1, 256, 0, 512),
        LexicalSpace(1, "stem"),
    )
    return CollectionRecord(name, "acme", space, (("olá", (0.25, -1.0)),), 3.5)
