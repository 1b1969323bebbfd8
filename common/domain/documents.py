"""What a parser hands on and what a chunker makes of it: exact text with blocks, and passages that tile it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

BlockKind = Literal["heading", "paragraph", "list", "table", "code", "symbol", "record", "note"]
LinkKind = Literal["markdown", "wikilink", "url"]
JsonValue = str | int | float | bool | None | Sequence["JsonValue"] | Mapping[str, "JsonValue"]


@dataclass(frozen=True, slots=True)
class Block:
    """A structural unit: `text[start:end]`. Blocks are in order and do not overlap; what lies between them is layout.

    `headings` is the path of titles it stands under; `whole` asks the chunker not to split it where it fits;
    `header` is repeated in the embedded text of every later part when the block has to be split (a table's head);
    `alone` forbids joining it with its neighbours (one unit per symbol).
    """

    start: int
    end: int
    kind: BlockKind = "paragraph"
    headings: tuple[str, ...] = ()
    page: int | None = None
    whole: bool = False
    alone: bool = False
    header: str = ""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A range of the text that is deliberately not embedded, with the reason a reader of the job sees."""

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to another document or page, as written; `line` is 1-based."""

    target: str
    text: str
    line: int
    kind: LinkKind = "markdown"


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """One document: `text` is what is cited, read back and measured, character for character.

    A passage cites the lines of `text`, counted from `first_line`, or its page where the document is `paged`.
    `metadata` holds what front matter says beyond the known keys.
    """

    source: str
    title: str
    text: str
    blocks: tuple[Block, ...]
    kind: str = "text"
    first_line: int = 1
    paged: bool = False
    category: str = ""
    keywords: tuple[str, ...] = ()
    pinned: bool = False
    external_id: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one object holds. No documents at all means that it is empty."""

    documents: tuple[ParsedDocument, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """One chunk of a document: `text == document.text[start:end]`.

    `before` is what stands between the previous passage and this one (`after`, on the last one, what follows), so the
    passages of a document rejoin to its exact text. `context` (heading path, table header, overlap) is put in front of
    the text in what is embedded only. `tokens` counts `text` alone, without context, prefix and special tokens.
    """

    text: str
    start: int
    end: int
    before: str
    ordinal: int
    after: str = ""
    headings: tuple[str, ...] = ()
    page: int | None = None
    lines: tuple[int, int] | None = None
    kind: str = "paragraph"
    context: str = ""
    tokens: int = 0

    @property
    def embedded(self) -> str:
        """What the model reads, before its prefix."""
        return f"{self.context}{self.text}"


def rejoin(passages: Sequence[Passage]) -> str:
    """The document's exact text from its passages in order."""
    return "".join(f"{p.before}{p.text}{p.after}" for p in passages)
