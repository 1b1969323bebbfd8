"""The command that shows what a base's models were given to do, and what that costs."""

import click

from common.cli.api import route
from common.cli.output import Context
from common.cli.read import base_option
from common.domain.usage import dollars, usage_line


@click.command()
@base_option
def usage(context: Context, base: str) -> None:
    """Show the embedding and reranking calls of a base, their tokens and their cost."""
    with context.api() as api:
        body = dict(api.call("GET", route("bases", base, "usage")).checked().body)
    lines = [
        f"{kind.capitalize()}  {usage_line('Embeddings', spent['calls'], spent['tokens'], spent['cost'])}"
        for kind, spent in body["embeddings"].items()
    ]
    rerank = body["rerank"]
    tokens = rerank["input_tokens"] + rerank["output_tokens"]
    lines.append(usage_line("Rerank", rerank["calls"], tokens, rerank["cost"]))
    context.options.emit(body, [*lines, f"Together {dollars(body['cost'])}"])


COMMANDS = (usage,)
