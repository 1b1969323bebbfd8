"""HTML through Lexbor (selectolax): headings, lists, tables and preformatted text; scripts and menus stay out."""

import re
from collections.abc import Callable
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from common.adapters.parsers.build import TextBuilder, one_line
from common.adapters.parsers.decoding import decode_text
from common.adapters.parsers.html_tree import (
    BLOCKS,
    HEADINGS,
    attribute,
    children,
    content_root,
    field_text,
    is_data_table,
    is_dropped,
    is_link_menu,
    table_grid,
)
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.refusals import limit
from common.domain.documents import Parsed

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,100}encoding\s*=\s*[\"']([\w.-]+)", re.IGNORECASE)
_INLINE_SPACE = re.compile(r"[ \t\r\n\f]+")
_LISTING = 4_000  # letters: longer preformatted text is a document of its own rather than a listing
GENERIC_TITLES: Final = frozenset({"untitled", "document", "home", "index", "untitled document"})


def parse_html(data: bytes, name: str, limits: Limits) -> Parsed:
    """One document. Raises DocumentError BAD_ENCODING, PARSER_LIMIT."""
    found = _CHARSET.search(data[:4096]) or _XML_ENCODING.match(data)
    text = decode_text(data, found[1].decode("ascii") if found else "")
    builder = TextBuilder("HTML page", characters=limits.characters)
    title = add_html(builder, text)
    if builder.empty:
        return Parsed((), tuple(builder.warnings))
    return Parsed((builder.document(name, "html", title=title),))


def add_html(builder: TextBuilder, text: str, *, page: int | None = None, level: int = 0) -> str:
    """Append an HTML page or fragment, its headings `level` deeper; answers the title that the page gives itself."""
    try:
        root = LexborHTMLParser(text).root
    except SelectolaxError as error:
        raise limit("HTML page", "its markup takes more memory than it may") from error
    if root is None:
        return ""
    title_node = root.css_first("head > title") or root.css_first("title")
    title = one_line(title_node.text(deep=True)) if title_node is not None else ""
    _Walk(builder, page, level).run(content_root(root))
    return "" if title.lower() in GENERIC_TITLES else title


class _Walk:
    """One pass over the tree without recursion: inline text gathers until a block begins or ends."""

    def __init__(self, builder: TextBuilder, page: int | None, level: int) -> None:
        self._builder = builder
        self._page = page
        self._level = level
        self._inline: list[str] = []
        self._lists: list[str] = []
        self._items: list[str] = []
        self._counters: list[int] = []
        self._term = ""
        self._bullet = ""
        self._quote = 0

    def run(self, root: LexborNode) -> None:
        stack: list[LexborNode | Callable[[], None]] = [root]
        while stack:
            node = stack.pop()
            if callable(node):
                node()
            elif node.tag == "-text":
                self._inline.append(_INLINE_SPACE.sub(" ", node.text_content or ""))
            elif node is root or not is_dropped(node):
                leave = self._enter(node)
                if leave is not None:
                    stack.append(leave)
                    stack.extend(reversed(list(children(node))))
        self._flush()
        self._end_list()

    def _enter(self, node: LexborNode) -> Callable[[], None] | None:
        """Begin a node; answers what ends it once its children were seen, None when it was taken whole."""
        tag = node.tag or ""
        if tag not in BLOCKS:
            return self._enter_inline(tag, node)
        self._flush()
        if tag in HEADINGS:
            self._end_list()
            return lambda: self._heading(int(tag[1]))
        if tag == "pre":
            self._end_list()
            self._pre(node)
            return None
        if tag == "table" and is_data_table(node):
            self._end_list()
            self._table(node)
            return None
        if tag in {"ul", "menu"} and is_link_menu(node):
            self._builder.warn("Menus of links were left out.")
            return None
        return self._enter_block(tag, node)

    def _enter_inline(self, tag: str, node: LexborNode) -> Callable[[], None] | None:
        if tag == "br":
            self._inline.append("\n")
        elif tag == "img":
            self._inline.append(f" {attribute(node, 'alt')} ")
        elif tag == "input":
            self._inline.append(field_text(node))
        elif tag == "option" and "selected" not in (node.attributes or {}):
            return None
        elif tag == "a":
            target = attribute(node, "href").strip()
            if target and not target.startswith(("#", "javascript:", "data:")):
                self._builder.link(target, node.text(deep=True))
        return _nothing

    def _enter_block(self, tag: str, node: LexborNode) -> Callable[[], None]:
        if tag in {"ul", "ol", "menu"}:
            self._lists.append(tag)
            start = attribute(node, "start").strip()
            self._counters.append(int(start) - 1 if start.lstrip("-").isascii() and start.lstrip("-").isdigit() else 0)
            return self._leave_list
        if tag == "li":
            if self._counters:
                self._counters[-1] += 1
            numbered = bool(self._lists) and self._lists[-1] == "ol"
            indent = "  " * (max(len(self._lists), 1) - 1)
            self._bullet = f"{indent}{self._counters[-1]}. " if numbered else f"{indent}- "
            return self._flush
        if not self._lists:
            self._end_list()
        if tag == "dt":
            return self._keep_term
        if tag == "blockquote":
            self._quote += 1
            return self._leave_quote
        return self._flush

    def _leave_list(self) -> None:
        self._flush()
        self._lists.pop()
        self._counters.pop()
        if not self._lists:
            self._end_list()

    def _leave_quote(self) -> None:
        self._flush()
        self._quote -= 1

    def _keep_term(self) -> None:
        term = self._taken()
        self._term = f"{self._term}, {term}" if self._term and term else term or self._term

    def _heading(self, level: int) -> None:
        self._flush_term()
        self._builder.heading(level + self._level, self._taken(), page=self._page)

    def _pre(self, node: LexborNode) -> None:
        text = _pre_text(node).strip("\n")
        kind = "code" if node.css_first("code") is not None or "\n" in text else "paragraph"
        if kind == "code" and len(text) < _LISTING:
            self._builder.add(f"```\n{text}\n```", "code", page=self._page, whole=True)
            return
        # A whole text set as preformatted is prose: its paragraphs are blocks of their own.
        for part in re.split(r"\n\s*\n", text):
            self._builder.add(part, page=self._page)

    def _table(self, node: LexborNode) -> None:
        caption = node.css_first("caption")
        if caption is not None:
            self._builder.add(one_line(caption.text(deep=True)), page=self._page)
        for anchor in node.css("a[href]"):
            self._enter_inline("a", anchor)
        self._builder.table(table_grid(node), page=self._page)

    def _taken(self) -> str:
        lines = "".join(self._inline).split("\n")
        self._inline.clear()
        return "\n".join(filter(None, (one_line(line) for line in lines)))

    def _flush(self) -> None:
        text = self._taken()
        if not text:
            return
        if self._term:
            text, self._term = f"{self._term}: {text}", ""
        if self._lists:
            bullet = self._bullet or "  " * len(self._lists)
            self._bullet = ""
            self._items.append(bullet + text.replace("\n", "\n" + " " * len(bullet)))
            return
        quoted = "> " + text.replace("\n", "\n> ") if self._quote else text
        self._builder.add(quoted, page=self._page)

    def _flush_term(self) -> None:
        if self._term:
            self._builder.add(self._term, page=self._page)
            self._term = ""

    def _end_list(self) -> None:
        if self._items:
            self._builder.add("\n".join(self._items), "list", page=self._page)
            self._items = []


def _nothing() -> None:
    return None


def _pre_text(node: LexborNode) -> str:
    parts: list[str] = []
    stack = [node]
    while stack:
        current = stack.pop()
        if current.tag == "-text":
            parts.append(current.text_content or "")
        elif current.tag == "br":
            parts.append("\n")
        elif current is node or current.tag not in {"script", "style"}:
            stack.extend(reversed(list(children(current))))
    return "".join(parts)
