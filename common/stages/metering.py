"""Counts in memory what models were given to do, and writes the sums to the catalog a few seconds later, so that a
question never waits for a write. A process that is killed loses what it counted in those seconds; several processes
add up.
"""

import logging
import threading
from collections.abc import Mapping
from typing import Final

from common.domain.usage import Count, Kind, Usage, added
from common.ports import Catalog

FLUSH_SECONDS: Final = 5.0
AGAIN_SECONDS: Final = 60.0
"""How long after a write that failed."""
_log = logging.getLogger("fichario.usage")


class Meter:
    """Safe between threads. What could not be written is kept for the next time."""

    def __init__(self, catalog: Catalog, seconds: float = FLUSH_SECONDS, again: float = AGAIN_SECONDS) -> None:
        self._catalog = catalog
        self._seconds = seconds
        self._again = again
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._pending: dict[str, dict[Kind, Count]] = {}
        self._timer: threading.Timer | None = None
        self._closed = False

    def count(self, base: str, kind: Kind, spent: Count) -> None:
        """Count it, to be written within a few seconds."""
        with self._lock:
            self._keep(base, {kind: spent})
            self._wind(self._seconds)

    def flush(self) -> None:
        """Write all that was counted. Raises what the catalog raises, with everything unwritten kept."""
        with self._writing:
            pending = self._taken()
            try:
                while pending:
                    base = next(iter(pending))
                    self._catalog.add_usage(base, pending[base])
                    del pending[base]
            finally:
                if pending:
                    self._keep_again(pending)

    def usage(self, base: str) -> Usage:
        """What was spent on the base, by every process until its last write and by this one until now."""
        self.flush()
        return self._catalog.usage(base)

    def close(self) -> None:
        """Write what is left, and nothing more by itself."""
        with self._lock:
            self._closed = True
        self._write()

    def _taken(self) -> dict[str, dict[Kind, Count]]:
        with self._lock:
            pending, self._pending = self._pending, {}
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
        return pending

    def _keep_again(self, counts: Mapping[str, Usage]) -> None:
        with self._lock:
            for base, unwritten in counts.items():
                self._keep(base, unwritten)
            self._wind(self._again)

    def _keep(self, base: str, counts: Usage) -> None:
        self._pending[base] = added(self._pending.get(base, {}), counts)

    def _wind(self, seconds: float) -> None:
        if self._timer is None and not self._closed:
            self._timer = threading.Timer(seconds, self._write)
            self._timer.daemon = True
            self._timer.start()

    def _write(self) -> None:
        try:
            self.flush()
        except Exception as error:  # noqa: BLE001 - the end of a thread: nobody else would tell
            _log.warning("usage could not be written", extra={"error_type": type(error).__name__})
