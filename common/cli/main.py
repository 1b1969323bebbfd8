"""The command line: `fichario`. Every command speaks the HTTP contract, to a running server or in this process."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, TypeVar

import click

from common.cli import ask, change, gaps, material, models, read, reconcile, reindex, usage
from common.cli.api import Connect
from common.cli.output import Context, Options
from common.domain.errors import FicharioError, Misconfigured
from common.settings import read_settings

F = TypeVar("F", bound=Callable[..., Any])


class Group(click.Group):
    """Shows our own errors as one line and exit code 1, never as a trace; takes the global options anywhere."""

    def invoke(self, context: click.Context) -> Any:  # noqa: ANN401 - click's own signature
        try:
            return super().invoke(context)
        except FicharioError as error:
            raise click.ClickException(str(error)) from error

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Every leaf command also takes the global options behind its name; the command given stays as it is."""
        if not isinstance(cmd, click.Group):
            # A copy: the command line may be built more than once in a process.
            cmd = copy(cmd)
            named = {option.name for option in cmd.params}
            cmd.params = [*cmd.params, *(option for option in _global_options() if option.name not in named)]
            if cmd.callback is not None:
                cmd.callback = _with_options(cmd.callback)
        super().add_command(cmd, name)


def _global_options() -> list[click.Option]:
    return [
        click.Option(["--data", "data_dir"], metavar="DIR", help="The data folder (default .fichario)."),
        click.Option(["--json", "as_json"], is_flag=True, help="One JSON document on standard output."),
        click.Option(["-q", "--quiet"], is_flag=True, help="No notices on standard error."),
    ]


def _apply(options: Options, data_dir: str | None, as_json: bool, quiet: bool) -> None:  # noqa: FBT001 - click's values
    options.data = data_dir or options.data
    options.json = options.json or as_json
    options.quiet = options.quiet or quiet


def _with_options(callback: F) -> Callable[..., Any]:
    def run(*args: Any, data_dir: str | None, as_json: bool, quiet: bool, **named: Any) -> Any:  # noqa: ANN401
        root = click.get_current_context().find_root()
        options: Options = root.meta["options"]
        _apply(options, data_dir, as_json, quiet)
        try:
            settings = read_settings(None, **({"kb_data_dir": options.data} if options.data else {}))
        except Misconfigured as error:
            raise click.UsageError(str(error)) from error
        return callback(Context(settings, options, root.meta["connect"]), *args, **named)

    return run


def build(connect: Connect, more: Sequence[click.Command] = ()) -> click.Group:
    """The whole command line; `connect` opens the functions for a command, `more` are commands of where it runs."""

    @click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]}, params=_global_options())
    @click.version_option(package_name="fichario")
    @click.pass_context
    def fichario(context: click.Context, data_dir: str | None, as_json: bool, quiet: bool) -> None:  # noqa: FBT001
        """Fichário: files in a folder become cited answers, or a plain no match."""
        options = Options()
        _apply(options, data_dir, as_json, quiet)
        context.meta["options"] = options
        context.meta["connect"] = connect

    commands = (*change.COMMANDS, *reconcile.COMMANDS, *ask.COMMANDS, *material.COMMANDS, *read.COMMANDS)
    for command in (*more, *commands, *usage.COMMANDS, *gaps.COMMANDS):
        fichario.add_command(command)

    @fichario.group(name="models", cls=Group)
    def model_group() -> None:
        """Model folders: list, prepare, verify."""

    models.add_to(model_group)

    @fichario.group(name="reindex", cls=Group)
    def reindex_group() -> None:
        """Move bases to another model, chunking or tokenizer without one wrong answer."""

    reindex.add_to(reindex_group)
    return fichario
