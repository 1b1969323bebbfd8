"""Where machines that are to be killed keep their files."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of one's own is made in it


@contextmanager
def place() -> Iterator[Path]:
    """A folder in memory where there is one. A kill takes nothing back that was written, synced or not, and without
    the disk's syncs ten times as many machines can be killed in the same time.
    """
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)
