"""Source code by its syntax tree: one unit per symbol, with its comments and decorators."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from common.adapters.parsers.code_blocks import BIG_STATEMENT, SMALL, Unit, cover, line_start, signature
from common.adapters.parsers.code_grammar import parse_tree
from common.adapters.parsers.code_languages import Grammar
from common.adapters.parsers.code_names import node_text, owner_name, symbol_name

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST: Final = 12
_STEP: Final = 1 << 12
_CONTINUATION: Final = bytes(range(0x80, 0xC0))
_SHORT_HEAD: Final = 200
_FUNCTIONS: Final = frozenset({"arrow_function", "function_expression", "generator_function", "class"})
_BODIES: Final = ("body", "declaration_list", "block", "members")


def tree_units(text: str, grammar: Grammar) -> list[Unit] | None:
    """The units of a source, in order, covering all of it; None when it has no tree, or one without symbols."""
    data = text.encode("utf-8", "surrogatepass")
    tree = parse_tree(text, data, grammar)
    if tree is None:
        return None
    units = _Scanner(text, data, grammar).units(tree.root_node)
    return units if any(not unit.loose for unit in units) else None


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
