"""The answers that are text for a model, as models. They only describe, as those of schemas.py do."""

from typing import Literal

from pydantic import BaseModel, Field

from functions.query.schemas import BaseShare, CacheState, Gate, QuestionUsage, Related, SearchMode, Timings


class ShownDocument(BaseModel):
    """A document of a block of context; `truncated` when a passage of it was cut."""

    base: str
    source: str
    title: str
    document_id: str
    pinned: bool
    passages: int
    truncated: bool


class ShownPassage(BaseModel):
    """A stretch of a block; `stale` where an older generation still answers."""

    citation: str
    base: str
    source: str
    title: str
    headings: list[str]
    page: int | None
    lines: tuple[int, int] | None
    document_id: str
    generation: int
    score: float | None
    pinned: bool
    truncated: bool
    stale: bool = Field(default=False, json_schema_extra={"description": "Only there when true."})


class ContextAnswer(BaseModel):
    """A block of text for a model, never over its budget, with all that the answer says."""

    match: bool
    sentinel: Literal["NO_KB_MATCH"] | None
    text: str
    documents: list[ShownDocument]
    passages: list[ShownPassage]
    tokens: int
    characters: int
    truncated: bool
    related: list[Related]
    gate: Gate
    mode: SearchMode
    degraded: bool
    cache: CacheState
    fingerprint: str
    epoch: int
    usage: QuestionUsage
    timings_ms: Timings
    took_ms: float
    warnings: list[str]
    bases: list[BaseShare] | None = None


class PromptAnswer(ContextAnswer):
    """The block within a whole system prompt, whole and in its two parts."""

    system: str
    stable: str
    volatile: str
    system_tokens: int = 0
    system_characters: int = 0
