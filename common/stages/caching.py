"""What the query side remembers under an epoch, and equal questions asked at the same time."""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from common.domain.errors import Unavailable
from common.ports import Catalog, Clock

T = TypeVar("T")


@dataclass(slots=True)
class EpochMemory:
    """Tables that hold for one base, or one collection of it, at one epoch; a newer epoch starts from nothing. Safe
    between threads: a table is only ever added to, and what two threads add is equal.
    """

    _bases: dict[str, tuple[int, dict[tuple[str, str], dict[Any, Any]]]] = field(default_factory=dict)
    bases_kept: int = 1000

    def table(self, base: str, epoch: int, name: str, collection: str = "") -> dict[Any, Any]:
        known = self._bases.get(base)
        if known is None or known[0] < epoch:
            if len(self._bases) >= self.bases_kept:
                self._bases = {}
            known = self._bases[base] = (epoch, {})
        elif known[0] > epoch:
            return {}
        return known[1].setdefault((name, collection), {})


class Epochs:
    """The epoch of a base as caches use it: read each time, or remembered for `ttl` seconds (KB_EPOCH_TTL)."""

    def __init__(self, catalog: Catalog, clock: Clock, ttl: float) -> None:
        self._catalog = catalog
        self._clock = clock
        self._ttl = ttl
        self._read: dict[str, tuple[int, float]] = {}

    def read(self, base: str) -> tuple[int, float]:
        """The epoch, and how many seconds ago it was read; 0 for now."""
        if not self._ttl:
            return self._catalog.epoch(base), 0.0
        now = self._clock.now()
        known = self._read.get(base)
        if known is not None and 0 < now - known[1] <= self._ttl:
            return known[0], now - known[1]
        epoch = self._catalog.epoch(base)
        self._read[base] = (epoch, now)
        return epoch, 0.0

    def forget(self, base: str) -> None:
        """Read the base's epoch anew the next time."""
        self._read.pop(base, None)


class SingleFlight(Generic[T]):
    """Equal work asked for at the same time is done once; the others wait for it and share its end, error or not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, _Flight[T]] = {}

    def do(self, key: Hashable, work: Callable[[], T], patience: float | None = None) -> tuple[T, bool]:
        """The result, and whether another caller's work gave it; that is waited for at most `patience` seconds.

        Raises Unavailable when it took longer.
        """
        with self._lock:
            flight = self._flights.get(key)
            leads = flight is None
            if flight is None:
                flight = self._flights[key] = _Flight()
        if not leads:
            if not flight.flying.acquire(timeout=-1 if patience is None else patience):
                raise Unavailable("an equal question is still being answered")
            flight.flying.release()
            return flight.result(), True
        try:
            flight.value = work()
        except Exception as error:
            flight.error = error
            raise
        finally:
            with self._lock:
                del self._flights[key]
            flight.flying.release()
        return flight.result(), False


class _Flight(Generic[T]):
    def __init__(self) -> None:
        # Held until it landed. An event would do, and takes ten times as long to make.
        self.flying = threading.Lock()
        self.flying.acquire()
        self.value: T | None = None
        self.error: Exception | None = None

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # set by the leader before it landed
