"""The bucket's folder under watch: each change settles, is looked at and becomes an event; a full scan misses none."""

import logging
import threading
from pathlib import Path
from typing import Final

from watchfiles import watch

from common.adapters.folder.scan import FolderScan, ScanReport
from common.domain.errors import FicharioError
from common.ports import Clock

SETTLE_SECONDS: Final = 0.4
"""A file still being written is left alone until nobody has touched it for this long."""
TICK_MILLISECONDS: Final = 200
SCAN_SECONDS: Final = 60.0
"""Watches can be lost (an unmounted folder, a full queue of the system): a scan is the proof."""
_log = logging.getLogger("fichario.watch")


class Watcher:
    """One thread over one folder, until it is stopped."""

    def __init__(self, root: Path, scan: FolderScan, clock: Clock) -> None:
        self._root = root
        self._scan = scan
        self._clock = clock
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._watch()
            except (FicharioError, OSError) as error:
                _log.warning("the bucket's folder cannot be watched", extra={"error": str(error)})
                self._stopping.wait(TICK_MILLISECONDS / 1000)

    def _watch(self) -> None:
        pending: set[str] = set()
        # The first scan comes when the watch stands: what changes in between would be seen by neither.
        scanned = -SCAN_SECONDS
        for changes in watch(
            self._root,
            watch_filter=None,
            debounce=50,
            step=50,
            rust_timeout=TICK_MILLISECONDS,
            yield_on_timeout=True,
            stop_event=self._stopping,
            raise_interrupt=False,
            ignore_permission_denied=True,
        ):
            pending |= {path for _, path in changes}
            ready = {path for path in pending if self._scan.settled(path, SETTLE_SECONDS)}
            pending -= ready
            if ready:
                self._report(self._scan.rescan_paths(ready))
            if self._clock.now() - scanned >= SCAN_SECONDS:
                scanned = self._clock.now()
                self._report(self._scan.scan())

    def _report(self, report: ScanReport) -> None:
        for count in report.held_back.values():
            _log.warning("more than half of a base is gone from the folder and was kept", extra={"count": count})
        if report.unnameable:
            _log.warning("files whose names cannot be sources", extra={"count": len(report.unnameable)})
