"""The lines of Markdown: what their beginnings mean. Every pattern takes time linear in the line."""

import re
from dataclasses import dataclass
from typing import Final

TAB: Final = 4

ATX: Final = re.compile(r"(#{1,6})(?:[ \t]+(.*)|$)")
CLOSING: Final = re.compile(r"(?:^|[ \t])#+$")
FENCE: Final = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
SETEXT: Final = re.compile(r"(?:=+|-+)[ \t]*$")
RULE: Final = re.compile(r"(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
MARKER: Final = re.compile(r"(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t]+(?=[^ \t])|[ \t]*$)")
# Matched against lines without their trailing blanks: two blank runs in a row would take quadratic time.
DELIMITERS: Final = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$")
PIPE: Final = re.compile(r"(?<!\\)\|")
RAW_TAG: Final = re.compile(r"<(?:script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
RAW_END: Final = re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE)
RAW_PAIRS: Final = (("<!--", re.compile("-->")), ("<?", re.compile(r"\?>")), ("<![CDATA[", re.compile(r"\]\]>")))
BLOCK_TAG: Final = re.compile(
    r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl"
    r"|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main"
    r"|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title"
    r"|tr|track|ul)(?=[\s>]|/>|$)",
    re.IGNORECASE,
)
WHOLE_TAG: Final = re.compile(r"</?[A-Za-z][A-Za-z0-9.-]*(?:\s[^<>]*)?/?>[ \t]*$")
HTML_END: Final = re.compile(r"\n(?=[ \t]*(?:\n|$)| {0,3}(?:```|~~~))")
"""HTML ends before a blank line and, unlike in CommonMark, before a fence: in MDX that is code, and to swallow its
beginning would turn code inside out."""

_INTERRUPTING: Final[dict[str, tuple[re.Pattern[str], ...]]] = {
    **dict.fromkeys("-*", (RULE, MARKER)),
    **dict.fromkeys("+0123456789", (MARKER,)),
    **dict.fromkeys("`~", (FENCE,)),
    "#": (ATX,),
    "_": (RULE,),
    ">": (re.compile(">"),),
    "<": (BLOCK_TAG, RAW_TAG, re.compile("<!--")),
}


@dataclass(slots=True)
class Line:
    """Where a line begins, where its text begins and ends, and its indentation in columns."""

    start: int
    text: int
    end: int
    indent: int

    @property
    def blank(self) -> bool:
        return self.text == self.end


def level_line_ends(text: str) -> str:
    """The text at the same length with a line feed as the last character of every line end."""
    return text.replace("\r\n", " \n").replace("\r", "\n") if "\r" in text else text


def read_line(text: str, start: int) -> Line:
    """The line that begins at `start`."""
    end = text.find("\n", start)
    if end < 0:
        end = len(text)
    if start == end or text[start] not in " \t":
        return Line(start, start, end, 0)
    first = end - len(text[start:end].lstrip(" \t"))
    return Line(start, first, end, len(text[start:first].expandtabs(TAB)))


def interrupts(text: str, line: Line) -> bool:
    """Whether the line begins a block of its own rather than going on with a paragraph."""
    if line.indent >= TAB:
        return False
    patterns = _INTERRUPTING.get(text[line.text], ())
    return any(pattern.match(text, line.text, line.end) for pattern in patterns)


def cells(row: str) -> int:
    """How many cells a table's row has."""
    return len(PIPE.findall(row.removeprefix("|").rstrip("|"))) + 1
