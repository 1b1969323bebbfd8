"""What commands print: plain text for people, one JSON document for programs, notices on standard error."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import click

from common.cli.api import Api, Connect
from common.settings import Settings


@dataclass(slots=True)
class Options:
    """The global options of one invocation."""

    data: str | None = None
    json: bool = False
    quiet: bool = False

    def emit(self, body: Any, lines: Iterable[str] = ()) -> None:  # noqa: ANN401 - JSON-ready data
        """The result: `body` with --json, else the lines."""
        if self.json:
            click.echo(json.dumps(body, ensure_ascii=False))
        else:
            for line in lines:
                click.echo(line)

    def notice(self, text: str) -> None:
        """Something worth knowing that is not the result."""
        if not self.quiet:
            click.echo(text, err=True)


@dataclass(slots=True)
class Context:
    """What every command gets: the settings of this invocation and how to print."""

    settings: Settings
    options: Options
    connect: Connect

    def api(self) -> AbstractContextManager[Api]:
        """The functions, opened for this command."""
        return self.connect(self.settings, self.options.notice)


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    """Aligned columns under their names; None prints as nothing."""
    cells = [list(columns)] + [["" if row[c] is None else str(row[c]) for c in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in cells]
