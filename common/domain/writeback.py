"""Write-back: which address hears of a base's alias, what it is told, what its job and base keep of it (RULES 7)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeVar

from common.domain.objects import is_base_id
from common.domain.records import Decision, touched

T = TypeVar("T")
AFFILIATE: Final = "affiliate_"
ERROR_CHARACTERS: Final = 300
MAX_TOKEN: Final = 8192


@dataclass(frozen=True, slots=True)
class Notice:
    """One request to the caller's system; `token` goes out as bearer token unless empty."""

    method: Literal["POST", "PATCH"]
    address: str
    body: Mapping[str, Any] = field(repr=False)
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class NoticeReply:
    """What it answered: `body` is its JSON object, empty where the answer is none or too large."""

    status: int
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Told:
    """What became of telling the caller's system about `alias`; `error` is a sentence without secrets."""

    alias: str
    status: Literal["success", "failed"]
    error: str | None = None


def writeback_address(template: str, base: str) -> str | None:
    """The base's address: `{base}` and `{affiliate_id}` filled in. None for a base without the `affiliate_` prefix."""
    affiliate = base.removeprefix(AFFILIATE)
    if not is_base_id(base) or affiliate in {"", base}:
        return None
    return template.replace("{base}", base).replace("{affiliate_id}", affiliate)


def writeback_body(alias: str) -> dict[str, str]:
    """What the caller's system is told."""
    return {"knowledgeBaseCollection": alias}


def bearer(body: Mapping[str, Any]) -> str | None:
    """The token of a sign-in's answer (`token`, else `access_token`), or None when it holds none that a header can."""
    for name in ("token", "access_token"):
        token = body.get(name)
        if isinstance(token, str) and 0 < len(token) <= MAX_TOKEN and token.isascii() and _is_one_word(token):
            return token
    return None


def told_of(decision: Decision[T], told: Told | None, now: float) -> Decision[T]:
    """The decision with the outcome on its indexed job and, after a success, on its base. Changes no job's state."""
    held = decision.held
    if told is None or held.job is None or held.job.state != "indexed":
        return decision
    error = told.error[:ERROR_CHARACTERS] if told.error else None
    if (held.job.writeback_status, held.job.writeback_error) != (told.status, error):
        job = touched(held.job, now, writeback_status=told.status, writeback_error=error)
        held = replace(held, job=job)
    if told.status == "success" and held.base is not None:
        held = replace(held, base=replace(held.base, written_back=told.alias))
    return replace(decision, held=held)


def _is_one_word(token: str) -> bool:
    return token.isprintable() and " " not in token
