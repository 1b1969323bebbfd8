"""What may name a document: its source, an id, or a place in it as answers cite it. Pure; knows not what exists."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from common.domain.records import DocumentRecord

_PASSAGE_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_PAGE: Final = re.compile(r"(.+)#page=([0-9]{1,9})", re.DOTALL)
_ORDINAL: Final = re.compile(r"(.+)#([0-9]{1,9})", re.DOTALL)
_LINES: Final = re.compile(r"(.+):([0-9]{1,9})(?:-([0-9]{1,9}))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a document: a passage by its position from 0, a line or a page by its number from 1. One is given."""

    ordinal: int | None = None
    line: int | None = None
    page: int | None = None


def is_passage_id(name: str) -> bool:
    """Whether this is written as the ids of passages are."""
    return _PASSAGE_ID.fullmatch(name) is not None


def read_citation(name: str) -> tuple[str, Place] | None:
    """`guide.md:10-24`, `guide.md:10`, `guide.pdf#page=3` or `guide.md#0002` as the document's name and a place in it;
    None for what is no citation.
    """
    if match := _PAGE.fullmatch(name):
        page = int(match[2])
        return (match[1], Place(page=page)) if page else None
    if match := _ORDINAL.fullmatch(name):
        return match[1], Place(ordinal=int(match[2]))
    if match := _LINES.fullmatch(name):
        first, last = int(match[2]), int(match[3] or match[2])
        return (match[1], Place(line=first)) if 1 <= first <= last else None
    return None


def meant(name: str, found: Sequence[DocumentRecord]) -> Sequence[DocumentRecord]:
    """Those of the documents found by `name` that it means. A source is its document's own name, so one that is equal
    outranks what other documents call themselves; so does a document's id.
    """
    for field in ("source", "document_id"):
        equal = [record for record in found if getattr(record, field) == name]
        if equal:
            return equal
    return found


def names_apart(records: Sequence[DocumentRecord]) -> list[str]:
    """For each document a name that means it alone: its source, its id where another has the same source."""
    sources = [record.source for record in records]
    return sorted(r.document_id if sources.count(r.source) > 1 else r.source for r in records)
