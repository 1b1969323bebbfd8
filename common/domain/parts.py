"""A question that is longer than a model reads, cut into parts that fit."""

from collections.abc import Callable, Sequence


def parts(text: str, room: int, token_ends: Callable[[str], Sequence[int]]) -> list[str]:
    """Pieces of at most `room` tokens that join to `text`, cut near their middle and between words if possible."""
    ends = token_ends(text)
    if len(ends) <= room or len(text) < 2:  # noqa: PLR2004 - a single character cannot be cut
        return [text]
    middle = ends[len(ends) // 2]
    cut = text.rfind(" ", 1, middle)
    if cut < 1:
        cut = middle if middle < len(text) else len(text) // 2
    return parts(text[:cut], room, token_ends) + parts(text[cut:], room, token_ends)
