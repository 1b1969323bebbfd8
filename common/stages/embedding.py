"""Passages to a model in as many requests as it takes, so that whatever came back before a failure is kept, and one
passage that a provider refuses costs no other its vector.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from common.domain.errors import EmbeddingInvalid, PassagesRejected
from common.domain.records import DocumentRecord, capped
from common.domain.search import cited
from common.ports import Embedder
from common.stages.points import Draft


def in_requests(embedder: Embedder, texts: Sequence[str]) -> Iterator[tuple[int, list[list[float]] | None]]:
    """Position and vectors of each answer, in the order of the texts; None for a single text that is refused.

    A request that is refused is halved until the text at fault stands alone. Raises what `embed_passages` raises, with
    positions among all texts; what was answered before has been given by then.
    """
    size = embedder.per_request or max(1, len(texts))
    waiting = [(start, min(start + size, len(texts))) for start in range(0, len(texts), size)][::-1]
    while waiting:
        start, end = waiting.pop()
        try:
            answered = embedder.embed_passages(texts[start:end])
        except EmbeddingInvalid as error:
            raise EmbeddingInvalid(start + error.position, "the model gave no direction for its text") from error
        except PassagesRejected:
            if end - start > 1:
                middle = (start + end) // 2
                waiting += [(middle, end), (start, middle)]
                continue
            yield start, None
        else:
            yield start, answered


def without_vectors(records: Iterable[DocumentRecord], refused: Sequence[Draft]) -> list[DocumentRecord]:
    """The documents with their refused passages named in the warnings and left out of the embedded tokens."""
    by_document: dict[str, list[Draft]] = {}
    for draft in refused:
        by_document.setdefault(str(draft.payload["document_id"]), []).append(draft)
    return [_told(record, by_document.get(record.document_id, ())) for record in records]


def without_vectors_in(
    records: Iterable[DocumentRecord], collection: str, refused: Sequence[Draft]
) -> list[DocumentRecord]:
    """The same for documents that were brought into a further collection, whose counts alone it changes."""
    found = []
    for record in records:
        own = [draft for draft in refused if draft.payload["document_id"] == record.document_id]
        counts = record.counts[collection]
        lacking = replace(counts, tokens_embedded=counts.tokens_embedded - sum(draft.tokens for draft in own))
        warnings = capped((*map(_warning, own), *record.warnings)) if own else record.warnings
        found.append(replace(record, counts={**record.counts, collection: lacking}, warnings=warnings))
    return found


def _told(record: DocumentRecord, refused: Sequence[Draft]) -> DocumentRecord:
    if not refused:
        return record
    return replace(
        record,
        tokens_embedded=record.tokens_embedded - sum(draft.tokens for draft in refused),
        warnings=capped((*map(_warning, refused), *record.warnings)),
    )


def _warning(draft: Draft) -> str:
    lines, page = draft.payload["lines"], draft.payload["page"]
    place = cited(
        str(draft.payload["source"]),
        (int(str(lines[0])), int(str(lines[1]))) if isinstance(lines, list) else None,
        page if isinstance(page, int) else None,
    )
    return (
        f"{place}: the provider of the embedding model refuses this passage; it is found by its words alone "
        f"({draft.tokens} tokens)"
    )
