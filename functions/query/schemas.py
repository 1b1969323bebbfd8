"""The answers of the query function as models. They only describe: answers are written without them, and a test holds
both together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel

SearchMode = Literal["hybrid", "dense", "lexical"]
CacheState = Literal["hit", "miss", "shared"]
_Decision = Literal["match", "no_match", "disabled"]
_Method = Literal["calibrated", "fixed", "off", "coverage"]


class Gate(BaseModel):
    """Why the base answers, or does not."""

    decision: _Decision
    method: _Method
    threshold: float | None
    value: float | None
    dense: float | None
    coverage: float | None
    nearest: str | None
    reason: str


class Passage(BaseModel):
    """A passage with its scores and its citation; `stale` where an older generation still answers."""

    id: str
    text: str
    score: float
    dense_score: float | None
    lexical_score: float
    terms: list[str]
    base: str
    source: str
    title: str
    headings: list[str]
    page: int | None
    lines: tuple[int, int] | None
    citation: str
    document_id: str
    generation: int
    stale: bool = Field(default=False, json_schema_extra={"description": "Only there when true."})


class Related(BaseModel):
    """A document near those of the answer."""

    base: str
    source: str
    title: str
    reason: str


class RerankUsage(BaseModel):
    """What a reranking model read and wrote."""

    prompt_tokens: int
    completion_tokens: int


class QuestionUsage(BaseModel):
    """What a question cost, in dollars too; `embedded` is false for a vector that was remembered."""

    query_tokens: int
    embedded: bool
    estimated_cost: float
    rerank: RerankUsage | None = None


class Timings(BaseModel):
    """Milliseconds by stage; none where nothing was looked up."""

    epoch: float = 0.0
    embed: float = 0.0
    index: float = 0.0
    rank: float = 0.0
    total: float = 0.0


class BaseShare(BaseModel):
    """What one of several bases said."""

    base: str
    weight: float
    gate: Gate
    mode: SearchMode
    degraded: bool
    cache: CacheState
    fingerprint: str
    epoch: int


class SearchAnswer(BaseModel):
    """The passages that answer, or no match. `bases` where several were asked."""

    match: bool
    sentinel: Literal["NO_KB_MATCH"] | None
    passages: list[Passage]
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


class BaseRow(BaseModel):
    """One base with the sums over what answers."""

    base: str
    documents: int
    passages: int
    tokens: int
    epoch: int
    fingerprint: str | None
    model: str | None
    mode: Literal["hybrid", "lexical"]


class Bases(BaseModel):
    """The bases that the caller may read."""

    bases: list[BaseRow]


class Entry(BaseModel):
    """One document of a table of contents."""

    source: str
    object: str
    title: str
    id: str | None
    category: str | None
    pinned: bool
    passages: int
    tokens_in_source: int
    stale: bool


class Contents(BaseModel):
    """A page of a table of contents."""

    base: str
    documents: list[Entry]
    next_cursor: str | None


class DocumentPage(BaseModel):
    """One page of a document's exact text; pages rejoin to all of it."""

    text: str
    offset: int
    next_offset: int | None
    total: int
    position: int | None
    base: str
    source: str
    document_id: str
    object: str
    generation: int
    title: str
    id: str | None
    category: str | None
    keywords: list[str]
    pinned: bool
    headings: list[str]
    metadata: dict[str, JsonValue]
    stale: bool


class Links(BaseModel):
    """What a document refers to, and what refers to it."""

    source: str
    links: list[str]
    backlinks: list[str]
    unresolved: list[str]
    attachments: list[str]


class LinksOrPage(RootModel[Links | DocumentPage]):
    """A document whose own name ends as the route does is read instead."""


class Spent(BaseModel):
    """Embedding calls, the tokens they read, and dollars."""

    calls: int
    tokens: int
    cost: float


class Embeddings(BaseModel):
    """What was embedded: passages, questions, and what fits a gate or checks a model."""

    ingest: Spent
    questions: Spent
    upkeep: Spent


class Reranking(BaseModel):
    """What a reranking model read and wrote, and dollars."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost: float


class PricesPerMillion(BaseModel):
    """Dollars for a million tokens, as they are configured."""

    embedding: float
    rerank_input: float
    rerank_output: float


class BaseUsage(BaseModel):
    """What a base's models were given to do since there is the base."""

    base: str
    embeddings: Embeddings
    rerank: Reranking
    cost: float
    currency: Literal["USD"]
    prices_per_million_tokens: PricesPerMillion


class JsonRpcMessage(BaseModel):
    """A request, a notification or an answer of JSON-RPC 2.0."""

    model_config = ConfigDict(extra="allow")

    jsonrpc: Literal["2.0"]
    id: str | int | None = None
    method: str | None = None
    params: dict[str, JsonValue] | None = None
    result: dict[str, JsonValue] | None = None
    error: dict[str, JsonValue] | None = None


class JsonRpc(RootModel[JsonRpcMessage | list[JsonRpcMessage]]):
    """A message, or several at once."""


class StoreText(BaseModel):
    """A part of a result."""

    type: Literal["text"]
    text: str


class StoreResult(BaseModel):
    """A passage as OpenAI's vector stores answer it."""

    file_id: str
    filename: str
    score: float = Field(ge=0, le=1)
    attributes: dict[str, str | bool | float] = Field(max_length=16)
    content: list[StoreText]


class StorePage(BaseModel):
    """The only page of results. While the knowledge base is switched off it is empty, with `match` and the reason."""

    object: Literal["vector_store.search_results.page"]
    search_query: list[str]
    data: list[StoreResult]
    has_more: Literal[False]
    next_page: None
    match: Literal[False] | None = None
    sentinel: Literal["NO_KB_MATCH"] | None = None
    gate: Gate | None = None
