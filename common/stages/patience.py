"""Work that may hang, run in threads of its own so that whoever asked for it waits only so long."""

import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any, Final, Protocol, TypeVar

from common.domain.errors import Unavailable

T = TypeVar("T")
THREADS: Final = 16
HEAD_START: Final = 0.0005
"""Seconds that work has before anything is done beside it: long enough to come to where a model or a remote side has it
and the interpreter's lock is free. Sooner, the two would only take turns.
"""


class Within(Protocol):
    """Runs work for at most so many seconds; raises Unavailable when it takes longer."""

    def __call__(self, work: Callable[[], T], seconds: float) -> T: ...


def at_once(work: Callable[[], T], seconds: float) -> T:  # noqa: ARG001 - see Within
    """Where nothing that the work asks can hang: in the caller's own thread."""
    return work()


class Patience:
    """At most `seconds` for each piece of work. One that takes longer ends in its own time, unheard; while all threads
    are held by such work, more of it is refused at once.
    """

    def __init__(self, what: str, seconds: float, threads: int = THREADS) -> None:
        self.seconds = seconds
        self._what = what
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=what.replace(" ", "-"))
        self._overdue: set[Future[Any]] = set()

    @property
    def overdue(self) -> int:
        """How many threads are held by work that was given up."""
        return len(self._overdue)

    def run(self, work: Callable[[], T], seconds: float | None = None) -> T:
        """What the work answers or raises, or Unavailable when it did not come to an end in time."""
        return self.result(self.begin(work), seconds)

    def begin(self, work: Callable[[], T]) -> "Future[T]":
        """The work, begun, for any number of callers to wait for its result. Raises Unavailable."""
        if self.overdue >= self._threads:
            raise Unavailable(f"{self._what} does not answer")
        return self._pool.submit(work)

    def result(
        self, begun: "Future[T]", seconds: float | None = None, meanwhile: Callable[[], object] | None = None
    ) -> T:
        """What the work answers or raises, or Unavailable when it did not come to an end in time. `meanwhile` is done
        by the caller's thread beside work that is not over at once, and raises to this caller alone.
        """
        limit = self.seconds if seconds is None else seconds
        until = time.monotonic() + limit
        if meanwhile is not None and wait((begun,), min(HEAD_START, limit)).not_done:
            meanwhile()
        try:
            return begun.result(max(0.0, until - time.monotonic()))
        except (TimeoutError, CancelledError):
            if begun.done() and not begun.cancelled():
                raise
            self._give_up(begun)
        raise Unavailable(f"{self._what} did not answer within {limit:g} s")

    def _give_up(self, begun: "Future[Any]") -> None:
        """Work that has no thread yet never gets one, whoever else waits for it."""
        if not begun.cancel():
            self._overdue.add(begun)
            begun.add_done_callback(self._overdue.discard)
