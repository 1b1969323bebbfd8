"""Commands that ask: search, and evaluate over a file of questions."""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from common.cli.api import Api, route
from common.cli.output import Context
from common.cli.read import base_option
from common.domain.metrics import auc, confusion_at, mrr_at, ndcg_at, recall_at

NO_MATCH_EXIT: Final = 3
_DEPTH: Final = 50
_MEASURING: Final = {"X-Keep-Question": "no"}
"""These are nobody's questions: the base is not to learn of gaps from them."""
_BASES: Final = "The base; several with weights."
F = TypeVar("F", bound=Callable[..., Any])


class _Threshold(click.ParamType[Any]):
    name = "auto|off|number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        if not isinstance(value, str):
            return value
        if value in {"auto", "off"}:
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is not auto, off or a number", param, ctx)


class _Weighted(click.ParamType[Any]):
    name = "B[:weight]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        if not isinstance(value, str):
            return value
        base, colon, weight = value.partition(":")
        if not colon:
            return {"base": base}
        try:
            return {"base": base, "weight": float(weight)}
        except ValueError:
            self.fail(f"{weight!r} is not a weight such as 1.5", param, ctx)


def question_options(command: F) -> F:
    """The question and how it is asked."""
    for option in reversed(
        (
            click.argument("question"),
            click.option("--base", "asked", required=True, multiple=True, type=_Weighted(), help=_BASES),
            click.option("--top-k", type=click.IntRange(1, 50), help="How many passages (default 5)."),
            click.option("--mode", type=click.Choice(["hybrid", "dense", "lexical"]), default="hybrid"),
            click.option("--threshold", type=_Threshold(), help="auto, off, or the least cosine of a passage."),
            click.option("--rerank", type=click.Choice(["off", "mmr", "llm"]), help="Reorder the best passages."),
        )
    ):
        command = option(command)
    return command


@click.command()
@question_options
def search(context: Context, question: str, asked: Sequence[dict[str, Any]], **given: Any) -> None:  # noqa: ANN401
    """Ask a base, or several; prints cited passages, or says that it does not know (exit code 3)."""
    answer = ask_bases(context, "search", question, asked, given)
    context.options.emit(answer, _shown(answer))
    end_of_answer(context, answer)


def ask_bases(
    context: Context, what: str, question: str, asked: Sequence[dict[str, Any]], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The answer of the route `what` of one base, or of the same over several; `given` are the options."""
    body = {"query": question, **{name: value for name, value in given.items() if value is not None}}
    if body.get("threshold") == "off":
        body["threshold"] = None
    with context.api() as api:
        alone = len(asked) == 1 and "weight" not in asked[0]
        path = route("bases", asked[0]["base"], what) if alone else route(what)
        return dict(api.call("POST", path, body=body if alone else {**body, "bases": list(asked)}).checked().body)


def end_of_answer(context: Context, answer: Mapping[str, Any]) -> None:
    """What stands beside an answer, and the exit code of one that is none."""
    for warning in answer["warnings"]:
        context.options.notice(warning)
    if not answer["match"]:
        raise click.exceptions.Exit(NO_MATCH_EXIT)


@dataclass(slots=True)
class _Scores:
    """What the questions asked so far came to; a gate value of minus infinity stands for nothing found."""

    ranks: list[int | None] = field(default_factory=list)
    answerable: list[float] = field(default_factory=list)
    unanswerable: list[float] = field(default_factory=list)
    cut: float = 0.0

    def body(self) -> dict[str, Any]:
        """The figures under their contract names."""
        gate = confusion_at(self.answerable, self.unanswerable, self.cut)
        return {
            "n": len(self.answerable) + len(self.unanswerable),
            "recall_at_1": recall_at(self.ranks, 1),
            "recall_at_5": recall_at(self.ranks, 5),
            "mrr_at_10": mrr_at(self.ranks),
            "ndcg_at_10": ndcg_at(self.ranks),
            "gate": {
                "auc": auc(self.answerable, self.unanswerable),
                "f1": gate.f1,
                "precision": gate.precision,
                "recall": gate.recall,
                "cut": self.cut,
            },
        }


@click.command()
@click.argument("questions", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@base_option
@click.option("--keep", is_flag=True, help="Store the questions in the base, for comparing models later.")
def evaluate(context: Context, questions: Path, base: str, keep: bool) -> None:  # noqa: FBT001 - click's flag
    """Measure ranking and gate over QUESTIONS: [{"question": ..., "source": ... or null}]."""
    asked = _read_questions(questions)
    scores = _Scores()
    hidden = context.options.json or context.options.quiet
    with (
        context.api() as api,
        click.progressbar(asked, label="Asking", hidden=hidden, file=sys.stderr) as bar,
    ):
        if keep:
            stored = [{"question": question, "source": source} for question, source in asked]
            api.call("PUT", route("bases", base, "questions"), body=stored).checked()
        for question, source in bar:
            _ask(api, base, question, source, scores)
    body = scores.body()
    gate = body["gate"]
    lines = [f"{name}: {value:.4f}" for name, value in body.items() if isinstance(value, float)]
    lines.append("gate: " + ", ".join(f"{name} {value:.4f}" for name, value in gate.items()))
    context.options.emit(body, [f"questions: {body['n']}", *lines])


def _ask(api: Api, base: str, question: str, source: str | None, scores: _Scores) -> None:
    path = route("bases", base, "search")
    if source is not None:
        body = {"query": question, "top_k": _DEPTH, "threshold": None}
        ranked = api.call("POST", path, body=body, headers=_MEASURING).checked().body["passages"]
        sources = list(dict.fromkeys(passage["source"] for passage in ranked))
        scores.ranks.append(sources.index(source) + 1 if source in sources else None)
    body = {"query": question, "threshold": "auto"}
    gate = api.call("POST", path, body=body, headers=_MEASURING).checked().body["gate"]
    value = -math.inf if gate["value"] is None else gate["value"]
    (scores.unanswerable if source is None else scores.answerable).append(value)
    scores.cut = gate["threshold"]


def _read_questions(path: Path) -> list[tuple[str, str | None]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
        return [(str(row["question"]), row["source"]) for row in data]
    except (ValueError, TypeError, KeyError) as error:
        raise click.ClickException(f'{path} is not a list of {{"question": ..., "source": ...}}: {error}.') from error


def _shown(answer: dict[str, Any]) -> list[str]:
    gate = answer["gate"]
    if not answer["match"]:
        nearest = f" Nearest: {gate['nearest']}." if gate.get("nearest") else ""
        return [f"{answer['sentinel']}. {gate['reason']}{nearest}"]
    lines = []
    for number, passage in enumerate(answer["passages"], start=1):
        heading = " > ".join(passage["headings"])
        stale = "  (an older version; the newest could not be indexed)" if passage.get("stale") else ""
        where = f"[{passage['base']}] " if answer.get("bases") else ""
        lines += [
            f"{number}. {where}{passage['citation']}  score {passage['score']:.3f}{stale}",
            *([f"   {heading}"] if heading else []),
            *(f"   {line}" for line in passage["text"].strip().splitlines()),
            "",
        ]
    return [*lines, gate["reason"]]


COMMANDS = (search, evaluate)
