"""Counts in memory what models were given to do, and writes the sums to the catalog a few seconds later."""

from common.domain.usage import Count, Kind, Usage, added
from common.ports import Catalog
from common.stages.batching import AGAIN_SECONDS, FLUSH_SECONDS, Batching


class Meter:
    """Safe between threads. What could not be written is kept for the next time."""

    def __init__(self, catalog: Catalog, seconds: float = FLUSH_SECONDS, again: float = AGAIN_SECONDS) -> None:
        self._catalog = catalog
        self._batch = Batching[Usage]("usage", self._add, added, seconds, again)

    def count(self, base: str, kind: Kind, spent: Count) -> None:
        """Count it, to be written within a few seconds."""
        self._batch.add(base, lambda: {kind: spent})

    def flush(self) -> None:
        """Write all that was counted. Raises what the catalog raises, with everything unwritten kept."""
        self._batch.flush()

    def usage(self, base: str) -> Usage:
        """What was spent on the base, by every process until its last write and by this one until now."""
        self.flush()
        return self._catalog.usage(base)

    def close(self) -> None:
        """Write what is left, and nothing more by itself."""
        self._batch.close()

    def _add(self, base: str, spent: Usage) -> None:
        self._catalog.add_usage(base, spent)
