"""The command that prints what a model is to read: the block of text, and nothing else."""

from collections.abc import Sequence
from typing import Any

import click

from common.cli.ask import ask_bases, end_of_answer, question_options
from common.cli.output import Context


@click.command(name="context")
@question_options
@click.option("--max-tokens", type=click.IntRange(min=1), help="How many tokens the text may take.")
@click.option("--max-characters", type=click.IntRange(min=1), help="How many characters the text may take.")
@click.option("--max-documents", type=click.IntRange(min=1), help="How many documents may stand in it.")
def context_command(context: Context, question: str, asked: Sequence[dict[str, Any]], **given: Any) -> None:  # noqa: ANN401
    """Print the block of text that a model needs to answer (exit code 3 when nothing answers)."""
    if len(asked) == 1 and given["max_tokens"] is None and given["max_characters"] is None:
        raise click.UsageError("Say --max-tokens or --max-characters: what the text may take.")
    answer = ask_bases(context, "context", question, asked, given)
    context.options.emit(answer, [answer["text"]] if answer["text"] else [])
    if not answer["match"]:
        context.options.notice(f"{answer['sentinel']}. {answer['gate']['reason']}")
    elif answer["truncated"]:
        context.options.notice("Not all that was found fits.")
    end_of_answer(context, answer)


COMMANDS = (context_command,)
