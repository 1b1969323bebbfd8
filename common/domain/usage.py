"""What a base's models were given to do, counted, and what that costs at given prices. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

Kind = Literal["ingest", "questions", "upkeep", "rerank"]
"""Embedding passages; embedding questions; embedding what fits a gate or checks a model; reranking."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_MILLION: Final = 1_000_000
_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Count:
    """Calls of a model, the tokens it read, and those it wrote."""

    calls: int = 0
    tokens: int = 0
    written: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.calls + other.calls, self.tokens + other.tokens, self.written + other.written)


Usage = Mapping[Kind, Count]
Spend = Callable[[str, Kind, Count], None]
"""Counts something spent on a base. Never raises and never waits."""


def uncounted(_base: str, _kind: Kind, _spent: Count) -> None:
    """Where nobody counts."""


def added(counts: Usage, more: Usage) -> dict[Kind, Count]:
    """Both together."""
    return {kind: counts.get(kind, Count()) + more.get(kind, Count()) for kind in {**counts, **more}}


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars for a million tokens. A model on one's own machine costs none."""

    embedding: float = 0.0
    rerank_input: float = 0.0
    rerank_output: float = 0.0

    def cost(self, kind: Kind, spent: Count) -> float:
        """Dollars, to the billionth."""
        if kind == "rerank":
            dollars = spent.tokens * self.rerank_input + spent.written * self.rerank_output
        else:
            dollars = spent.tokens * self.embedding
        return round(dollars / _MILLION, _DIGITS)


FREE: Final = Prices()


def usage_view(base: str, usage: Usage, prices: Prices) -> dict[str, Any]:
    """A base's usage as JSON-ready data: embeddings by what they were for, and reranking beside them."""
    counts = {kind: usage.get(kind, Count()) for kind in KINDS}
    costs = {kind: prices.cost(kind, count) for kind, count in counts.items()}
    rerank = counts["rerank"]
    return {
        "base": base,
        "embeddings": {
            kind: {"calls": count.calls, "tokens": count.tokens, "cost": costs[kind]}
            for kind, count in counts.items()
            if kind != "rerank"
        },
        "rerank": {
            "calls": rerank.calls,
            "input_tokens": rerank.tokens,
            "output_tokens": rerank.written,
            "cost": costs["rerank"],
        },
        "cost": round(sum(costs.values()), _DIGITS),
        "currency": "USD",
        "prices_per_million_tokens": {
            "embedding": prices.embedding,
            "rerank_input": prices.rerank_input,
            "rerank_output": prices.rerank_output,
        },
    }


def usage_line(name: str, calls: int, tokens: int, cost: float) -> str:
    """One line for people: calls, tokens as an estimate, dollars."""
    return f"{name}: {calls:,} calls · ~{tokens:,} tokens · {dollars(cost)}"


def dollars(cost: float) -> str:
    """Cents, and as many digits more as a small sum needs to be seen."""
    if not cost:
        return "$0"
    digits = next((digits for digits in (2, 4, 6) if cost >= 10**-digits), _DIGITS)
    return f"${cost:,.{digits}f}"
