"""Commands that list what there is: bases, documents, jobs."""

import click

from common.cli.api import route, rows
from common.cli.output import Context, table
from common.domain.codes import STATES

base_option = click.option("--base", required=True, metavar="B", help="The base.")


@click.command()
def bases(context: Context) -> None:
    """List the bases with their documents and passages."""
    with context.api() as api:
        body = api.call("GET", route("bases")).checked().body
    columns = ("base", "documents", "passages", "epoch", "fingerprint")
    context.options.emit(dict(body), table(body["bases"], columns) if body["bases"] else ["No base yet."])


@click.command()
@base_option
def documents(context: Context, base: str) -> None:
    """List the documents of a base, those that do not answer too, with the reason."""
    with context.api() as api:
        found = rows(api, lambda cursor: route("bases", base, "documents", cursor=cursor, limit=1000), "documents")
    columns = ("source", "state", "passages", "tokens_in_source", "tokens_embedded", "reason")
    context.options.emit({"documents": found}, table(found, columns) if found else ["No documents."])


@click.command()
@base_option
@click.option("--state", type=click.Choice(STATES), help="Only jobs in this state.")
def jobs(context: Context, base: str, state: str | None) -> None:
    """List the jobs of a base, newest first."""
    with context.api() as api:
        found = rows(api, lambda cursor: route("bases", base, "jobs", state=state, cursor=cursor, limit=1000), "jobs")
    columns = ("updated_at", "kind", "source", "state", "attempts", "new_passages", "reason")
    context.options.emit({"jobs": found}, table(found, columns) if found else ["No jobs."])


@click.command()
@click.argument("source")
@base_option
def links(context: Context, source: str, base: str) -> None:
    """Show what a document refers to, and what refers to it."""
    with context.api() as api:
        body = dict(api.call("GET", route("bases", base, "documents", source, "links")).checked().body)
    parts = ("links", "backlinks", "unresolved", "attachments")
    context.options.emit(body, [f"{part}: {', '.join(body[part]) or '-'}" for part in parts])


COMMANDS = (bases, documents, jobs, links)
