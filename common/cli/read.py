"""Commands that show what there is: bases, documents, jobs; a base's card and contents, a document's text and links."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import click

from common.cli.api import Api, Reply, route, rows
from common.cli.output import Context, table
from common.domain.codes import STATES
from common.domain.contents import entry_line

_TRIES: Final = 3
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
@base_option
@click.option("--max-tokens", type=click.IntRange(1, 100_000), help="At most so many tokens (default 900).")
def card(context: Context, base: str, max_tokens: int | None) -> None:
    """Show what a base holds, as a model reads it before it asks."""
    with context.api() as api:
        text = api.call("GET", route("bases", base, "card", max_tokens=max_tokens)).checked().text
    context.options.emit({"base": base, "text": text}, text.splitlines())


@click.command()
@base_option
@click.option("--prefix", help="Only documents whose source starts with it.")
def toc(context: Context, base: str, prefix: str | None) -> None:
    """List the documents that answer, by source."""
    with context.api() as api:
        found = rows(
            api, lambda cursor: route("bases", base, "toc", prefix=prefix, cursor=cursor, limit=1000), "documents"
        )
    lines = [
        entry_line(row["source"], row["passages"], row["title"]) + ("  (an older version)" if row["stale"] else "")
        for row in found
    ]
    context.options.emit({"base": base, "documents": found}, lines or ["No documents."])


@click.command()
@click.argument("source")
@base_option
@click.option("--offset", type=click.IntRange(0), help="Only the page that begins there.")
def get(context: Context, source: str, base: str, offset: int | None) -> None:
    """Print a document's exact text; of a citation such as guide.md:10-24 the page that holds it."""
    with context.api() as api:
        page = _page(api, base, source, offset).checked().body
        if offset is None and page["position"] is None:
            page = _whole(api, base, page)
    if context.options.json:
        context.options.emit(dict(page))
    else:
        # As bytes, so that line ends stay as they are and none is added.
        click.echo(page["text"].encode(), nl=False)
    if page["stale"]:
        context.options.notice("This is an older version; the newest could not be indexed.")


def _page(api: Api, base: str, source: str, offset: int | None) -> Reply:
    return api.call("GET", route("bases", base, "documents", source, offset=offset))


def _whole(api: Api, base: str, first: Mapping[str, Any]) -> Mapping[str, Any]:
    """All pages of the document as one. What was replaced while it was read is read again."""
    for _ in range(_TRIES):
        pages = [first]
        while (offset := pages[-1]["next_offset"]) is not None:
            reply = _page(api, base, first["document_id"], offset)
            # The offset lies behind the end of what is shorter now.
            if reply.status == HTTPStatus.BAD_REQUEST or reply.checked().body["generation"] != first["generation"]:
                break
            pages.append(reply.body)
        else:
            return {**first, "text": "".join(page["text"] for page in pages), "next_offset": None}
        first = _page(api, base, first["document_id"], None).checked().body
    raise click.ClickException(f"{first['source']} changes faster than it can be read.")


@click.command()
@click.argument("source")
@base_option
def links(context: Context, source: str, base: str) -> None:
    """Show what a document refers to, and what refers to it."""
    with context.api() as api:
        body = dict(api.call("GET", route("bases", base, "documents", source, "links")).checked().body)
    parts = ("links", "backlinks", "unresolved", "attachments")
    context.options.emit(body, [f"{part}: {', '.join(body[part]) or '-'}" for part in parts])


COMMANDS = (bases, documents, jobs, card, toc, get, links)
