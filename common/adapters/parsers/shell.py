"""Shell scripts: one unit per function, long statements on the outermost level whole. A linear scanner that knows
quoting, heredocs and comments; it never decides what a script would do.
"""

import re
from collections.abc import Iterator
from typing import Final

from common.adapters.parsers.code_blocks import BIG_STATEMENT, Unit, above, code_document, cover, signature
from common.domain.documents import ParsedDocument

_NAME: Final = r"[^\s(){};|&<>=$\"'`#]+"
_FUNCTION: Final = re.compile(
    rf"[ \t]*(?:function[ \t]+(?P<keyword>{_NAME})[ \t]*(?:\([ \t]*\))?|(?P<name>{_NAME})[ \t]*\([ \t]*\))"
    r"[ \t\r]*(?P<body>[{(]|\n|$)"
)
_PLAIN: Final = re.compile(
    r"(?P<line>\n)"
    r"|(?P<skipped>(?<![^\s;&|()])\#[^\n]*|\$?'[^']*'?|\"[^\"\\$`]*\"|\$\{[\w#!@*?]+\}|\$[\w#!@*?]+|\\.|\([ \t]*\))"
    r"|(?P<quote>\")|(?P<sub>\$\(+|\$\{)|(?P<paren>\(+)|(?P<unparen>\))|(?P<unbrace>\})"
    r"|(?<!<)<<(?P<dash>-?)[ \t]*\\?(?P<mark>[\"']?)(?P<heredoc>[A-Za-z_][\w.-]*)(?P=mark)"
    r"|(?P<word>(?<![^\s;&|(){}`!])(?:if|case|for|while|until|select|fi|done|esac|\{)(?![^\s;&|()<>]))",
    re.DOTALL,
)
_QUOTED: Final = re.compile(r"(?P<skipped>\\.|\$\{[\w#!@*?]+\})|(?P<sub>\$\(+|\$\{)|(?P<quote>\")", re.DOTALL)
_ENDS: Final = {"if": "fi", "case": "esac", "for": "done", "while": "done", "until": "done", "select": "done"}
_BEFORE_COMMAND: Final = re.compile(r"(?:^|[;&|(){!`\n]|\b(?:then|do|else|elif|time))[ \t\r]*$")
_LOOK_BACK: Final = 24
_ALONE_BEFORE: Final = " \t\r\n;&)}"
_ALONE_BEHIND: Final = " \t\r\n;&|)<>}"
_COMMENT_LINE: Final = re.compile(r"[ \t]*#(?!!)")
_PARAMETER, _ARITHMETIC, _GROUP, _PAREN, _QUOTE = "${", "((", "{", "(", '"'


def parse_shell(source: str, text: str) -> ParsedDocument:
    """The document of a shell script. What cannot be understood stays plain blocks; never fails."""
    return code_document(source, text, cover(text, 0, len(text), list(_units(text)), ()))


def _units(text: str) -> Iterator[Unit]:
    """The functions, and the statements of four lines and more, on the outermost level."""
    floor, header = 0, -1
    for start, end in _Scanner(text).statements():
        begin, header = (header if header >= 0 else start), -1
        function = _FUNCTION.match(text, begin, end)
        if function and not text[function.end("body") - len(function["body"]) : end].strip():
            header = begin
            continue
        if function or text.count("\n", begin, end) >= BIG_STATEMENT:
            title = (function["keyword"] or function["name"]) if function else signature(text[begin : begin + 400])
            yield Unit(max(above(text, begin, _COMMENT_LINE), floor), end, (title,) if title else ())
            floor = end


class _Scanner:
    """Walks a script once; `inside` holds the open constructs, innermost last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._inside: list[str] = []
        self._heredocs: list[tuple[str, bool]] = []

    def statements(self) -> Iterator[tuple[int, int]]:
        """The ranges of whole lines that make one statement each; an open end is none."""
        position = start = 0
        while match := (_QUOTED if self._top == _QUOTE else _PLAIN).search(self._text, position):
            position = match.end()
            kind = match.lastgroup
            if kind != "line":
                if kind != "skipped":
                    self._step(match)
                continue
            if self._heredocs:
                position = self._behind_heredocs(position)
            if self._inside and self._resynchronise(position):
                start = position
            elif not self._inside:
                yield start, position
                start = position
        if not self._inside and start < len(self._text):
            yield start, len(self._text)

    @property
    def _top(self) -> str:
        return self._inside[-1] if self._inside else ""

    def _behind_heredocs(self, position: int) -> int:
        for tag, indented in self._heredocs:
            blanks = r"[ \t]*" if indented else ""
            pattern = re.compile(rf"^{blanks}{re.escape(tag)}\r?$", re.MULTILINE)
            end = pattern.search(self._text, position)
            position = min(end.end() + 1, len(self._text)) if end else len(self._text)
        self._heredocs.clear()
        return position

    def _resynchronise(self, position: int) -> bool:
        """A function or a closing brace at the left margin tells that something before it was misread."""
        if self._top == _QUOTE:
            return False
        if self._text.startswith("}", position) and _GROUP in self._inside:
            del self._inside[self._inside.index(_GROUP) + 1 :]
            return False
        if self._text[position : position + 1] in {" ", "\t"}:
            return False
        function = _FUNCTION.match(self._text, position)
        if function and function["body"] == "{":
            self._inside.clear()
            return True
        return False

    def _step(self, match: re.Match[str]) -> None:
        kind, token, inside = match.lastgroup, match[0], self._inside
        if kind == "quote":
            self._toggle_quote()
        elif kind in {"sub", "paren"}:
            parens = token.count("(")
            inside += [_PARAMETER] if not parens else [_ARITHMETIC] * parens if parens > 1 else [_PAREN]
        elif self._closes(match):
            inside.pop()
        elif kind == "heredoc" and self._top != _ARITHMETIC:
            self._heredocs.append((match["heredoc"], bool(match["dash"])))
        elif kind == "word":
            self._word(token, match.start())

    def _closes(self, match: re.Match[str]) -> bool:
        if match.lastgroup == "unparen":
            return self._top in {_PAREN, _ARITHMETIC}
        if match.lastgroup == "unbrace":
            return self._top == _PARAMETER or (self._top == _GROUP and self._alone(match))
        return False

    def _toggle_quote(self) -> None:
        if self._top == _QUOTE:
            self._inside.pop()
        else:
            self._inside.append(_QUOTE)

    def _word(self, word: str, start: int) -> None:
        if word == "{":
            self._inside.append(_GROUP)
        elif _BEFORE_COMMAND.search(self._text[max(0, start - _LOOK_BACK) : start]):
            if word in _ENDS:
                self._inside.append(_ENDS[word])
            elif self._top == word:
                self._inside.pop()

    def _alone(self, match: re.Match[str]) -> bool:
        before, behind = self._text[match.start() - 1 : match.start()], self._text[match.end() : match.end() + 1]
        return (not before or before in _ALONE_BEFORE) and (not behind or behind in _ALONE_BEHIND)
