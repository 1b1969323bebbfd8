"""The Clock port for tests: time stands still until it is told to move."""


class FrozenClock:
    """A clock that reads `now` and moves by `advance` alone."""

    def __init__(self, now: float = 1_000_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds
