"""Passages of a document as the points that are stored, and what is said of the document in the catalog."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from common.domain.coverage import Coverage
from common.domain.documents import JsonValue, ParsedDocument, Passage
from common.domain.expansion import written_words
from common.domain.index import point_id
from common.domain.index_rules import WORDS
from common.domain.lexical import Mode, lexical_weights
from common.domain.objects import ObjectRef, digest, document_id
from common.domain.records import DocumentRecord, capped


@dataclass(frozen=True, slots=True)
class Draft:
    """A point that still lacks its vector: `embedded` is what the model is to read, `identity` its hash."""

    id: str
    embedded: str
    identity: str
    tokens: int
    lexical: dict[int, float]
    payload: dict[str, JsonValue]


def identity(embedded: str) -> str:
    """Equal for passages whose text and context are equal, within one vector space."""
    return digest("passage", embedded)


def drafts(
    document: ParsedDocument, passages: Sequence[Passage], ref: ObjectRef, generation: int, job_id: str, mode: Mode
) -> list[Draft]:
    """One draft per passage, with the stored payload of CONTRACT "Stored point"."""
    document_key = document_id(ref, document.source)
    shared: dict[str, JsonValue] = {
        "document_id": document_key,
        "job_id": job_id,
        "object": ref.name,
        "base": ref.base,
        "source": document.source,
        "title": document.title,
        "generation": generation,
        "category": document.category,
        "metadata": document.metadata,
    }
    made = []
    written = " ".join(_written(document))
    for passage in passages:
        lexical = lexical_weights(_fields(document, passage), mode)
        mark = identity(passage.embedded)
        payload: dict[str, JsonValue] = {
            **shared,
            "text": passage.text,
            "headings": list(passage.headings),
            "page": passage.page,
            "lines": list(passage.lines) if passage.lines else None,
            "start": passage.start,
            "end": passage.end,
            "before": passage.before,
            "ordinal": passage.ordinal,
            "kind": passage.kind,
            "terms": sorted(lexical),
            "identity": mark,
            "tokens": passage.tokens,
        }
        if passage.ordinal == 0 and written:
            payload[WORDS] = written
        if passage.after:
            payload["after"] = passage.after
        if passage.context:
            payload["context"] = passage.context
        key = point_id(ref, generation, document.source, passage.ordinal)
        made.append(Draft(key, passage.embedded, mark, passage.tokens, lexical, payload))
    return made


def document_record(
    document: ParsedDocument,
    passages: Sequence[Passage],
    coverage: Coverage,
    ref: ObjectRef,
    generation: int,
    now: float,
) -> DocumentRecord:
    """The document as it is listed."""
    return DocumentRecord(
        base=ref.base,
        object=ref.name,
        generation=generation,
        source=document.source,
        document_id=document_id(ref, document.source),
        title=document.title,
        passages=len(passages),
        tokens_in_source=coverage.tokens_in_source,
        tokens_embedded=coverage.tokens_embedded,
        characters=len(document.text),
        kind=document.kind,
        category=document.category,
        keywords=document.keywords,
        pinned=document.pinned,
        external_id=document.external_id,
        aliases=document.aliases,
        tags=document.tags,
        headings=tuple(dict.fromkeys(h for p in passages for h in p.headings)),
        metadata=document.metadata,
        links=tuple((link.target, link.text, link.line, link.kind) for link in document.links),
        warnings=capped((*document.warnings, *coverage.warnings)),
        updated_at=now,
    )


def _written(document: ParsedDocument) -> list[str]:
    return written_words((document.title, *document.keywords, *document.aliases, *document.tags, document.text))


def _fields(document: ParsedDocument, passage: Passage) -> dict[str, str]:
    return {
        "text": passage.text,
        "title": document.title,
        "headings": " ".join(passage.headings),
        "keywords": " ".join((*document.keywords, *document.aliases, *document.tags)),
        "source": " ".join(PurePosixPath(document.source).with_suffix("").parts),
    }
