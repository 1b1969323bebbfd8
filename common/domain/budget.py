"""How much of a model's context a text takes, where no tokenizer is at hand."""

from typing import Final

_CHARACTERS_PER_TOKEN: Final = 4


def estimate_tokens(text: str) -> int:
    """A quarter of the characters, rounded up: near what models count in plain English, under it in other text."""
    return -(-len(text) // _CHARACTERS_PER_TOKEN)
