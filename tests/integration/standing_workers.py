"""Workers that stand still at every boundary of their work until they are told to go on, be it a step of ingest or a
call of one of its ports.
"""

import threading
from collections.abc import Callable
from typing import Any

from common.domain.objects import ObjectChange
from tests.integration.one_machine import Killed

CATALOG_CALLS = frozenset({"transact", "put_documents", "drop_documents"})
INDEX_CALLS = frozenset({"upsert", "sweep", "discard"})
STORE_CALLS = frozenset({"stat", "read"})
WRITES = CATALOG_CALLS | INDEX_CALLS | {"update_base", "drop_collection", "create", "drop"}
"""What may change what a reader finds."""
_current = threading.local()


def pause(name: str) -> None:
    """A boundary: the worker of this thread stands here until it is told to go on. Others pass."""
    worker: Worker | None = getattr(_current, "worker", None)
    if worker is not None:
        worker.stand(name)


class Worker:
    """Work in a thread of its own, one boundary at a time: either it runs or who made it does, never both."""

    def __init__(self, change: ObjectChange, work: Callable[[], None]) -> None:
        self.change = change
        self.at = ""
        self.ended = False
        self.error: BaseException | None = None
        self.told_to_stop = False
        self._doomed = False
        self._go, self._stands = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def resume(self) -> bool:
        """Let it run to its next boundary; False when it came to its end."""
        if not self.ended:
            self._go.release()
            self._stands.acquire()
        return not self.ended

    def finish(self) -> None:
        while self.resume():
            pass
        self._thread.join()

    def kill(self) -> None:
        """It dies where it stands."""
        self._doomed = True
        self.finish()

    def stand(self, name: str) -> None:
        self.at = name
        self._stands.release()
        self._go.acquire()
        if self._doomed:
            raise Killed

    def _run(self, work: Callable[[], None]) -> None:
        _current.worker = self
        self._go.acquire()
        try:
            if self._doomed:
                raise Killed  # noqa: TRY301 - killed before it began
            work()
        except BaseException as error:  # noqa: BLE001 - whoever looks after the workers judges it
            self.error = error
        self.ended = True
        self._stands.release()


class Standing:
    """A port of which the calls in `names` are boundaries too, so that a worker can be held in front of them. Says
    `wrote` after each one that may change what a reader finds.
    """

    def __init__(self, port: Any, names: frozenset[str], wrote: Callable[[], None]) -> None:
        self._port, self._names, self._wrote = port, names, wrote

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if name not in self._names | WRITES:
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            if name in self._names:
                pause(f"before {name}")
            try:
                return method(*args, **kwargs)
            finally:
                if name in WRITES:
                    self._wrote()

        return call


def stopping() -> bool:
    """Whether the worker of this thread was told to stop."""
    worker: Worker | None = getattr(_current, "worker", None)
    return worker is not None and worker.told_to_stop
