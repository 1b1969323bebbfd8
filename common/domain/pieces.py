"""Stored passages as material for a block of text: where each stands in its document, and which of them touch. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from common.domain.search import AnswerPassage, cited

_MOST_BETWEEN: Final = 500
"""More than that between two passages is something that was left out on purpose, such as an encoded picture."""
Key = tuple[str, str]
"""A document: its base and its document id."""


# A tuple, not a dataclass: some twenty are made per question, and a frozen dataclass takes four times as long to make.
class Piece(NamedTuple):
    """One stored passage; `score` where it was found for the question."""

    base: str
    document_id: str
    object: str
    generation: int
    source: str
    title: str
    ordinal: int
    text: str
    before: str
    headings: tuple[str, ...] = ()
    page: int | None = None
    lines: tuple[int, int] | None = None
    stale: bool = False
    score: float | None = None

    @property
    def key(self) -> Key:
        return self.base, self.document_id

    def touches(self, following: "Piece") -> bool:
        """Whether the other one comes next in the same document, on the same page, with little between them."""
        near = following.ordinal == self.ordinal + 1 and following.page == self.page
        return near and len(following.before) <= _MOST_BETWEEN


@dataclass(frozen=True, slots=True)
class Pinned:
    """A document that is shown with every question: its passages in order, all of them where it is `whole`."""

    title: str
    pieces: tuple[Piece, ...]
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Material:
    """What a block is made of: pinned documents and what was found, best first, by base in the order of the bases;
    `known` are passages around those found, None where a document has no such passage.
    """

    pinned: Sequence[Pinned] = ()
    found: Sequence[Sequence[Piece]] = ()
    known: Mapping[tuple[Key, int], Piece | None] | None = None


def piece_of(payload: Mapping[str, Any], *, stale: bool = False) -> Piece:
    """A stored payload as material."""
    lines = payload.get("lines")
    # By place, in the order of the fields, here and below: their names take three times as long.
    return Piece(
        payload["base"],
        payload["document_id"],
        payload["object"],
        payload["generation"],
        payload["source"],
        payload["title"],
        payload["ordinal"],
        payload["text"],
        payload["before"],
        tuple(payload["headings"]),
        payload.get("page"),
        (lines[0], lines[1]) if lines else None,
        stale,
    )


def found_piece(passage: AnswerPassage) -> Piece:
    """A passage of an answer as material."""
    return Piece(
        passage.base,
        passage.document_id,
        passage.object,
        passage.generation,
        passage.source,
        passage.title,
        passage.ordinal,
        passage.text,
        passage.before,
        passage.headings,
        passage.page,
        passage.lines,
        passage.stale,
        passage.score,
    )


def runs(pieces: Iterable[Piece], breaks_behind: int | None = None) -> Iterator[list[Piece]]:
    """Pieces of one document in order, as stretches that touch; nothing touches the ordinal `breaks_behind`."""
    run: list[Piece] = []
    for piece in pieces:
        if run and not (run[-1].touches(piece) and run[-1].ordinal != breaks_behind):
            yield run
            run = []
        run.append(piece)
    if run:
        yield run


def citation_of(run: Sequence[Piece]) -> str:
    """What a stretch is cited as: the first line of its first piece to the last line of its last."""
    return cited(run[0].source, lines_of(run), run[0].page)


def lines_of(run: Sequence[Piece]) -> tuple[int, int] | None:
    first, last = run[0].lines, run[-1].lines
    return (first[0], last[1]) if first and last else None
