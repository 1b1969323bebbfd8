"""How a command that runs until it is stopped learns that it is to stop."""

import signal
import threading
from types import FrameType


def until_signalled() -> threading.Event:
    """Set by SIGTERM or SIGINT, also where the process was started with SIGINT ignored (as background jobs are)."""
    stopping = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    return stopping
