"""How much of a model's context a text takes, and what a block of text may take at most."""

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

_CHARACTERS_PER_TOKEN: Final = 4
UNBOUNDED: Final = 1e15
"""More than any text has, and still a number that can be halved and taken from."""


class TokenCounter(Protocol):
    """Counts tokens as one family of models does. `characters_per_token` is 0 unless nothing but the number of
    characters counts. Safe to share between threads.
    """

    @property
    def characters_per_token(self) -> int: ...

    def count(self, text: str) -> int:
        """Tokens of the text, names of special tokens read as ordinary text."""


def estimate_tokens(text: str) -> int:
    """A quarter of the characters, rounded up: near what models count in plain English, under it in other text."""
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class EstimatedTokens:
    """The counter where no tokenizer is at hand."""

    characters_per_token: int = _CHARACTERS_PER_TOKEN

    def count(self, text: str) -> int:
        return estimate_tokens(text)


class Size(NamedTuple):
    """Characters, and tokens where a tokenizer counts them; for a mere estimate characters are all there is."""

    characters: float = 0
    tokens: float = 0

    def plus(self, other: "Size") -> "Size":
        return Size(self.characters + other.characters, self.tokens + other.tokens)

    def minus(self, other: "Size") -> "Size":
        return Size(self.characters - other.characters, self.tokens - other.tokens)

    def times(self, factor: float) -> "Size":
        return Size(self.characters * factor, self.tokens * factor)

    def least(self, other: "Size") -> "Size":
        return Size(min(self.characters, other.characters), min(self.tokens, other.tokens))

    def holds(self, other: "Size") -> bool:
        return other.characters <= self.characters and other.tokens <= self.tokens


@dataclass(frozen=True, slots=True)
class Budget:
    """What a text may take at most."""

    limit: Size
    counter: TokenCounter

    @classmethod
    def of(cls, max_tokens: int | None, max_characters: int | None, counter: TokenCounter) -> "Budget":
        """Both bounds hold where both are given. An estimate of tokens is a bound on characters and nothing else."""
        characters = UNBOUNDED if max_characters is None else float(max_characters)
        tokens = UNBOUNDED if max_tokens is None else float(max_tokens)
        if counter.characters_per_token:
            return cls(Size(min(characters, tokens * counter.characters_per_token), UNBOUNDED), counter)
        return cls(Size(characters, tokens), counter)

    def size(self, text: str) -> Size:
        """What the text takes of this budget."""
        return Size(len(text), 0 if self.counter.characters_per_token else self.counter.count(text))

    def holds(self, text: str) -> bool:
        return len(text) <= self.limit.characters and self.limit.holds(self.size(text))

    def less(self, size: Size) -> "Budget":
        """What is left of it."""
        return Budget(self.limit.minus(size), self.counter)
