"""`fichario reconcile`: drift of one base, or of every base in turn, and its repair."""

from typing import Any

import click

from common.cli.api import Api, route, rows
from common.cli.change import wait
from common.cli.output import Context, table


@click.command()
@click.option("--base", metavar="B", help="The base (default: every base).")
@click.option("--repair", is_flag=True, help="Publish the events that mend it, and wait for them.")
@click.option("--yes", is_flag=True, help="Yes, even where most of a base would go.")
def reconcile(context: Context, base: str | None, repair: bool, yes: bool) -> None:  # noqa: FBT001 - click's flags
    """Compare the bucket, the catalog and the index of a base, or of every base; prints nought where they agree."""
    asked = {"repair": repair, "yes": yes}
    with context.api() as api:
        if base is None:
            _every_base(context, api, asked)
        else:
            _one_base(context, api, base, asked)


def _one_base(context: Context, api: Api, base: str, asked: dict[str, bool]) -> None:
    body = dict(api.call("POST", route("bases", base, "reconcile"), body=asked).checked().body)
    if asked["repair"]:
        _wait_for_all(api, base)
    details = [f"{row['kind']}: {row['object']}: {row['why']}" for row in body["details"]]
    counts = [f"{name}: {count}" for name, count in body.items() if name != "details"]
    context.options.emit(body, [*details, ", ".join(counts)])


def _every_base(context: Context, api: Api, asked: dict[str, bool]) -> None:
    """One answer leaves the bases that its time did not suffice for; they come first in the next one."""
    told: dict[str, dict[str, Any]] = {}
    errors: dict[str, dict[str, Any]] = {}
    left: list[str] = []
    while True:
        body = api.call("POST", route("reconcile"), body=asked).checked().body
        came = {row["base"] for row in (*body["bases"], *body["errors"])} - told.keys() - errors.keys()
        told |= {row["base"]: row for row in body["bases"] if row["base"] in came}
        errors |= {row["base"]: row for row in body["errors"] if row["base"] in came}
        left = [base for base in body["left"] if base not in told.keys() | errors.keys()]
        if not left or not came:
            break
    if asked["repair"]:
        for base in told:
            _wait_for_all(api, base)
    kinds = [name for name, count in body.items() if isinstance(count, int) and name != "foreign"]
    found = [told[base] for base in sorted(told)]
    failed = [errors[base] for base in sorted(errors)]
    sums = {kind: sum(row[kind] for row in found) for kind in kinds}
    lines = table(found, ["base", *kinds]) if found else ["No base to compare."]
    lines += [f"{row['base']}: not compared: {row['detail']}" for row in failed]
    lines += [f"{base}: left for the next run" for base in left]
    context.options.emit({**sums, "foreign": body["foreign"], "bases": found, "errors": failed, "left": left}, lines)
    if failed or left:
        raise click.exceptions.Exit(1)


def _wait_for_all(api: Api, base: str) -> None:
    for job in rows(api, lambda cursor: route("bases", base, "jobs", cursor=cursor, limit=1000), "jobs"):
        wait(api, base, job["job_id"])


COMMANDS = (reconcile,)
