"""The command that turns a folder, a repository or a site into a corpus of lines."""

from pathlib import Path

import click

from common.cli.output import Context


@click.command()
@click.option("--root", type=click.Path(exists=True, file_okay=False, path_type=Path), help="A folder.")
@click.option("--repo", default="", metavar="URL", help="A git repository (https or ssh), cloned shallowly.")
@click.option("--url", default="", metavar="URL", help="A site, read page by page within its own domain.")
@click.option("--kind", type=click.Choice(["docs", "code", "auto"]), default="docs", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), required=True, metavar="F.jsonl")
@click.option("--max-chars", type=click.IntRange(0), default=0, help="Cut files into parts of this size.")
@click.option("--max-pages", type=click.IntRange(1), default=200, show_default=True, help="Pages of a site.")
@click.option("--max-depth", type=click.IntRange(0), default=5, show_default=True, help="Links away from its start.")
@click.option("--allow-private", is_flag=True, help="Also fetch from private and loopback addresses.")
def flatten(context: Context, **asked: object) -> None:
    """Write a corpus as JSONL, one line per file, with what was skipped counted by reason."""
    from common.adapters.parsers.html import parse_html  # noqa: PLC0415 - other commands read no pages
    from common.adapters.parsers.limits import DEFAULT_LIMITS  # noqa: PLC0415 - see above
    from common.adapters.parsers.text import decode  # noqa: PLC0415 - see above
    from common.cli.flatten.plan import FlattenOptions  # noqa: PLC0415 - see above
    from common.cli.flatten.run import run  # noqa: PLC0415 - see above

    try:
        options = FlattenOptions(**asked)  # type: ignore[arg-type]  # click checked each of them
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    report = run(options, read_page=lambda data, name: parse_html(data, name, DEFAULT_LIMITS), decode=decode)
    for notice in report.notices():
        context.options.notice(notice)
    body = report.as_json()
    context.options.emit(body, [f"{report.documents} documents in {options.output}"])
