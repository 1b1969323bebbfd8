"""What a node of a syntax tree is called: the best name its grammar offers, `""` where it has none."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

_RECEIVER: Final = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*\)$")
_GENERICS: Final = re.compile(r"<.*$", re.DOTALL)
_DECLARATORS: Final = 16
_SPECS: Final = 3
_LONGEST: Final = 120
_FIXED: Final[Mapping[str, str]] = {
    "init_declaration": "init",
    "deinit_declaration": "deinit",
    "subscript_declaration": "subscript",
    "companion_object": "companion",
    "secondary_constructor": "constructor",
    "anonymous_initializer": "init",
    "indexer_declaration": "this[]",
}


def symbol_name(node: "Node", data: bytes) -> str:
    """The name of a definition or statement, on one line."""
    rule = _RULES.get(node.type)
    name = rule(node, data) if rule else ""
    name = name or _field(node, "name", data) or _field(node, "property", data) or _FIXED.get(node.type, "")
    return " ".join(name.strip("\"'`").split())[:_LONGEST]


def owner_name(node: "Node", data: bytes, name: str) -> str:
    """What members of a class put before their own names."""
    return _implemented(node, data) if node.type == "impl_item" else name


def node_text(node: "Node", data: bytes) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "ignore")


def _field(node: "Node", field: str, data: bytes) -> str:
    child = node.child_by_field_name(field)
    return node_text(child, data) if child else ""


def _method(node: "Node", data: bytes) -> str:
    """Go puts the type of a method's receiver in front of its name."""
    receiver = _RECEIVER.search(_field(node, "receiver", data))
    name = _field(node, "name", data)
    return f"{receiver[1]}.{name}" if receiver else name


def _implemented(node: "Node", data: bytes) -> str:
    return _GENERICS.sub("", _field(node, "type", data))


def _implementation(node: "Node", data: bytes) -> str:
    trait = _field(node, "trait", data)
    return f"impl {trait} for {_implemented(node, data)}" if trait else f"impl {_implemented(node, data)}"


def _declared(node: "Node", data: bytes) -> str:
    """C hides the name inside pointers, references, arrays and parameter lists."""
    inner = node.child_by_field_name("declarator")
    for _ in range(_DECLARATORS):
        if inner is None:
            return ""
        deeper = inner.child_by_field_name("declarator") or inner.child_by_field_name("name")
        if inner.type == "reference_declarator" and inner.named_child_count:
            deeper = inner.named_children[0]
        if deeper is None or inner.type == "qualified_identifier":
            return node_text(inner, data)
        inner = deeper
    return ""


def _specified(node: "Node", data: bytes) -> str:
    """A grouped declaration is called by the first names in it."""
    names = [_field(child, "name", data) for child in node.named_children[: 4 * _SPECS]]
    return ", ".join([name for name in names if name][:_SPECS])


def _assigned(node: "Node", data: bytes) -> str:
    inner = node.named_children[0] if node.type == "expression_statement" and node.named_child_count else node
    return _field(inner, "left", data)


def _aliased(node: "Node", data: bytes) -> str:
    return _field(node, "type", data)


_RULES: Final[Mapping[str, Callable[["Node", bytes], str]]] = {
    "assignment": _assigned,
    "const_declaration": _specified,
    "declaration": _declared,
    "expression_statement": _assigned,
    "field_declaration": _declared,
    "function_definition": _declared,
    "impl_item": _implementation,
    "lexical_declaration": _specified,
    "method_declaration": _method,
    "property_declaration": _specified,
    "type_alias": _aliased,
    "type_declaration": _specified,
    "type_definition": _declared,
    "val_definition": _specified,
    "var_declaration": _specified,
    "variable_declaration": _specified,
}
