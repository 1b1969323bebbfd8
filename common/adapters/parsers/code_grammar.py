"""Source text to its syntax tree, by grammars that are imported when first needed. Hostile input costs bounded time and
memory, and then has no tree.
"""

import importlib
import re
import resource
import sys
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from common.adapters.parsers.code_languages import Grammar

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree

MAX_BYTES: Final = 2 << 20
"""Larger sources are written by programs, for programs."""
_SECONDS: Final = 1.0
_BYTES_PER_SECOND: Final = 500_000
"""A tenth of what a grammar reads of real sources; hostile ones are a thousand times slower."""
_GROWTH: Final = 128 << 20
_EVERY: Final = 4
_CHUNK: Final = 1 << 16
_ANGLE: Final = re.compile(r"<\w")
_ANGLES: Final = re.compile(r"<\w|[>;{}]")
_DEEPEST_ANGLES: Final = 200
_ERROR_SHARE: Final = 0.2
_PEAK_UNIT: Final = 1 if sys.platform == "darwin" else 1024


def parse_tree(text: str, data: bytes, grammar: Grammar) -> "Tree | None":
    """The tree of `data`, the text in UTF-8; None when its grammar is not installed, cannot make sense of it, or would
    take too much processor time or memory for it.
    """
    if len(data) > MAX_BYTES or _tangled(text):
        return None
    tree = _parse(data, grammar)
    return tree if tree is not None and _understood(tree.root_node, len(data)) else None


def _tangled(text: str) -> bool:
    """Type arguments nested so deep that a grammar's memory grows with the square of them, inside a single step."""
    if len(_ANGLE.findall(text)) <= _DEEPEST_ANGLES:
        return False
    depth = 0
    for sign in _ANGLES.findall(text):
        depth = 0 if sign in ";{}" else max(depth + (1 if sign[0] == "<" else -1), 0)
        if depth > _DEEPEST_ANGLES:
            return True
    return False


def _parse(data: bytes, grammar: Grammar) -> "Tree | None":
    language = _language(grammar.module, grammar.function)
    if language is None:
        return None
    from tree_sitter import Parser  # noqa: PLC0415 - loaded with the first source file only

    try:
        return Parser(language).parse(
            lambda offset, _: data[offset : offset + _CHUNK], progress_callback=_Budget(len(data)).exceeded
        )
    except ValueError:  # cancelled
        return None


class _Budget:
    """What one parse may take of processor time and memory, looked at in every fourth call."""

    def __init__(self, size: int) -> None:
        self._deadline = time.thread_time() + _SECONDS + size / _BYTES_PER_SECOND
        self._allowed = _peak() + _GROWTH
        self._calls = 0

    def exceeded(self, _offset: int, _has_error: object) -> bool:
        self._calls += 1
        return self._calls % _EVERY == 0 and (time.thread_time() > self._deadline or _peak() > self._allowed)


@lru_cache(maxsize=32)
def _language(module: str, function: str) -> "Language | None":
    try:
        from tree_sitter import Language  # noqa: PLC0415 - loaded with the first source file only

        return Language(getattr(importlib.import_module(module), function)())
    except ImportError:
        return None


def _peak() -> int:
    """The most memory this process ever held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT


def _understood(root: "Node", size: int) -> bool:
    if root.type == "ERROR":
        return False
    if not root.has_error:
        return True
    wrong = sum(child.end_byte - child.start_byte for child in root.children if child.is_error)
    return wrong <= _ERROR_SHARE * size
