"""The bodies of the routes of migrations, as OpenAPI describes them. Imported only to describe them."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr

from common.domain.reindex import State


class Start(BaseModel):
    """A migration to `model`, the configured one when absent."""

    model_config = ConfigDict(extra="forbid")

    model: Annotated[StrictStr, Field(min_length=1)] | None = None
    auto_switch: StrictBool = False


class Forced(BaseModel):
    """`force` does it where it would be refused."""

    model_config = ConfigDict(extra="forbid")

    force: StrictBool = False


class Adopts(BaseModel):
    """The collection that is not ours, and its points that hold no text: all counted, the first hundred named."""

    collection: str
    points: int
    without_text: int
    named: list[str]


class Plan(BaseModel):
    """What a migration will take; `minutes` are measured on a sample of the base's own passages."""

    base: str | None = None
    documents: int
    passages: int
    tokens: int
    embedded_tokens: int
    seconds_per_passage: float
    minutes: float
    dollars: float
    disk_mb: float
    model: str
    fingerprint: str
    adopts: Adopts | None = None


class Started(BaseModel):
    """A migration that is planned; of a collection that is adopted, one that is being built and answers by words."""

    id: str
    base: str
    state: State
    plan: Plan


class Failure(BaseModel):
    """A file that could not be brought over."""

    source: str
    reason: str
    attempts: int


class Migration(BaseModel):
    """How far a migration is: `done` of `objects` are in the new collection. `by_words` says why the base is answered
    without vectors meanwhile.
    """

    id: str
    base: str
    state: State
    reason: str | None
    before: str
    after: str
    fingerprint: str
    live: str | None
    objects: int
    done: int
    failed: int
    failures: list[Failure]
    auto_switch: bool
    adopted: bool
    by_words: str | None
    plan: dict[str, Any]
    report: dict[str, Any] | None
    worse_by: dict[str, float] | None
    started_at: float
    updated_at: float
