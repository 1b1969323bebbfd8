"""`fichario reindex`: move bases to another model, chunking or tokenizer, or adopt a collection that exists: planned,
built beside what answers, compared, switched, rolled back, retired.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from common.cli.api import Api, route
from common.cli.output import Context

POLL_SECONDS: Final = 0.1
_UNDER_WAY: Final = frozenset({"planned", "building", "verifying"})
_bases = click.option("--base", "bases", metavar="B", multiple=True, help="The base; more than once for several.")
_all = click.option("--all", "every", is_flag=True, help="Every base.")
_model = click.option("--model", metavar="M", help="The model to move to (default: the configured one).")
_force = click.option("--force", is_flag=True, help="Even where it is worse, or not whole.")


@click.command()
@_bases
@_all
@_model
def plan(context: Context, bases: tuple[str, ...], every: bool, model: str | None) -> None:  # noqa: FBT001 - click's flags
    """Say what it would take, measured on the base's own passages, before anything runs.

    Of a collection that is not ours and stands under the base's alias name: what adopting it would take.
    """

    def one(api: Api, base: str) -> Mapping[str, Any]:
        return api.call("GET", route("bases", base, "reindex", "plan", model=model)).checked().body

    _each(context, bases, every, one, lambda body: [plan_line(body["base"], body)])


@click.command()
@_bases
@_all
@_model
@click.option("--auto-switch", is_flag=True, help="Let the new collection answer as soon as it proves no worse.")
@click.option("--no-wait", is_flag=True, help="Come back at once; a running server goes on with it.")
def start(
    context: Context,
    bases: tuple[str, ...],
    every: bool,  # noqa: FBT001 - click's flags
    model: str | None,
    auto_switch: bool,  # noqa: FBT001
    no_wait: bool,  # noqa: FBT001
) -> None:
    """Build the new collection beside the one that answers, and compare both.

    A collection that is not ours and stands under the base's alias name is adopted: its texts answer by words at once,
    its vectors are made beside it, and `switch` lets the alias take its place.
    """
    body = {"auto_switch": auto_switch, **({"model": model} if model else {})}
    hidden = context.options.json or context.options.quiet

    def one(api: Api, base: str) -> Mapping[str, Any]:
        begun = api.call("POST", route("bases", base, "reindex"), body=body).checked().body
        context.options.notice(plan_line(base, begun["plan"]))
        return begun if no_wait else _watch(api, base, begun["id"], hidden=hidden)

    _each(context, bases, every, one, status_lines)


@click.command()
@_bases
@_all
def status(context: Context, bases: tuple[str, ...], every: bool) -> None:  # noqa: FBT001 - click's flags
    """Show how far the last migration is, what failed, and how both collections compare."""

    def one(api: Api, base: str) -> Mapping[str, Any]:
        return api.call("GET", route("bases", base, "reindex", "last")).checked().body

    _each(context, bases, every, one, status_lines)


def _command(name: str, says: str, *, forced: bool) -> click.Command:
    def run(context: Context, bases: tuple[str, ...], every: bool, force: bool = False) -> None:  # noqa: FBT001, FBT002 - click's flags
        def one(api: Api, base: str) -> Mapping[str, Any]:
            body = {"force": True} if force else {}
            return api.call("POST", route("bases", base, "reindex", "last", name), body=body).checked().body

        _each(context, bases, every, one, status_lines)

    command = _bases(_all(run))
    return click.command(name, help=says)(_force(command) if forced else command)


def _each(
    context: Context,
    bases: Sequence[str],
    every: bool,  # noqa: FBT001 - click's flag
    one: Callable[[Api, str], Mapping[str, Any]],
    lines: Callable[[Mapping[str, Any]], list[str]],
) -> None:
    """Do it for each base in turn; one that fails keeps no other from it and makes the exit code 1."""
    if bool(bases) == every:
        raise click.UsageError("Name bases with --base, or take --all of them.")
    done: list[Mapping[str, Any]] = []
    failed: list[dict[str, str]] = []
    with context.api() as api:
        if every:
            bases = [row["base"] for row in api.call("GET", route("bases")).checked().body["bases"]]
        for base in bases:
            try:
                done.append(one(api, base))
            except click.ClickException as error:
                failed.append({"base": base, "detail": error.message})
    shown = [line for body in done for line in lines(body)]
    errors = [f"{row['base']}: {row['detail']}" for row in failed]
    if len(bases) == 1 and not every:
        if failed:
            raise click.ClickException(failed[0]["detail"])
        context.options.emit(done[0], shown)
    else:
        context.options.emit({"bases": done, "errors": failed}, [*shown, *errors])
    if failed or any(body.get("state") == "failed" for body in done):
        raise click.exceptions.Exit(1)


def _watch(api: Api, base: str, key: str, *, hidden: bool) -> Mapping[str, Any]:
    """Follow a migration until it waits for a person, with its progress."""
    place = route("bases", base, "reindex", key)
    body = api.call("GET", place).checked().body
    with click.progressbar(
        length=max(1, body["objects"]), label=f"Moving {base}", hidden=hidden, file=sys.stderr
    ) as bar:
        shown = 0
        while body["state"] in _UNDER_WAY and not body["reason"]:
            bar.update(body["done"] - shown)
            shown = body["done"]
            time.sleep(POLL_SECONDS)
            body = api.call("GET", place).checked().body
        bar.update(body["done"] - shown)
    return body


def plan_line(base: str, body: Mapping[str, Any]) -> str:
    words = f"{body['documents']} documents, {body['passages']} passages, {body['embedded_tokens']} tokens to embed"
    adopts = body.get("adopts")
    if adopts:
        words = f"adopts {adopts['collection']}: {words}"
    if adopts and adopts["without_text"]:
        words += f" ({adopts['without_text']} points without text: {', '.join(adopts['named'])})"
    costs = f"about {body['minutes']} minutes, ${body['dollars']:.2f}, {body['disk_mb']} MB of disk"
    return f"{base}: {words} with {body['model']}: {costs}"


def status_lines(body: Mapping[str, Any]) -> list[str]:
    if "objects" not in body:
        return [f"{body['base']}: {body['state']} ({body['id']})"]
    far = f"{body['done']} of {body['objects']} files"
    lines = [f"{body['base']}: {body['state']}, {far}, {body['before']} -> {body['after']}"]
    if body["reason"]:
        lines.append(f"  {body['reason']}")
    lines += [f"  {row['source']}: {row['reason']} ({row['attempts']} attempts)" for row in body["failures"]]
    if body["by_words"]:
        lines.append(f"  answered by words alone: {body['by_words']}")
    report = body["report"] or {}
    for name in ("recall_at_5", "mrr_at_10"):
        if report.get(name):
            lines.append(f"  {name}: {report[name]['blue']} now, {report[name]['green']} in the new collection")
    if report:
        changed = report["no_match"]
        lines.append(f"  agreement at 5: {report['agreement_at_5']}")
        lines.append(f"  no match: {changed['newly_refused']} newly, {changed['newly_answered']} no longer")
        lines.append(f"  median ms: {report['latency_ms']['blue']} now, {report['latency_ms']['green']} in the new one")
    if body["worse_by"] and body["state"] == "ready":
        lines.append(f"  worse by {body['worse_by']}: `switch` wants --force")
    return lines


def add_to(group: click.Group) -> None:
    """Put the commands into `fichario reindex`."""
    commands = (
        plan,
        start,
        status,
        _command("switch", "Let the new collection answer.", forced=True),
        _command("rollback", "Let the old collection answer again.", forced=True),
        _command("cancel", "Stop before the new collection answers, and free its space.", forced=False),
        _command("retire", "Free the collection that no longer answers.", forced=False),
    )
    for command in commands:
        group.add_command(command)
