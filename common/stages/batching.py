"""What is gathered in memory for each base and written to the catalog a few seconds later, so that a question never
waits for a write. A process that is killed loses what it gathered in those seconds; several processes add up.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

FLUSH_SECONDS: Final = 5.0
AGAIN_SECONDS: Final = 60.0
"""How long after a write that failed."""
_log = logging.getLogger("fichario.batch")

T = TypeVar("T")


class Batching(Generic[T]):
    """Safe between threads. What could not be written is kept for the next time. `write` stores what was gathered for a
    base, and `join` makes one of two gatherings, in whatever order they were made, and may do so in the first of them;
    `what` names them in the log.
    """

    def __init__(
        self,
        what: str,
        write: Callable[[str, T], None],
        join: Callable[[T, T], T],
        seconds: float = FLUSH_SECONDS,
        again: float = AGAIN_SECONDS,
    ) -> None:
        self._what = what
        self._write = write
        self._join = join
        self._seconds = seconds
        self._again = again
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._added: deque[tuple[str, Callable[[], T]]] = deque()
        self._pending: dict[str, T] = {}
        self._timer: threading.Timer | None = None
        self._closed = False

    def add(self, base: str, more: Callable[[], T]) -> None:
        """Gather it, to be written within a few seconds; it is made then, as who answers a question has no time."""
        self._added.append((base, more))
        # Whoever writes lets go of the timer before it looks at what was added: one of the two sees the other.
        if self._timer is None:
            with self._lock:
                self._wind(self._seconds)

    def flush(self) -> None:
        """Write all that was gathered. Raises what the catalog raises, with everything unwritten kept."""
        with self._writing:
            pending = self._taken()
            try:
                while pending:
                    base = next(iter(pending))
                    self._write(base, pending[base])
                    del pending[base]
            finally:
                if pending:
                    self._keep_again(pending)

    def drop(self, base: str, forget: Callable[[str], None]) -> None:
        """Let go of what was gathered for the base and have the catalog `forget` it, between two writes."""
        with self._writing:
            with self._lock:
                self._gather()
                self._pending.pop(base, None)
            forget(base)

    def close(self) -> None:
        """Write what is left, and nothing more by itself."""
        with self._lock:
            self._closed = True
        self._flush_quietly()

    def _taken(self) -> dict[str, T]:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
            self._gather()
            pending, self._pending = self._pending, {}
        return pending

    def _gather(self) -> None:
        while self._added:
            base, more = self._added.popleft()
            self._keep(base, more())

    def _keep_again(self, unwritten: Mapping[str, T]) -> None:
        with self._lock:
            for base, gathered in unwritten.items():
                self._keep(base, gathered)
            self._wind(self._again)

    def _keep(self, base: str, more: T) -> None:
        self._pending[base] = self._join(self._pending[base], more) if base in self._pending else more

    def _wind(self, seconds: float) -> None:
        if self._timer is None and not self._closed:
            self._timer = threading.Timer(seconds, self._flush_quietly)
            self._timer.daemon = True
            self._timer.start()

    def _flush_quietly(self) -> None:
        try:
            self.flush()
        except Exception as error:  # noqa: BLE001 - the end of a thread: nobody else would tell
            _log.warning("%s could not be written", self._what, extra={"error_type": type(error).__name__})
