"""Terraform and other HCL files: one unit per block, titled as the rest of the configuration refers to it. A linear
scanner that knows strings, interpolations, heredocs, comments and braces; nothing in the text is evaluated.
"""

import re
from collections.abc import Iterator
from typing import Final

from common.adapters.parsers.code_blocks import BIG_STATEMENT, Unit, above, code_document, cover, signature
from common.domain.documents import ParsedDocument

_CODE: Final = re.compile(
    r"(?P<comment>/\*(?:[^*]+|\*(?!/))*(?:\*/)?|//[^\n]*|#[^\n]*)"
    r"|<<-?(?P<heredoc>[A-Za-z_][\w-]*)[ \t\r]*\n"
    r'|(?P<quote>")|(?P<open>[{(\[])|(?P<close>[})\]])'
)
_STRING: Final = re.compile(r'\\.|\$\$\{|%%\{|(?P<interpolation>[$%]\{)|(?P<quote>["\n])', re.DOTALL)
_HEADER: Final = re.compile(
    r"""[ \t]*(?P<kind>[\w.-]+)(?P<labels>(?:[ \t]+(?:"[^"\n]*"|[\w.-]+))*)[ \t]*(?P<set>[=:]?)"""
)
_LABEL: Final = re.compile(r'"([^"\n]*)"|([\w.-]+)')
_COMMENT_LINE: Final = re.compile(r"[ \t]*(?:#|//|/\*|\*)")
_ADDRESSED: Final = {"resource": "", "variable": "var."}
"""How the address of a block begins where it does not begin with the block's own type."""


def parse_hcl(source: str, text: str) -> ParsedDocument:
    """The document of an HCL file. What cannot be understood stays plain blocks; never fails."""
    return code_document(source, text, cover(text, 0, len(text), list(_statements(text)), ()))


def _statements(text: str) -> Iterator[Unit]:
    """The blocks, and the attributes of four lines and more, on the outermost level. An open end is none of them."""
    depth, start, floor = 0, 0, 0
    for position, opens in _brackets(text):
        if opens:
            if depth == 0:
                start = text.rfind("\n", floor, position) + 1 or floor
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                title, is_block = _title(text, start)
                if is_block or text.count("\n", start, position) + 1 >= BIG_STATEMENT:
                    yield Unit(max(above(text, start, _COMMENT_LINE), floor), position + 1, (title,) if title else ())
                floor = position + 1


def _brackets(text: str) -> Iterator[tuple[int, bool]]:
    """The brackets that are code, with whether they open: none in strings (save in their interpolations), heredocs and
    comments.
    """
    position = 0
    inside: list[bool] = []  # for each open bracket whether it is an interpolation, which ends in its string again
    while match := _CODE.search(text, position):
        position = match.end()
        kind = match.lastgroup
        if kind == "heredoc":
            position = _heredoc_end(text, position, match["heredoc"])
        elif kind == "open":
            inside.append(False)
            yield match.start(), True
        elif kind == "close":
            if inside and inside.pop():
                position = _string_end(text, position, inside)
            else:
                yield match.start(), False
        elif kind == "quote":
            position = _string_end(text, position, inside)


def _string_end(text: str, position: int, inside: list[bool]) -> int:
    """Behind the string's quote, or behind the `${` of an interpolation, which is then the innermost bracket."""
    while match := _STRING.search(text, position):
        position = match.end()
        if match.lastgroup == "interpolation":
            inside.append(True)
            return position
        if match.lastgroup == "quote":
            return position
    return len(text)


def _heredoc_end(text: str, position: int, tag: str) -> int:
    match = re.compile(rf"^[ \t]*{re.escape(tag)}[ \t\r]*$", re.MULTILINE).search(text, position)
    return match.end() if match else len(text)


def _title(text: str, start: int) -> tuple[str, bool]:
    """The address of the statement whose first line begins at `start`, and whether it is a block."""
    header = _HEADER.match(text, start)
    if not header:
        return signature(text[start : start + 200]), False
    kind = header["kind"]
    if header["set"]:
        return kind, False
    labels = [quoted or plain for quoted, plain in _LABEL.findall(header["labels"])]
    if not labels:
        return kind, True
    return _ADDRESSED.get(kind, f"{kind}.") + ".".join(labels), True
