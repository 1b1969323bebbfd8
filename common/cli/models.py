"""Commands for model folders: list, prepare, verify."""

from dataclasses import replace
from pathlib import Path

import click

from common.cli.output import Context
from common.domain.providers import FOLDERS
from common.models import list_models, verify
from common.settings import Settings

folder_option = click.option(
    "--folder", type=click.Path(path_type=Path), metavar="DIR", help="Parent of the model folders (KB_MODEL_DIR)."
)


def _parent(settings: Settings, folder: Path | None) -> Path:
    return replace(settings, kb_model_dir=str(folder)).models if folder else settings.models


def _list(context: Context, folder: Path | None) -> None:
    """List the prepared models."""
    found = list_models(_parent(context.settings, folder))
    body = [
        {"model": m.manifest.name if m.manifest else None, "folder": str(m.folder), "problem": m.problem or None}
        for m in found
    ]
    lines = [f"{row['model'] or '?'}  {row['folder']}  {row['problem'] or ''}".rstrip() for row in body]
    context.options.emit({"models": body}, lines or [_none_yet(context.settings)])


def _prepare(context: Context, model: str, folder: Path | None) -> None:
    """Fetch and build MODEL once, so that nothing has to be downloaded later."""
    from common.prepare.folder import prepare  # noqa: PLC0415 - building models needs heavy packages

    made = prepare(model, _parent(context.settings, folder), context.options.notice)
    context.options.emit({"model": model, "folder": str(made)}, [str(made)])


def _verify(context: Context, folder: Path | None) -> None:
    """Compare every file of every prepared model with its manifest."""
    found = list_models(_parent(context.settings, folder))
    if not found and context.settings.provider.name == FOLDERS:
        raise click.ClickException(_none_yet(context.settings))
    for model in found:
        verify(model.folder)
    names = [model.folder.name for model in found]
    lines = [f"{name}: every file is as its manifest says" for name in names]
    context.options.emit({"verified": names}, lines or [_none_yet(context.settings)])


def _none_yet(settings: Settings) -> str:
    if settings.provider.name == FOLDERS:
        return "No model prepared yet: fichario models prepare e5-small-enpt"
    return f"No model prepared, and KB_EMBED_PROVIDER={settings.provider.name} needs none."


def add_to(group: click.Group) -> None:
    """Hang the three commands below `models`."""
    group.add_command(click.command("list")(folder_option(_list)))
    group.add_command(click.command("prepare")(click.argument("model")(folder_option(_prepare))))
    group.add_command(click.command("verify")(folder_option(_verify)))
