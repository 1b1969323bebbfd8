"""The documents of one generation of an object as a collection stores them, and as another collection is to hold them:
passage by passage where each fits the other's window, else cut again out of the rejoined text (RULES 19). No object is
read for it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from common.domain.chunking import ChunkSettings, chunk
from common.domain.documents import Block, Dropped, ParsedDocument, Passage, rejoin
from common.domain.markdown import scan
from common.domain.records import DocumentRecord
from common.domain.space import Chunking
from common.domain.splitting import is_blank
from common.domain.titles import file_title
from common.domain.tokens import TokenEnds
from common.stages.points import identity

_LEFT_OUT = "it was not embedded before"


def passage_of_payload(payload: Mapping[str, Any]) -> Passage:
    """A stored passage as the chunker had made it."""
    lines = payload["lines"]
    passage = Passage(
        text=payload["text"],
        start=payload["start"],
        end=payload["end"],
        before=payload["before"],
        ordinal=payload["ordinal"],
        after=payload.get("after", ""),
        headings=tuple(payload["headings"]),
        page=payload["page"],
        lines=(lines[0], lines[1]) if lines else None,
        kind=payload["kind"],
        context=payload.get("context", ""),
        tokens=payload["tokens"],
    )
    return passage if passage.context else _with_context(passage, payload)


def _with_context(passage: Passage, payload: Mapping[str, Any]) -> Passage:
    """Collections of the first release store no context: it was the line of headings, or there was none."""
    title = "" if payload["title"] == file_title(payload["source"]) else payload["title"]
    names = passage.headings if title in {"", *passage.headings} else (title, *passage.headings)
    line = f"{' > '.join(names)}\n" if names else ""
    tried = (replace(passage, context=context) for context in ("", line))
    return next((each for each in tried if identity(each.embedded) == payload.get("identity")), passage)


def stored_document(record: DocumentRecord, passages: Sequence[Passage]) -> ParsedDocument:
    """The document that these passages were cut from."""
    text = rejoin(passages)
    dropped = tuple(_left_out(passages))
    return ParsedDocument(
        source=record.source,
        title=record.title,
        text=text,
        blocks=_blocks(record.kind, text, passages, dropped),
        kind=record.kind,
        first_line=next((p.lines[0] - _lines_before(text, p) for p in passages if p.lines), 1),
        paged=any(passage.page is not None for passage in passages),
        category=record.category,
        keywords=record.keywords,
        pinned=record.pinned,
        external_id=record.external_id,
        aliases=record.aliases,
        tags=record.tags,
        metadata=record.metadata,
        dropped=dropped,
    )


def passages_for(
    document: ParsedDocument, stored: Sequence[Passage], before: Chunking, settings: ChunkSettings, ends: TokenEnds
) -> tuple[Passage, ...]:
    """The passages that a collection with those settings holds of the document, with their tokens by its model."""
    same = (before.version, before.tokens, before.overlap) == (settings.version, settings.target, settings.overlap)
    if not same or any(len(ends(p.embedded)) + settings.reserved > settings.window for p in stored):
        return chunk(document, settings, ends)
    return tuple(replace(passage, tokens=len(ends(passage.text))) for passage in stored)


def _blocks(kind: str, text: str, passages: Sequence[Passage], dropped: Sequence[Dropped]) -> tuple[Block, ...]:
    """Markdown is read again, so that it is cut as an upload of it would be; of every other kind the passages are what
    is left of the structure.
    """
    if kind == "markdown":
        front = dropped[0].end if dropped and dropped[0].start == 0 else 0
        return scan(text, front).blocks
    return tuple(
        Block(p.start, p.end, p.kind, p.headings, p.page, whole=p.kind in {"code", "symbol", "record"})  # type: ignore[arg-type]  # stored as the chunker had it
        for p in passages
    )


def _left_out(passages: Iterable[Passage]) -> Iterable[Dropped]:
    for passage in passages:
        if not is_blank(passage.before):
            yield Dropped(passage.start - len(passage.before), passage.start, _LEFT_OUT)
        if not is_blank(passage.after):
            yield Dropped(passage.end, passage.end + len(passage.after), _LEFT_OUT)


def _lines_before(text: str, passage: Passage) -> int:
    return text.count("\n", 0, passage.start)
