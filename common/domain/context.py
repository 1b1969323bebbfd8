"""A block of text for a model, from material of one base or several and a budget: framed, cited, never over. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from common.domain.budget import Budget, Size
from common.domain.framing import Wording, frame
from common.domain.layout import Layout
from common.domain.pieces import Key, Material, Piece, citation_of, lines_of
from common.domain.writing import Chosen, Stretch, Writer

_TRIES: Final = 8


@dataclass(frozen=True, slots=True)
class Rules:
    """How blocks are made here: the frame's words, and whether secrets are masked."""

    wording: Wording = field(default_factory=Wording)
    redacting: bool = False
    max_documents: int | None = None

    def writer(self, budget: Budget) -> Writer:
        """What writes blocks by these rules within a budget."""
        return Writer(budget, self.wording, self.redacting)


class ShownDocument(NamedTuple):
    """A document of the block; `truncated` when a passage of it was cut."""

    base: str
    source: str
    title: str
    document_id: str
    pinned: bool
    passages: int
    truncated: bool


class ShownPassage(NamedTuple):
    """A stretch of the block and what it is cited as; `score` is the best of what was found in it."""

    citation: str
    base: str
    source: str
    title: str
    headings: tuple[str, ...]
    page: int | None
    lines: tuple[int, int] | None
    document_id: str
    generation: int
    score: float | None
    pinned: bool
    truncated: bool
    stale: bool


@dataclass(frozen=True, slots=True)
class Block:
    """The text and what stands in it. `truncated` is True when anything was cut or left out; `covers` names the
    passages that are shown whole, by document and ordinal.
    """

    text: str = ""
    tokens: int = 0
    documents: tuple[ShownDocument, ...] = ()
    passages: tuple[ShownPassage, ...] = ()
    truncated: bool = False
    redacted: int = 0
    covers: frozenset[tuple[Key, int]] = frozenset()

    @property
    def characters(self) -> int:
        return len(self.text)


def layout(
    material: Material, writer: Writer, rules: Rules, share: Callable[[Size], Size] | None = None, slack: float = 0
) -> Layout:
    """What of the material would be shown; asked for what else is worth reading before the block is built."""
    return Layout(writer, material, rules.max_documents, share, slack)


def build(
    material: Material,
    writer: Writer,
    rules: Rules,
    share: Callable[[Size], Size] | None = None,
    laid: Layout | None = None,
) -> Block:
    """The block of this material; empty when nothing of it fits. `share` is Layout's, `laid` this material's layout
    with what is known around it, where it is at hand.
    """
    budget, slack = writer.budget, 0.0
    if material.known is None:
        material, laid = replace(material, known={}), None
    for _ in range(_TRIES):
        block = _written(laid or layout(material, writer, rules, share, slack))
        if budget.holds(block.text):
            return block
        # It fitted as it is stored and part by part: what is shown may be longer, and a tokenizer sees other pieces in
        # the whole.
        over = budget.size(block.text).minus(budget.limit)
        slack += max(1.0, over.characters, over.tokens) if writer.exact else 0
        writer, laid = replace(writer, exact=True), None
    return Block(truncated=True)


def _written(laid: Layout) -> Block:
    writer, documents = laid.writer, []
    passages: list[ShownPassage] = []
    covers: set[tuple[Key, int]] = set()
    redacted, text = 0, ""
    for key, chosen in laid.chosen.items():
        stretches = writer.stretches(chosen)
        text += writer.lines(chosen, stretches)
        documents.append(_document(chosen, stretches))
        passages += [_passage(chosen, stretch) for stretch in stretches]
        redacted += sum(stretch.redacted for stretch in stretches)
        covers |= {(key, ordinal) for ordinal in chosen.pieces if ordinal != chosen.cut}
    framed = frame(text) if text else ""
    return Block(
        text=framed,
        tokens=writer.budget.counter.count(framed),
        documents=tuple(documents),
        passages=tuple(passages),
        truncated=laid.truncated,
        redacted=redacted,
        covers=frozenset(covers),
    )


def _document(chosen: Chosen, stretches: list[Stretch]) -> ShownDocument:
    first = stretches[0].run[0]
    return ShownDocument(
        base=first.base,
        source=first.source,
        title=chosen.title,
        document_id=first.document_id,
        pinned=chosen.pinned,
        passages=len(stretches),
        truncated=any(stretch.truncated for stretch in stretches),
    )


def _passage(chosen: Chosen, stretch: Stretch) -> ShownPassage:
    first: Piece = stretch.run[0]
    scores = [piece.score for piece in stretch.run if piece.score is not None]
    return ShownPassage(
        citation=citation_of(stretch.run),
        base=first.base,
        source=first.source,
        title=chosen.title,
        headings=first.headings,
        page=first.page,
        lines=lines_of(stretch.run),
        document_id=first.document_id,
        generation=first.generation,
        score=max(scores) if scores else None,
        pinned=chosen.pinned,
        truncated=stretch.truncated,
        stale=first.stale,
    )
