"""Work that may hang, run in threads of its own so that whoever asked for it waits only so long."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final, Protocol, TypeVar

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
        self.overdue = 0
        self._lock = threading.Lock()

    def run(
        self, work: Callable[[], T], seconds: float | None = None, meanwhile: Callable[[], object] | None = None
    ) -> T:
        """What the work answers or raises, or Unavailable when it did not come to an end in time. `meanwhile` is done
        by the caller's thread beside work that is not over at once, and raises to the caller.
        """
        if self.overdue >= self._threads:
            raise Unavailable(f"{self._what} does not answer")
        limit = self.seconds if seconds is None else seconds
        until = time.monotonic() + limit
        future = self._pool.submit(work)
        if meanwhile is not None and wait((future,), min(HEAD_START, limit)).not_done:
            meanwhile()
        try:
            return future.result(max(0.0, until - time.monotonic()))
        except TimeoutError:
            if future.done():
                raise
            self._give_up(future)
            raise Unavailable(f"{self._what} did not answer within {limit:g} s") from None

    def _give_up(self, future: "Future[T]") -> None:
        if future.cancel():
            return
        with self._lock:
            self.overdue += 1

        def late(_: "Future[T]") -> None:
            with self._lock:
                self.overdue -= 1

        future.add_done_callback(late)
