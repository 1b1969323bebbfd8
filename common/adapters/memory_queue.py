"""The PullQueue port in memory: what the contract suite holds the real queues to, and a queue for tests of stages."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

from common.domain.backoff import BUSY, FAILURES, MAX_ATTEMPTS, Backoff
from common.ports import Clock, Delivery, Message


@dataclass(slots=True)
class _Entry:
    number: int
    message: Message
    due: float
    held: bool = False
    dead: bool = False
    deliveries: int = 0
    counted: int = 0
    uncounted: int = 0


class MemoryQueue:
    """Topics in lists, without jitter. `broken` makes every call raise it, as a broker out of reach would."""

    def __init__(
        self,
        clock: Clock,
        *,
        max_attempts: int = MAX_ATTEMPTS,
        failures: Backoff = FAILURES,
        busy: Backoff = BUSY,
        wake: Callable[[str], None] | None = None,
    ) -> None:
        self.broken: Exception | None = None
        self._clock = clock
        self._max_attempts = max_attempts
        self._failures = failures
        self._busy = busy
        self._wake = wake
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._topics: dict[str, list[_Entry]] = {}

    def publish(self, topic: str, message: Message, delay: float = 0.0) -> str:
        self._check()
        with self._lock:
            entry = _Entry(next(self._numbers), message, self._clock.now() + delay)
            self._topics.setdefault(topic, []).append(entry)
        if self._wake is not None:
            self._wake(topic)
        return str(entry.number)

    def take(self, topic: str, hold: float) -> Delivery | None:
        self._check()
        now = self._clock.now()
        with self._lock:
            for entry in sorted(self._alive(topic), key=lambda each: (each.due, each.number)):
                if entry.due > now:
                    return None
                if entry.counted >= self._max_attempts:
                    entry.dead, entry.held = True, False
                    continue
                entry.due, entry.held = now + hold, True
                entry.deliveries += 1
                entry.counted += 1
                return _delivery(topic, entry)
        return None

    def acknowledge(self, delivery: Delivery) -> None:
        self._check()
        with self._lock:
            entry = self._entry(delivery)
            if entry is not None:
                self._topics[delivery.topic].remove(entry)

    def retry(self, delivery: Delivery, *, counts: bool = True) -> None:
        self._check()
        with self._lock:
            entry = self._entry(delivery)
            if entry is None:
                return
            entry.held = False
            if counts:
                entry.dead = entry.counted >= self._max_attempts
                entry.uncounted = 0
                wait = self._failures.delay(entry.counted, 0.0)
            else:
                entry.counted -= 1
                entry.uncounted += 1
                wait = self._busy.delay(entry.uncounted, 0.0)
            entry.due = self._clock.now() + wait

    def waiting(self, topic: str) -> int:
        self._check()
        with self._lock:
            return len(self._alive(topic))

    def next_due(self, topic: str) -> float | None:
        self._check()
        with self._lock:
            return min((entry.due for entry in self._alive(topic)), default=None)

    def dead(self, topic: str) -> Sequence[Delivery]:
        self._check()
        with self._lock:
            return [_delivery(topic, entry) for entry in self._topics.get(topic, []) if entry.dead]

    def revive(self, topic: str) -> int:
        self._check()
        with self._lock:
            held = [entry for entry in self._alive(topic) if entry.held]
            for entry in held:
                entry.held, entry.due = False, self._clock.now()
        return len(held)

    def _check(self) -> None:
        if self.broken is not None:
            raise self.broken

    def _alive(self, topic: str) -> list[_Entry]:
        return [entry for entry in self._topics.get(topic, []) if not entry.dead]

    def _entry(self, delivery: Delivery) -> _Entry | None:
        for entry in self._alive(delivery.topic):
            if entry.held and _delivery(delivery.topic, entry).id == delivery.id:
                return entry
        return None


def _delivery(topic: str, entry: _Entry) -> Delivery:
    return Delivery(f"{entry.number}.{entry.deliveries}", topic, entry.message, entry.deliveries)
