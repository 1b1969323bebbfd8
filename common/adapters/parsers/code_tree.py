"""Source code by its syntax tree: one unit per symbol, from tree-sitter grammars that are imported when first needed.
Hostile input costs bounded time and memory, and then is not read by its tree at all.
"""

import importlib
import re
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from common.adapters.parsers.code_blocks import BIG_STATEMENT, SMALL, Unit, cover, line_start, signature
from common.adapters.parsers.code_languages import Grammar
from common.adapters.parsers.code_names import node_text, owner_name, symbol_name

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
_DEEPEST: Final = 12
_STEP: Final = 1 << 12
_CONTINUATION: Final = bytes(range(0x80, 0xC0))
_SHORT_HEAD: Final = 200
_PEAK_UNIT: Final = 1 if sys.platform == "darwin" else 1024
_FUNCTIONS: Final = frozenset({"arrow_function", "function_expression", "generator_function", "class"})
_BODIES: Final = ("body", "declaration_list", "block", "members")


def tree_units(text: str, grammar: Grammar) -> list[Unit] | None:
    """The units of a source, in order, covering all of it; None when its grammar is not installed, cannot make sense of
    it, or would take too much processor time or memory for it.
    """
    data = text.encode("utf-8", "surrogatepass")
    tree = None if len(data) > MAX_BYTES or _tangled(text) else _parse(data, grammar)
    if tree is None or not _understood(tree.root_node, len(data)):
        return None
    units = _Scanner(text, data, grammar).units(tree.root_node)
    return units if any(not unit.loose for unit in units) else None


def _tangled(text: str) -> bool:
    """Type arguments nested so deep that a grammar's memory grows with the square of them, inside a single step."""
    if len(_ANGLE.findall(text)) <= _DEEPEST_ANGLES:
        return False
    depth = 0
    for token in _ANGLES.findall(text):
        depth = 0 if token in ";{}" else max(depth + (1 if token[0] == "<" else -1), 0)
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


class _Characters:
    """Byte offsets of a UTF-8 text as character offsets."""

    def __init__(self, text: str, data: bytes) -> None:
        self._data = data
        self._plain = len(text) == len(data)
        self._counts = [0]
        for start in range(0, 0 if self._plain else len(data), _STEP):
            self._counts.append(self._counts[-1] + _count(data[start : start + _STEP]))

    def __call__(self, offset: int) -> int:
        if self._plain:
            return offset
        step = offset // _STEP
        return self._counts[step] + _count(self._data[step * _STEP : offset])


def _count(data: bytes) -> int:
    return len(data.translate(None, _CONTINUATION))


@dataclass(frozen=True, slots=True)
class _Region:
    """A class or scope to open: its definition, the titles above its members, and what their names begin with."""

    node: "Node"
    headings: tuple[str, ...]
    owner: str
    scope: bool


@dataclass(slots=True)
class _Run:
    """Where the walk along siblings stands, in bytes and rows: comments waiting for their symbol, the row on which the
    last sibling ended.
    """

    start: int = -1
    row: int = -2
    ended: int = -1

    def comment(self, node: "Node") -> bool:
        """Takes in a comment; False when it trails what stands before it on the same line."""
        row, end = node.start_point.row, _last_row(node)
        if row == self.ended and self.start < 0:
            return False
        if self.start < 0 or row > self.row + 1:
            self.start = node.start_byte
        self.row = end
        self.ended = -1
        return True

    def begin(self, node: "Node") -> int:
        """Where the unit of this node starts."""
        near = self.start >= 0 and node.start_point.row <= self.row + 1
        return self.start if near else node.start_byte

    def passed(self, node: "Node") -> None:
        self.start = -1
        self.ended = _last_row(node)


@dataclass(slots=True)
class _Scanner:
    text: str
    data: bytes
    grammar: Grammar
    regions: list[_Region] = field(default_factory=list)

    def units(self, root: "Node") -> list[Unit]:
        at = _Characters(self.text, self.data)
        found: list[Unit] = []
        waiting = [(0, len(self.text), _Region(root, (), "", scope=True))]
        while waiting:
            start, end, region = waiting.pop()
            symbols = self._symbols(region, at)
            if region.node.parent is not None:
                start, symbols = self._with_head(start, end, region, symbols)
            for unit in cover(self.text, start, end, symbols, region.headings):
                if unit.opens:
                    waiting.append((unit.start, unit.end, self.regions[unit.opens - 1]))
                else:
                    found.append(unit)
        return sorted(found, key=lambda unit: unit.start)

    def _with_head(self, start: int, end: int, region: _Region, symbols: list[Unit]) -> tuple[int, list[Unit]]:
        """The opening lines of a class are a unit of its title; a scope's go with its first member."""
        if not symbols:
            return start, [] if region.scope else [Unit(start, end, region.headings)]
        first = symbols[0]
        if region.scope:
            short = first.start - start <= _SHORT_HEAD
            return start, [*([_widened(first, start)] if short else [first]), *symbols[1:]]
        return start, [Unit(start, first.start, region.headings), *symbols]

    def _symbols(self, region: _Region, at: _Characters) -> list[Unit]:
        units: list[tuple[int, int, tuple[str, ...], int]] = []
        run = _Run()
        for child in _members(region.node):
            kind = child.type
            if kind in self.grammar.attached:
                if not run.comment(child) and units and self._is_blank(units[-1][1], child.start_byte):
                    units[-1] = (units[-1][0], child.end_byte, *units[-1][2:])
                continue
            if kind in {";", ","} and units and units[-1][1] == child.start_byte:
                units[-1] = (units[-1][0], child.end_byte, *units[-1][2:])
                continue
            described = self._describe(child, region) if child.is_named else None
            if described:
                units.append((run.begin(child), child.end_byte, *described))
            run.passed(child)
        return [
            Unit(line_start(self.text, 0, at(start)), at(end), headings, opens=opens)
            for start, end, headings, opens in units
        ]

    def _is_blank(self, start: int, end: int) -> bool:
        return end - start <= _SHORT_HEAD and not self.data[start:end].strip()

    def _describe(self, node: "Node", region: _Region) -> tuple[tuple[str, ...], int] | None:
        """The titles of a node that is a unit, and the number of the region it opens (0: none)."""
        grammar = self.grammar
        inner = _unwrapped(node, grammar.wrappers)
        kind = inner.type
        if kind in grammar.scopes and _body(inner) is not None:
            name = "" if kind.startswith("preproc") else symbol_name(inner, self.data)
            return self._open(
                inner, region, (*region.headings, name) if name else region.headings, region.owner, scope=True
            )
        if kind not in grammar.symbols and kind not in grammar.classes and not self._is_statement(inner, node):
            return None
        name = symbol_name(inner, self.data)
        title = f"{region.owner}{name}" if name else signature(node_text(node, self.data))
        headings = (*region.headings, title) if title else region.headings
        if kind in grammar.classes and node.end_byte - node.start_byte > SMALL and len(headings) < _DEEPEST:
            owner = owner_name(inner, self.data, f"{region.owner}{name}")
            return self._open(inner, region, headings, f"{owner}{grammar.joint}" if name else "", scope=False)
        return headings, 0

    def _open(
        self, node: "Node", region: _Region, headings: tuple[str, ...], owner: str, *, scope: bool
    ) -> tuple[tuple[str, ...], int] | None:
        if len(headings) >= _DEEPEST or len(self.regions) > len(self.data) // 2:
            return region.headings, 0
        self.regions.append(_Region(node, headings, owner, scope))
        return headings, len(self.regions)

    def _is_statement(self, inner: "Node", node: "Node") -> bool:
        """A statement that deserves a unit: it holds a function, or it is long."""
        if inner.type in self.grammar.plain or inner.is_error:
            return False
        if not inner.named_child_count:
            return False
        first = inner.named_children[0]
        if inner.type == "expression_statement" and first.type == "string":
            return False
        if node.end_point.row - node.start_point.row + 1 >= BIG_STATEMENT:
            return True
        values = (part.child_by_field_name(name) for part in (inner, first) for name in ("value", "right"))
        return any(value is not None and value.type in _FUNCTIONS for value in values)


def _last_row(node: "Node") -> int:
    """The row of the node's last character; some nodes take in their line end."""
    end = node.end_point
    return end.row - (end.column == 0 and end.row > 0)


def _widened(unit: Unit, start: int) -> Unit:
    return Unit(start, unit.end, unit.headings, unit.loose, unit.opens)


def _unwrapped(node: "Node", wrappers: frozenset[str]) -> "Node":
    for _ in range(_DEEPEST):
        if node.type not in wrappers:
            break
        inner = (
            node.child_by_field_name("definition")
            or node.child_by_field_name("declaration")
            or node.child_by_field_name("value")
            or (node.named_children[-1] if node.named_child_count else None)
        )
        if inner is None:
            break
        node = inner
    return node


def _body(node: "Node") -> "Node | None":
    body = node.child_by_field_name("body")
    if body is None and node.type.startswith(("preproc", "declaration_list", "body_statement")):
        return node
    return body or next((child for child in node.named_children if child.type.endswith(_BODIES)), None)


def _members(node: "Node") -> Sequence["Node"]:
    return (node if node.parent is None else _body(node) or node).children
