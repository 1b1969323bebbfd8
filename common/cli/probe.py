"""`fichario probe-leaks`: the tenant-leak probe against a live deployment, with the tokens of two identities."""

import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, urlsplit

import click

from common.cli.leak_probe import RESERVED, Answer, lines, probe
from common.cli.leak_routes import Request
from common.cli.output import Context
from common.domain.errors import Unavailable

SECONDS: Final = 60.0
POLL_SECONDS: Final = 1.0
MAX_ANSWER: Final = 16 * 2**20
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
Routes = Callable[[], Mapping[str, Sequence[tuple[str, str]]]]
"""Method and rule of every route, by function: `query`, `manage`."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where each function answers."""

    addresses: Mapping[str, SplitResult]
    context: ssl.SSLContext = field(default_factory=ssl.create_default_context)

    def send(self, request: Request, token: str | None) -> Answer:
        """One request and its answer. Raises Unavailable."""
        where = self.addresses[request.function]
        headers = dict(request.headers)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        connection = self._connection(where)
        try:
            connection.request(request.method, where.path.rstrip("/") + request.path, request.data, headers)
            response = connection.getresponse()
            data = response.read(MAX_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"{where.netloc} does not answer: {type(error).__name__}.") from error
        finally:
            connection.close()
        return as_answer(response.status, str(response.headers), data)

    def _connection(self, where: SplitResult) -> http.client.HTTPConnection:
        if where.scheme == "https":
            return http.client.HTTPSConnection(where.hostname or "", where.port, timeout=SECONDS, context=self.context)
        return http.client.HTTPConnection(where.hostname or "", where.port, timeout=SECONDS)


def as_answer(status: int, headers: str, data: bytes) -> Answer:
    """What arrived, with its JSON object where it is one."""
    text = data.decode(errors="replace")
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    return Answer(status, f"{headers}\n{text}", parsed if isinstance(parsed, dict) else {})


def command(routes: Routes) -> click.Command:
    """The command over the routes of the functions, which only the place that mounts them knows."""

    @click.command("probe-leaks")
    @click.option("--address", required=True, metavar="URL", help="Where the functions answer.")
    @click.option("--manage-address", metavar="URL", help="Where the manage function answers, if elsewhere.")
    @click.option(
        "--token-a",
        envvar="KB_PROBE_TOKEN_A",
        show_envvar=True,
        required=True,
        help=f"A token with admin on {RESERVED[0]} only.",
    )
    @click.option(
        "--token-b",
        envvar="KB_PROBE_TOKEN_B",
        show_envvar=True,
        required=True,
        help=f"A token with admin on {RESERVED[1]} only.",
    )
    def probe_leaks(context: Context, address: str, manage_address: str | None, token_a: str, token_b: str) -> None:
        """Ask every route of a live deployment for another base's documents, in two bases reserved for it."""
        deployment = Deployment({"query": _checked(address), "manage": _checked(manage_address or address)})
        report = probe(routes(), deployment, (token_a, token_b), lambda: time.sleep(POLL_SECONDS))
        context.options.emit(report.body(), lines(report))
        if report.findings:
            raise click.exceptions.Exit(1)

    return probe_leaks


def _checked(address: str) -> SplitResult:
    """The address in its parts. A token goes over https, or stays on this machine."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise click.UsageError(f"{address} is no address.") from error
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)):
        raise click.UsageError("An address starts with https://, or with http:// for this machine.")
    return parts
