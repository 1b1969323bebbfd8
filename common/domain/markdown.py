"""The block structure of Markdown, line by line and in linear time, as CommonMark has it where it matters for passages:
headings, fences, lists, tables, quotes, HTML. What stands inside a block stays as it is written.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from common.domain.documents import Block, BlockKind
from common.domain.markdown_lines import (
    ATX,
    BLOCK_TAG,
    CLOSING,
    DELIMITERS,
    FENCE,
    HTML_END,
    MARKER,
    RAW_END,
    RAW_PAIRS,
    RAW_TAG,
    RULE,
    SETEXT,
    TAB,
    WHOLE_TAG,
    Line,
    cells,
    interrupts,
    level_line_ends,
    read_line,
)
from common.domain.splitting import is_blank
from common.domain.titles import plain_title

_LONGEST_SETEXT: Final = 300


@dataclass(frozen=True, slots=True)
class Structure:
    """A document's blocks in order, and the ranges that are code wherever they stand."""

    blocks: tuple[Block, ...]
    code: tuple[tuple[int, int], ...]

    @property
    def headings(self) -> tuple[str, ...]:
        """The titles of all headings in order."""
        return tuple(block.headings[-1] for block in self.blocks if block.kind == "heading")


def scan(text: str, start: int = 0) -> Structure:
    """The structure of `text` from `start` on (behind front matter). A heading's own title ends its `headings`."""
    scanner = _Scanner(level_line_ends(text), start)
    scanner.run()
    if not scanner.blocks and not is_blank(text[start:]):
        scanner.blocks.append(Block(start, len(text)))
    return Structure(tuple(scanner.blocks), tuple(scanner.code))


@dataclass(slots=True)
class _Scanner:
    """Walks the lines once; `paragraph` is where the open paragraph begins (-1: none is open), `last` its last line."""

    text: str
    at: int
    blocks: list[Block] = field(default_factory=list)
    code: list[tuple[int, int]] = field(default_factory=list)
    levels: list[tuple[int, str]] = field(default_factory=list)
    path: tuple[str, ...] = ()
    paragraph: int = -1
    last: tuple[int, int] = 0, 0
    unclosed: set[str] = field(default_factory=set)

    def run(self) -> None:
        starters = self._starters()
        text, length = self.text, len(self.text)
        telling = {*starters, " ", "\t"}
        while self.at < length:
            # Most lines are empty or begin nothing, which their first character tells.
            first = text[self.at]
            if first == "\n":
                self._close()
                self.at += 1
                continue
            if first not in telling:
                end = text.find("\n", self.at)
                self._continue(self.at, end if end >= 0 else length)
                continue
            line = read_line(text, self.at)
            if line.blank:
                self._close()
                self.at = line.end + 1
                continue
            starter = self._indented if line.indent >= TAB else starters.get(text[line.text])
            end = starter(line) if starter else -1
            if end < 0:
                self._continue(line.start, line.end)
            else:
                self.at = end + 1
        self._close()

    def _continue(self, start: int, end: int) -> None:
        """Take a line into the open paragraph, or open one with it."""
        if self.paragraph < 0:
            self.paragraph = start
        self.last = start, end
        self.at = end + 1

    def _starters(self) -> dict[str, Callable[[Line], int]]:
        """By first character what may begin there: it answers where the block ends, -1 when it is none."""
        starters: dict[str, Callable[[Line], int]] = dict.fromkeys("+0123456789", self._list_item)
        starters |= {"#": self._atx, "`": self._fence, "~": self._fence, ">": self._quote, "<": self._html}
        starters |= {"-": self._dash, "*": self._star, "_": self._rule}
        starters |= {"=": self._setext, "|": self._table, ":": self._table}
        return starters

    def _add(self, start: int, end: int, kind: BlockKind, header: str = "") -> int:
        self.blocks.append(Block(start, end, kind, self.path, whole=kind == "code", header=header))
        return end

    def _close(self) -> None:
        if self.paragraph >= 0:
            self._add(self.paragraph, self.last[1], "paragraph")
            self.paragraph = -1

    def _heading(self, start: int, end: int, level: int, markup: str) -> int:
        title = plain_title(markup)
        while self.levels and self.levels[-1][0] >= level:
            self.levels.pop()
        if title:
            self.levels.append((level, title))
        self.path = tuple(name for _, name in self.levels)
        return self._add(start, end, "heading" if title else "paragraph")

    def _atx(self, line: Line) -> int:
        match = ATX.match(self.text, line.text, line.end)
        if match is None:
            return -1
        self._close()
        markup = CLOSING.sub("", (match[2] or "").rstrip(" \t"))
        return self._heading(line.start, line.end, len(match[1]), markup)

    def _setext(self, line: Line) -> int:
        start = self.paragraph
        if start < 0 or self.last[1] - start > _LONGEST_SETEXT or not SETEXT.match(self.text, line.text, line.end):
            return -1
        self.paragraph = -1
        level = 1 if self.text[line.text] == "=" else 2
        return self._heading(start, line.end, level, self.text[start : self.last[1]])

    def _dash(self, line: Line) -> int:
        end = self._setext(line)
        if end < 0:
            end = self._table(line)
        return end if end >= 0 else self._star(line)

    def _star(self, line: Line) -> int:
        end = self._rule(line)
        return end if end >= 0 else self._list_item(line)

    def _rule(self, line: Line) -> int:
        if not RULE.match(self.text, line.text, line.end):
            return -1
        self._close()
        return line.end

    def _indented(self, line: Line) -> int:
        if self.paragraph >= 0:
            return -1
        end, at = line.end, line.end + 1
        while at < len(self.text):
            following = read_line(self.text, at)
            if not following.blank:
                if following.indent < TAB:
                    break
                end = following.end
            at = following.end + 1
        self.code.append((line.start, end))
        return self._add(line.start, end, "code")

    def _fence(self, line: Line) -> int:
        match = FENCE.match(self.text, line.text, line.end)
        if match is None:
            return -1
        self._close()
        closing = re.compile(rf"^ {{0,3}}{match[0][0]}{{{len(match[0])},}}[ \t]*$", re.MULTILINE)
        found = closing.search(self.text, min(line.end + 1, len(self.text)))
        end = found.end() if found else len(self.text)
        self.code.append((line.start, end))
        return self._add(line.start, end, "code")

    def _html(self, line: Line) -> int:
        end = self._raw_html(line)
        if end < 0:
            if not BLOCK_TAG.match(self.text, line.text, line.end) and (
                self.paragraph >= 0 or not WHOLE_TAG.match(self.text, line.text, line.end)
            ):
                return -1
            found = HTML_END.search(self.text, line.end)
            end = found.start() if found else len(self.text)
        self._close()
        return self._add(line.start, end, "paragraph")

    def _raw_html(self, line: Line) -> int:
        """The end of a comment, an instruction or a script; -1 when it is none or nothing closes it."""
        if RAW_TAG.match(self.text, line.text, line.end):
            return self._line_after("<raw", RAW_END, line.text)
        for opening, closing in RAW_PAIRS:
            if self.text.startswith(opening, line.text):
                return self._line_after(opening, closing, line.text + len(opening))
        return -1

    def _line_after(self, name: str, closing: re.Pattern[str], start: int) -> int:
        found = None if name in self.unclosed else closing.search(self.text, start)
        if found is None:
            self.unclosed.add(name)
            return -1
        return read_line(self.text, found.end()).end

    def _table(self, line: Line) -> int:
        start, head_end = self.last
        delimiters = self.text[line.text : line.end].rstrip(" \t")
        if self.paragraph < 0 or "|" not in delimiters or not DELIMITERS.match(delimiters):
            return -1
        header = self.text[start:head_end].strip()
        if cells(header) != cells(delimiters):
            return -1
        if self.paragraph < start:
            self._add(self.paragraph, start - 1, "paragraph")
        self.paragraph = -1
        end = line.end
        while end + 1 < len(self.text):
            row = read_line(self.text, end + 1)
            if row.blank or interrupts(self.text, row):
                break
            end = row.end
        return self._add(start, end, "table", f"{header}\n")

    def _quote(self, line: Line) -> int:
        self._close()
        end, fence = line.end, -1
        while True:
            inner = self.text[line.text : line.end].lstrip("> \t")
            if self.text[line.text] == ">" and inner.startswith(("```", "~~~")):
                if fence >= 0:
                    self.code.append((fence, line.end))
                fence = -1 if fence >= 0 else line.start
            end = line.end
            if end + 1 >= len(self.text):
                break
            lazy = bool(inner) and fence < 0
            line = read_line(self.text, end + 1)
            if line.blank or (self.text[line.text] != ">" and (not lazy or interrupts(self.text, line))):
                break
        return self._add(self.at, end, "paragraph")

    def _list_item(self, line: Line) -> int:
        match = MARKER.match(self.text, line.text, line.end)
        if match is None:
            return -1
        marker = match[0].rstrip(" \t")
        if self.paragraph >= 0 and (match.end() == line.end or marker[:-1] not in {"", "1"}):
            return -1
        self._close()
        width = len(self.text[line.start : match.end()].expandtabs(TAB)) - line.indent
        if match.end() == line.end or width > len(marker) + TAB:
            width = len(marker) + 1
        return self._add(line.start, self._item_end(line, match.end(), line.indent + width), "list")

    def _item_end(self, line: Line, start: int, content: int) -> int:
        """Where the last line of the item ends: what is indented to its content, and lines that go on lazily."""
        end, after_blank = line.end, False
        fence, opened = self._open_fence(start, line.end), line.start
        lazy = start < line.end
        while line.end + 1 < len(self.text):
            line = read_line(self.text, line.end + 1)
            if line.blank:
                after_blank = True
                continue
            if line.indent < content and (fence or after_blank or not lazy or interrupts(self.text, line)):
                break
            end, after_blank, lazy = line.end, False, True
            written = self.text[line.text : line.end]
            if fence and written.startswith(fence) and not written.rstrip(" \t").strip(fence[0]):
                self.code.append((opened, end))
                fence, lazy = "", False
            elif not fence:
                fence, opened = self._open_fence(line.text, line.end), line.start
        if fence:
            self.code.append((opened, end))
        return end

    def _open_fence(self, start: int, end: int) -> str:
        match = FENCE.match(self.text, start, end)
        return match[0] if match else ""
