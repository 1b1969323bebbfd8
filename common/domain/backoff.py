"""How long a queue waits before it delivers a message again."""

from dataclasses import dataclass
from typing import Final

MAX_ATTEMPTS: Final = 8
_LAST_STEP: Final = 64
"""The cap has long been reached by then, and a float power would overflow some steps later."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds until the n-th retry: `first * factor**(n - 1)`, at most `cap`, made longer by up to `spread` of it."""

    first: float
    factor: float
    cap: float
    spread: float = 0.25

    def delay(self, retry: int, jitter: float) -> float:
        """`retry` counts from 1, `jitter` is in [0, 1)."""
        return min(self.cap, self.first * self.factor ** min(retry - 1, _LAST_STEP)) * (1 + self.spread * jitter)


FAILURES: Final = Backoff(first=0.2, factor=4.0, cap=300.0)
"""`MAX_ATTEMPTS` then span some nine minutes, so that an outage of a few minutes kills no message."""

BUSY: Final = Backoff(first=0.1, factor=2.0, cap=2.0)
"""For a message that only waits for a lease."""
