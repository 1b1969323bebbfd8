"""JSON and notebooks as documents: leaves with the path that names them, numbers as written; nesting is bounded."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from common.adapters.parsers.build import TextBuilder, one_line
from common.adapters.parsers.decoding import decode_text
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.refusals import limit
from common.adapters.parsers.xml_text import grouped
from common.domain.documents import Parsed

_HEADING = re.compile(r"(#{1,6})\s+(.+)")
_PATH = 4  # names of the path that a line shows


def parse_json(data: bytes, name: str, limits: Limits, as_text: Callable[[bytes, str], Parsed]) -> Parsed:
    """One document: `path: value` per leaf, a block per member of the top level; what is no whole JSON is read as text.

    Raises DocumentError BAD_ENCODING, PARSER_LIMIT.
    """
    text = decode_text(data)
    if not text.strip():
        return Parsed(())
    try:
        value = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except RecursionError as error:
        raise _too_deep(limits) from error
    except ValueError:
        return as_text(data, name)
    builder = TextBuilder("JSON document", characters=limits.characters)
    if isinstance(value, dict) and isinstance(value.get("cells"), list) and "nbformat" in value:
        _add_notebook(builder, value["cells"])
        kind = "notebook"
    else:
        kind = "json"
        for group in grouped(_leaves(value, limits)):
            builder.add("\n".join(group), "record")
    if builder.empty:
        return Parsed((), tuple(builder.warnings))
    return Parsed((builder.document(name, kind),))


def _too_deep(limits: Limits) -> Exception:
    return limit("JSON document", f"it is nested deeper than {limits.nesting} levels")


def _leaves(value: Any, limits: Limits) -> Iterator[tuple[int, str]]:  # noqa: ANN401 - any JSON value
    """Scalars in order, each with its path and the number of the top level's member it is in."""
    stack: list[tuple[Any, tuple[str, ...], int]] = [(value, (), 0)]
    record = 0
    while stack:
        node, path, depth = stack.pop()
        record += depth == 1
        if depth > limits.nesting:
            raise _too_deep(limits)
        if isinstance(node, dict):
            stack.extend((node[key], (*path, str(key)), depth + 1) for key in reversed(node))
        elif isinstance(node, list):
            if depth and node and all(isinstance(part, str) for part in node):
                yield record, _line(path, ", ".join(map(one_line, node)))
            else:
                stack.extend((part, path, depth + 1) for part in reversed(node))
        elif node is not None and one_line(_shown(node)):
            yield record, _line(path, one_line(_shown(node)))


def _shown(node: Any) -> str:  # noqa: ANN401
    return str(node).lower() if isinstance(node, bool) else str(node)


def _line(path: tuple[str, ...], text: str) -> str:
    return f"{' > '.join(map(one_line, path[-_PATH:]))}: {text}" if path else text


def _add_notebook(builder: TextBuilder, cells: list[Any]) -> None:
    """Markdown cells as prose, code cells as listings; outputs stay out."""
    for cell in cells:
        source = cell.get("source", "") if isinstance(cell, dict) else ""
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if not text.strip():
            continue
        if cell.get("cell_type") == "markdown":
            for part in re.split(r"\n\s*\n|\n(?=#{1,6} )|(?<=\n)(?=#{1,6} )", text):
                heading = _HEADING.fullmatch(part.strip())
                if heading:
                    builder.heading(len(heading[1]), heading[2])
                else:
                    builder.add(part)
        else:
            builder.add(f"```\n{text.strip()}\n```", "code", whole=True)
