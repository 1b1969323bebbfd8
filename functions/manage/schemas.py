"""The bodies of the manage function as models. They only describe: requests are read and answers written without them,
and tests hold both together.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel, StrictBool, StrictInt, StrictStr

from common.domain.codes import FailureCode, JobState
from common.domain.questions import LIMITS, MAX_CHARACTERS, Keep

_WriteBack = Literal["success", "failed"]


class Signing(BaseModel):
    """An upload to be signed: at most `size` bytes of this type under this source."""

    source: StrictStr
    content_type: StrictStr = ""
    size: Annotated[StrictInt, Field(ge=0)]


class Repair(BaseModel):
    """What to do about drift: mend it, even where most of a base would go."""

    model_config = ConfigDict(extra="forbid")

    repair: StrictBool = False
    yes: StrictBool = False


class Stored(BaseModel):
    """What was uploaded. `unchanged` means that the same bytes answer already."""

    job_id: str
    document_id: str
    source: str
    unchanged: bool


class Signed(BaseModel):
    """Where to send the bytes, how, and until when."""

    url: str
    method: Literal["PUT"]
    headers: dict[str, str]
    source: str
    document_id: str
    expires_at: str | None


class Listed(BaseModel):
    """A document that answers, or an object whose newest version does not."""

    source: str
    document_id: str
    title: str
    object: str
    generation: int
    state: JobState
    code: FailureCode | None
    reason: str | None
    stale: bool
    kind: str | None
    passages: int
    tokens_in_source: int
    tokens_embedded: int
    id: str | None
    external_id: str | None
    category: str | None
    keywords: list[str]
    pinned: bool
    headings: list[str]
    metadata: dict[str, JsonValue]
    warnings: list[str]
    updated_at: str | None


class Documents(BaseModel):
    """A page of a base's documents."""

    documents: list[Listed]
    next_cursor: str | None


class JobUsage(BaseModel):
    """What a job's embeddings came to, in dollars at the configured prices."""

    embedded_tokens: int
    estimated_cost: float


class Job(BaseModel):
    """The record of bringing one version of an object into the index, or of removing it."""

    job_id: str
    document_id: str
    base: str
    source: str
    generation: int
    kind: Literal["ingest", "delete"]
    state: JobState
    code: FailureCode | None
    reason: str | None
    next_step: str | None
    attempts: int
    progress: dict[str, JsonValue]
    passages: int
    new_passages: int
    tokens_in_source: int
    tokens_embedded: int
    usage: JobUsage
    timings_ms: dict[str, float]
    warnings: list[str]
    writeback_status: _WriteBack | None
    writeback_error: str | None
    created_at: str | None
    updated_at: str | None


class Jobs(BaseModel):
    """A page of jobs, newest first."""

    jobs: list[Job]
    next_cursor: str | None


class Removal(BaseModel):
    """A removal that was begun."""

    job_id: str
    document_id: str
    source: str
    state: Literal["queued"]


class Reset(BaseModel):
    """The removals of a reset."""

    base: str
    deleted: int
    job_ids: list[str]


class DriftDetail(BaseModel):
    """What is wrong with one object."""

    model_config = ConfigDict(extra="allow")

    kind: str
    object: str
    why: str


class Drift(BaseModel):
    """Differences between bucket, catalog and index, counted by kind."""

    missing: int
    stale: int
    orphaned: int
    duplicated: int
    half_indexed: int
    stuck: int
    alias: int
    foreign: int
    details: list[DriftDetail]
    writeback_status: _WriteBack | None = None
    writeback_error: str | None = None


class BaseDrift(BaseModel):
    """The counts of one base."""

    base: str
    missing: int
    stale: int
    orphaned: int
    duplicated: int
    half_indexed: int
    stuck: int
    alias: int
    writeback_status: _WriteBack | None = None
    writeback_error: str | None = None


class BaseFailure(BaseModel):
    """A base that could not be reconciled, or whose gate could not be fitted."""

    base: str
    code: str
    detail: str


class DriftOfAll(BaseModel):
    """Sums over many bases, then one by one; `left` wait for the next run."""

    missing: int
    stale: int
    orphaned: int
    duplicated: int
    half_indexed: int
    stuck: int
    alias: int
    foreign: int
    bases: list[BaseDrift]
    errors: list[BaseFailure]
    left: list[str]
    fitted: list[str]


class Fitted(BaseModel):
    """The gate of a base: its constants and its error rates on questions held out of the fit."""

    fitted: bool
    cut: float
    med: float
    sd: float
    passages: int
    rates: dict[str, float]


class Gap(BaseModel):
    """A question that the base does not answer; without its words where they are not kept."""

    question: str | None
    digest: str
    count: int
    last_asked_at: str | None


class Gaps(BaseModel):
    """Questions without an answer; `kept` is what is kept of a real question (KB_KEEP_QUESTIONS)."""

    kept: Keep
    gaps: list[Gap]


class AskedCounts(BaseModel):
    """Real questions, each once; `unanswered` are those that were not answered the last time."""

    questions: int
    answered: int
    unanswered: int
    times_asked: int


class SetCounts(BaseModel):
    """The stored set; `answerable` are those with a source."""

    questions: int
    answerable: int


class QuestionCounts(BaseModel):
    """How many questions are kept of a base."""

    base: str
    kept: Keep
    asked: AskedCounts
    set: SetCounts


class StoredQuestion(BaseModel):
    """A question of a set with the source that answers it, or null where nothing does."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[StrictStr, Field(min_length=1, max_length=MAX_CHARACTERS)]
    source: Annotated[StrictStr, Field(min_length=1)] | None


class QuestionSet(RootModel[Annotated[list[StoredQuestion], Field(max_length=LIMITS["set"])]]):
    """The whole set, as `fichario evaluate` reads it: it replaces the one before, and an empty one takes it away."""
