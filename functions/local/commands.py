"""The commands that stand on this machine's functions: up, mcp, doctor, flatten and the leak probe."""

from dataclasses import asdict, replace
from pathlib import Path

import click

from common import logs
from common.cli import probe
from common.cli.output import Context
from common.domain.errors import DataFolderError
from functions.local.flatten import flatten

DEFAULT_PORT = 8765
port_option = click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True)


@click.command()
@port_option
@click.option("--bucket", type=click.Path(file_okay=False, path_type=Path), help="The watched folder (KB_BUCKET).")
@click.option("--yes", is_flag=True, help="Let go of files even when most of a base is gone from the bucket.")
def up(context: Context, port: int, bucket: Path | None, yes: bool) -> None:  # noqa: FBT001 - click's flag
    """Watch the bucket and answer on one port until stopped."""
    from functions.local.serve import Serving, serve  # noqa: PLC0415 - other commands need no server

    settings = replace(context.settings, kb_bucket=str(bucket)) if bucket else context.settings
    logs.configure(settings.kb_log_level)
    try:
        serve(Serving(settings, port, yes, click.echo))
    except DataFolderError as error:
        click.echo(f"Error: {error}", err=True)
        raise click.exceptions.Exit(2 if error.locked else 1) from error


@click.command()
def mcp(context: Context) -> None:
    """Give a model's runtime the tools over standard input and output (Model Context Protocol)."""
    try:
        from functions.local.mcp import run  # noqa: PLC0415 - other commands need no protocol
    except ModuleNotFoundError as error:
        raise click.ClickException(f"This needs {error.name}: pip install 'fichario[mcp]'.") from error

    logs.configure("ERROR")
    run(context.settings, context.options.notice)


@click.command()
@port_option
def doctor(context: Context, port: int) -> None:
    """Check all that this configuration needs, and say what to do."""
    from functions.local.doctor import examine  # noqa: PLC0415 - other commands need none of it

    findings = list(examine(context.settings, port))
    lines = [f"{'ok  ' if finding.ok else 'FAIL'}  {finding.name}: {finding.detail}" for finding in findings]
    sound = all(finding.ok for finding in findings)
    context.options.emit({"ok": sound, "checks": [asdict(finding) for finding in findings]}, lines)
    if not sound:
        raise click.exceptions.Exit(1)


def _routes() -> dict[str, list[tuple[str, str]]]:
    from functions.local.routes import http_routes  # noqa: PLC0415 - other commands need no router

    return http_routes()


COMMANDS = (up, mcp, doctor, flatten, probe.command(_routes))
