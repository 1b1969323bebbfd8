"""The console script: the command line over the functions of this machine."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from common import logs
from common.adapters.data_folder import running_server
from common.cli.api import Api, HttpApi
from common.cli.main import build
from common.settings import Settings
from functions.local.commands import COMMANDS


@contextmanager
def connect(settings: Settings, notice: Callable[[str], None]) -> Iterator[Api]:
    """A running server of this data folder, else the machine itself for the time of one command."""
    server = running_server(settings.data)
    if server is not None:
        yield HttpApi(server.address, server.key)
        return
    from functions.local.machine import in_process  # noqa: PLC0415 - beside a server nothing of it is needed

    logs.configure("ERROR")
    with in_process(settings, notice) as api:
        yield api


def main() -> None:
    """Run one command."""
    build(connect, COMMANDS)(prog_name="fichario")


if __name__ == "__main__":
    main()
