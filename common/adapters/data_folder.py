"""The data folder of one machine: the lock that proves nobody else works in it, and the running server's address."""

import fcntl
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from common.domain.errors import DataFolderError

LOCK: Final = "lock"
SERVER: Final = "server.json"
_PAUSE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: where it answers, and the secret by which commands of the same user are let in."""

    address: str
    pid: int
    key: str
    version: str


class DataFolder:
    """Holds the folder's lock until it is closed. Raises DataFolderError when another process holds it."""

    def __init__(self, path: Path, *, patience: float = 0.0) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DataFolderError(
                f"The data folder {path} cannot be used ({error.strerror}). Name another one with --data."
            ) from error
        until = time.monotonic() + patience
        while not self._locked():
            if time.monotonic() >= until:
                os.close(self._lock)
                raise DataFolderError(
                    f"The data folder {path} is in use by another process. Stop it or name another one with --data.",
                    locked=True,
                )
            time.sleep(_PAUSE)

    def _locked(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def announce(self, server: Server) -> None:
        """Write where the server answers, readable by this user alone."""
        building = self.path / f"{SERVER}.new"
        descriptor = os.open(building, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(server), file)
        building.replace(self.path / SERVER)

    def close(self) -> None:
        """Take the address back and let go of the lock."""
        (self.path / SERVER).unlink(missing_ok=True)
        os.close(self._lock)


def running_server(path: Path) -> Server | None:
    """The server that holds this data folder, or None: an address left by a killed one is not believed."""
    try:
        data = json.loads((path / SERVER).read_text(encoding="utf-8"))
        descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return Server(**data)
    finally:
        os.close(descriptor)
    return None
