"""The command that shows what a base was asked and does not answer."""

from typing import Any, Final

import click

from common.cli.api import route
from common.cli.output import Context, table
from common.cli.read import base_option

_COLUMNS: Final = ("count", "last_asked_at", "question")
_NOTHING_KEPT: Final = "Questions are not kept (KB_KEEP_QUESTIONS=off)."


@click.command()
@base_option
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
def gaps(context: Context, base: str, limit: int) -> None:
    """List what a base was asked and does not answer, the most often asked first."""
    with context.api() as api:
        body = dict(api.call("GET", route("bases", base, "gaps", limit=limit)).checked().body)
    if body["kept"] == "off":
        context.options.notice(_NOTHING_KEPT)
    rows = [_row(each) for each in body["gaps"]]
    context.options.emit(body, table(rows, _COLUMNS) if rows else ["No gaps known."])


def _row(gap: dict[str, Any]) -> dict[str, Any]:
    """A question by its words on one line, or by its hash where they are not kept."""
    return {**gap, "question": " ".join(gap["question"].split()) if gap["question"] else f"#{gap['digest']}"}


COMMANDS = (gaps,)
