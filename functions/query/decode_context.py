"""Requests for context and prompts as checked questions with budgets. Every fault is a 400 that names the field."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, StrictInt, StrictStr, ValidationError

from common.domain.budget import Budget, TokenCounter
from common.domain.context import Rules
from common.domain.errors import Refused
from common.domain.framing import Wording
from common.domain.merging import Weighted
from common.settings import Settings
from common.stages.context import Wanted
from functions.query.bodies import SearchBody, SeveralBody, refused
from functions.query.decode import check_bases

MAX_TOKENS: Final = 1_000_000
MAX_CHARACTERS: Final = 4_000_000
MAX_PREAMBLE: Final = 20_000
_MAX_DOCUMENTS: Final = 1000


class BudgetFields(BaseModel):
    """What a block may take at most; both bounds hold where both are given."""

    max_tokens: Annotated[StrictInt, Field(ge=1, le=MAX_TOKENS)] | None = None
    max_characters: Annotated[StrictInt, Field(ge=1, le=MAX_CHARACTERS)] | None = None
    max_documents: Annotated[StrictInt, Field(ge=1, le=_MAX_DOCUMENTS)] | None = None


class ContextBody(SearchBody, BudgetFields):
    """The body of a request for context: a search and its budget."""


class SeveralContextBody(SeveralBody, BudgetFields):
    """The same over several bases."""


class PromptBody(ContextBody):
    """The body of a request for a prompt; an empty `preamble` leaves ours out."""

    preamble: Annotated[StrictStr, Field(max_length=MAX_PREAMBLE)] | None = None


def decode_context(body: Mapping[str, Any], settings: Settings, counter: TokenCounter) -> Wanted:
    """The question to one base and its budget. Raises Refused 400 naming the first field at fault."""
    try:
        asked = ContextBody.model_validate(body)
    except ValidationError as error:
        raise refused(error) from error
    return _wanted(asked, settings, counter)


def decode_prompt(body: Mapping[str, Any], settings: Settings, counter: TokenCounter) -> tuple[Wanted, str | None]:
    """The same with the caller's preamble; None asks for ours. Raises Refused 400 naming the first field at fault."""
    try:
        asked = PromptBody.model_validate(body)
    except ValidationError as error:
        raise refused(error) from error
    return _wanted(asked, settings, counter), asked.preamble


def decode_several_context(
    body: Mapping[str, Any], settings: Settings, counter: TokenCounter
) -> tuple[list[Weighted], Wanted]:
    """The bases, the question and its budget, KB_CONTEXT_CHARACTERS where it has none. Raises Refused 400."""
    try:
        asked = SeveralContextBody.model_validate(body)
    except ValidationError as error:
        raise refused(error) from error
    check_bases(asked)
    if asked.max_tokens is None and asked.max_characters is None:
        asked.max_characters = settings.kb_context_characters
    return asked.weighted(), _wanted(asked, settings, counter)


def _wanted(asked: ContextBody | SeveralContextBody, settings: Settings, counter: TokenCounter) -> Wanted:
    if asked.max_tokens is None and asked.max_characters is None:
        raise Refused(400, "BAD_REQUEST", "Say max_tokens or max_characters: what the text may take.", "max_tokens")
    rules = Rules(
        Wording(settings.kb_context_label, settings.kb_truncation_mark),
        settings.kb_redact == "secrets",
        asked.max_documents,
    )
    return Wanted(asked.search(settings), Budget.of(asked.max_tokens, asked.max_characters, counter), rules)
