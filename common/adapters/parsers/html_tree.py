"""Finds the content of an HTML page in its tree: what is boilerplate, what is a table of data, what a cell says."""

from collections.abc import Iterator
from typing import Final

from selectolax.lexbor import LexborNode

from common.adapters.parsers.build import one_line

_DROPPED_TAGS = """
    script style template noscript iframe object embed svg canvas audio video map head nav dialog datalist button link
    meta base -comment !doctype -doctype
    """
DROPPED: Final = frozenset(_DROPPED_TAGS.split())
_BLOCK_TAGS = """
    address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer form
    h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu ol p pre section summary table tbody td tfoot th thead
    tr ul search
    """
BLOCKS: Final = frozenset(_BLOCK_TAGS.split())
HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BOILERPLATE_ROLES: Final = frozenset({"navigation", "search", "menu", "menubar", "dialog", "alertdialog", "toolbar"})
_MAIN: Final = 'main, [role="main"]'
_MAIN_SHARE = 0.4
_MAX_SPAN = 200
_MENU_LINKS = 25
_MENU_SHARE = 0.9  # of the list's letters
_MENU_ENTRY = 30  # letters


def content_root(root: LexborNode) -> LexborNode:
    """The page's main part where it marks one that holds most of its text, else all of it."""
    mains = root.css(_MAIN) or root.css("article")
    if len(mains) != 1:
        return root
    whole = len(root.text(deep=True, strip=True) or "")
    return mains[0] if len(mains[0].text(deep=True, strip=True) or "") > _MAIN_SHARE * whole else root


def is_dropped(node: LexborNode) -> bool:
    """Script, style, menus and what the page hides from its reader."""
    tag = node.tag or ""
    if tag in DROPPED:
        return True
    if tag == "-text":
        return False
    attributes = node.attributes
    return bool(attributes) and (
        "hidden" in attributes
        or attributes.get("role") in _BOILERPLATE_ROLES
        or (attributes.get("aria-hidden") == "true" and tag not in {"a", "span", "svg"})
        or "display:none" in (attributes.get("style") or "").replace(" ", "").lower()
    )


def children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        yield child
        child = child.next


def attribute(node: LexborNode, name: str) -> str:
    return (node.attributes or {}).get(name) or ""


def is_data_table(table: LexborNode) -> bool:
    """False where a table only lays out the page: one column, headings or many blocks in its cells, or said so."""
    if attribute(table, "role") in {"presentation", "none"}:
        return False
    if table.css_first("th") is not None or table.css_first("caption") is not None:
        return table.css_first("h1, h2, main, article, form") is None
    if table.css_first("h1, h2, h3, main, article, form, pre") is not None:
        return False
    return any(len(cells) > 1 for cells in map(cell_nodes, row_nodes(table)))


def is_link_menu(node: LexborNode) -> bool:
    """A long list of short links and next to nothing else, as menus of pages or languages are."""
    links = node.css("a")
    if len(links) < _MENU_LINKS:
        return False
    linked = sum(len(one_line(link.text(deep=True))) for link in links)
    whole = len(one_line(node.text(deep=True, separator=" "))) - len(links)
    return linked >= _MENU_SHARE * whole and linked < _MENU_ENTRY * len(links)


def row_nodes(table: LexborNode) -> list[LexborNode]:
    """The table's own rows, not those of tables in its cells."""
    rows: list[LexborNode] = []
    for part in children(table):
        if part.tag == "tr":
            rows.append(part)
        elif part.tag in {"thead", "tbody", "tfoot"}:
            rows.extend(row for row in children(part) if row.tag == "tr")
    return rows


def cell_nodes(row: LexborNode) -> list[LexborNode]:
    return [cell for cell in children(row) if cell.tag in {"td", "th"}]


def table_grid(table: LexborNode) -> list[list[str]]:
    """The cells by row and column; one that spans several stands in the first and leaves the others empty."""
    grid: list[list[str]] = []
    taken: dict[int, int] = {}
    for row in row_nodes(table):
        line: list[str] = []
        for cell in cell_nodes(row):
            while taken.get(len(line), 0) > 0:
                taken[len(line)] -= 1
                line.append("")
            down, across = _span(cell, "rowspan"), _span(cell, "colspan")
            for offset in range(across):
                if down > 1:
                    taken[len(line)] = down - 1
                line.append("" if offset else cell_text(cell))
        while taken.get(len(line), 0) > 0:
            taken[len(line)] -= 1
            line.append("")
        grid.append(line)
    return grid


def _span(cell: LexborNode, name: str) -> int:
    value = attribute(cell, name).strip()
    return min(max(int(value), 1), _MAX_SPAN) if value.isascii() and value.isdigit() else 1


def cell_text(cell: LexborNode) -> str:
    """All a cell says on one line: blocks apart by "; ", cells of a table inside it by ", "."""
    parts: list[str] = []
    stack: list[LexborNode | str] = [cell]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        if node.tag == "-text":
            parts.append(node.text_content or "")
        elif node.tag in {"br", "hr"}:
            parts.append("\n")
        elif node.tag == "img":
            parts.append(f" {attribute(node, 'alt')} ")
        elif node.tag == "input":
            parts.append(field_text(node))
        elif node is cell or not is_dropped(node):
            if node is not cell and node.tag in BLOCKS:
                mark = "\t" if node.tag in {"td", "th"} else "\n"
                stack.append(mark)
                parts.append(mark)
            stack.extend(reversed(list(children(node))))
    lines = ("".join(parts)).replace("\r", "\n").split("\n")
    shown = (", ".join(filter(None, map(one_line, line.split("\t")))) for line in lines)
    return "; ".join(filter(None, shown))


def field_text(node: LexborNode) -> str:
    """What a form field shows: its value, or whether it is ticked."""
    kind = attribute(node, "type").lower()
    if attribute(node, "role") or kind in {"hidden", "submit", "button", "reset", "image", "file", "password"}:
        return ""
    if kind in {"checkbox", "radio"}:
        return "[x] " if "checked" in (node.attributes or {}) else "[ ] "
    return f" {attribute(node, 'value')} "
