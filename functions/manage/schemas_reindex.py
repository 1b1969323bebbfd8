"""The bodies of the routes of migrations, as OpenAPI describes them. Imported only to describe them."""

from typing import Annotated, Any, Literal

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


class Started(BaseModel):
    """A migration that is planned."""

    id: str
    base: str
    state: Literal["planned"]
    plan: Plan


class Failure(BaseModel):
    """A file that could not be brought over."""

    source: str
    reason: str
    attempts: int


class Migration(BaseModel):
    """How far a migration is: `done` of `objects` are in the new collection."""

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
    plan: dict[str, Any]
    report: dict[str, Any] | None
    worse_by: dict[str, float] | None
    started_at: float
    updated_at: float
