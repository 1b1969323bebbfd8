"""What a reader may find of each document of a base that is written all the time."""

import threading
from collections import Counter, defaultdict
from collections.abc import Mapping


class Ledger:
    """Every state of every document in turn, None for gone; of each name how far it has settled and how far it has
    begun. Safe between threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[str, list[int | None]] = defaultdict(lambda: [None])
        self._settled: Counter[str] = Counter()

    def begin(self, name: str, state: int | None) -> None:
        with self._lock:
            self._states[name].append(state)

    def settle(self, name: str) -> None:
        with self._lock:
            self._settled[name] = len(self._states[name]) - 1

    def settled(self) -> Mapping[str, int]:
        with self._lock:
            return dict(self._settled)

    def since(self, name: str, settled: Mapping[str, int]) -> list[int | None]:
        """The states that it may have been seen in since it was settled so far."""
        with self._lock:
            return self._states[name][settled.get(name, 0) :]

    def version(self, name: str) -> int:
        with self._lock:
            return max((state or 0 for state in self._states[name]), default=0)

    def final(self) -> dict[str, int]:
        """The documents that there are, by version."""
        with self._lock:
            return {name: states[-1] for name, states in self._states.items() if states[-1] is not None}

    def names(self) -> list[str]:
        with self._lock:
            return sorted(self._states)
