"""The Clock port by the machine's own clock."""

import time


class SystemClock:
    """Wall time."""

    def now(self) -> float:
        return time.time()
