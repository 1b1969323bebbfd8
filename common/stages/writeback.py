"""Tells the caller's system which alias a base answers under: at least once, within seconds, whatever becomes of it.

No failure of the other side is raised: it is recorded and made good by the next document or by reconcile (RULES 7).
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Protocol

from common.domain.backoff import Backoff
from common.domain.errors import FicharioError, Unavailable
from common.domain.objects import ObjectChange
from common.domain.records import Decision
from common.domain.space import alias_name
from common.domain.writeback import (
    AFFILIATE,
    Notice,
    NoticeReply,
    Told,
    bearer,
    told_of,
    writeback_address,
    writeback_body,
)
from common.ports import Catalog, Clock

TOKEN_SECONDS: Final = 55 * 60.0
SECONDS: Final = 5.0
"""For all of one write-back, sign-in and retries included: far below a lease."""
REQUEST_SECONDS: Final = 3.0
TRIES: Final = 3
RETRIES: Final = Backoff(first=0.2, factor=3.0, cap=1.0)
DOWN_SECONDS: Final = 60.0
"""For so long after it did not answer, documents ask once and briefly: a dead system must not slow a backlog."""
BRIEF_SECONDS: Final = 1.0
_RETRIED: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class Notifier(Protocol):
    """Sends one request to the caller's system and follows no redirect."""

    def send(self, notice: Notice, seconds: float) -> NoticeReply:
        """The answer, whatever its status, within `seconds`.

        Raises Refused for an address whose host no setting names, Unavailable when nothing answers; neither names a
        secret.
        """


@dataclass(frozen=True, slots=True)
class Callee:
    """The caller's system as configured: `url` and `alias` (KB_COLLECTION_TEMPLATE) hold their placeholders."""

    url: str
    token_url: str
    email: str
    password: str = field(repr=False)
    alias: str


class _Untold(Exception):
    """The alias was not taken; the message is the sentence to record."""


class WriteBack:
    """Write-back of one deployment, with its token. Safe between threads: at worst two of them sign in."""

    def __init__(
        self,
        catalog: Catalog,
        clock: Clock,
        notifier: Notifier,
        callee: Callee,
        *,
        wait: Callable[[float], None] = time.sleep,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._catalog = catalog
        self._clock = clock
        self._notifier = notifier
        self._callee = callee
        self._wait = wait
        self._ticks = ticks
        self._token: tuple[str, float] | None = None
        self._down_until = 0.0

    def after(self, change: ObjectChange) -> Told | None:
        """Tell of the base of a change whose job became `indexed`, unless this alias was taken before.

        The outcome is the caller's to record (`told_of`) in the transaction that ends the job. Raises Unavailable when
        the catalog is out of reach.
        """
        if change.removes:
            return None
        base = change.ref.base
        if self._is_told(base):
            return Told(self._alias(base), "success")
        job = self._catalog.job(base, change.job_id)
        if job is None or job.state != "indexed":
            return None
        return self._tell(base, patient=self._clock.now() >= self._down_until)

    def repair(self, base: str) -> Told | None:
        """Tell of a base whose alias was not taken yet, and record it there and on its newest indexed job.

        None when there is nothing to tell.
        """
        newest = self._catalog.jobs(base, state="indexed", limit=1)
        if not newest or self._is_told(base):
            return None
        told = self._tell(base, patient=True)
        job, now = newest[0], self._clock.now()
        self._catalog.transact(job.ref, job.job_id, lambda held: told_of(Decision(None, held), told, now))
        return told

    def _alias(self, base: str) -> str:
        return alias_name(self._callee.alias, base)

    def _is_told(self, base: str) -> bool:
        known = self._catalog.base(base)
        return known is not None and known.written_back == self._alias(base)

    def _tell(self, base: str, *, patient: bool) -> Told:
        alias, address = self._alias(base), writeback_address(self._callee.url, base)
        if address is None:
            return Told(alias, "failed", f"Not written back: the base's name does not start with {AFFILIATE}.")
        ends = self._ticks() + (SECONDS if patient else BRIEF_SECONDS)
        try:
            self._deliver(address, alias, ends, TRIES if patient else 1)
        except _Untold as untold:
            return Told(alias, "failed", str(untold))
        self._down_until = 0.0
        return Told(alias, "success")

    def _deliver(self, address: str, alias: str, ends: float, tries: int) -> None:
        """One PATCH that is taken, with a renewed token after a 401; raises _Untold."""
        reply = self._patch(address, alias, ends, tries)
        if reply.status == HTTPStatus.UNAUTHORIZED:
            self._token = None
            reply = self._patch(address, alias, ends, tries)
        if reply.status == HTTPStatus.UNAUTHORIZED:
            self._token = None
        _require_success(reply, "write-back address")

    def _patch(self, address: str, alias: str, ends: float, tries: int) -> NoticeReply:
        token = self._bearer(ends, tries)
        return self._exchange(Notice("PATCH", address, writeback_body(alias), token), "write-back address", ends, tries)

    def _bearer(self, ends: float, tries: int) -> str:
        cached = self._token
        if cached is not None and self._clock.now() < cached[1]:
            return cached[0]
        callee = self._callee
        asked = Notice("POST", callee.token_url, {"email": callee.email, "password": callee.password})
        reply = self._exchange(asked, "sign-in address", ends, tries)
        _require_success(reply, "sign-in address")
        token = bearer(reply.body)
        if token is None:
            raise _Untold("The sign-in address answered without a token.")
        self._token = (token, self._clock.now() + TOKEN_SECONDS)
        return token

    def _exchange(self, notice: Notice, whom: str, ends: float, tries: int) -> NoticeReply:
        """The first answer that no retry would better, within `tries` and before `ends`; raises _Untold."""
        problem = "had no time left to answer"
        for attempt in range(1, tries + 1):
            left = ends - self._ticks()
            if left <= 0:
                break
            try:
                reply = self._notifier.send(notice, min(left, REQUEST_SECONDS))
            except Unavailable as error:
                problem = str(error)
            except FicharioError as error:
                raise _Untold(f"The {whom} was not asked: {error}") from error
            else:
                if reply.status not in _RETRIED:
                    return reply
                problem = f"answered {reply.status}"
            pause = RETRIES.delay(attempt, random.random())  # noqa: S311 - spreads retries, guards nothing
            if attempt == tries or pause >= ends - self._ticks():
                break
            self._wait(pause)
        if tries == TRIES:
            self._down_until = self._clock.now() + DOWN_SECONDS
        raise _Untold(f"The {whom} {problem}.")


def _require_success(reply: NoticeReply, whom: str) -> None:
    if HTTPStatus.OK <= reply.status < HTTPStatus.MULTIPLE_CHOICES:
        return
    if HTTPStatus.MULTIPLE_CHOICES <= reply.status < HTTPStatus.BAD_REQUEST:
        raise _Untold(f"The {whom} answered {reply.status}, a redirect, which is not followed.")
    raise _Untold(f"The {whom} answered {reply.status}.")
