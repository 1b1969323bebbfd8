"""Source code without a grammar: units by balanced braces, by keyword ... end, or by definitions at the left margin."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from common.adapters.parsers.code_blocks import BIG_STATEMENT, SMALL, Unit, above, cover, line_start, signature

_HASH: Final = frozenset(
    {"awk", "perl", "powershell", "r", "nix", "tcl", "elixir", "julia", "nim", "dockerfile", "make"}
)
"""Languages in which `#` begins a comment; elsewhere it may be a colour or a directive."""
BRACELESS: Final = frozenset(
    {
        "clojure",
        "cmake",
        "dockerfile",
        "elixir",
        "erlang",
        "fsharp",
        "haskell",
        "ini",
        "julia",
        "lua",
        "make",
        "nim",
        "ocaml",
        "pascal",
        "python",
        "ruby",
        "sql",
        "svelte",
        "tcl",
        "template",
        "visualbasic",
        "vue",
    }
)
"""Languages whose definitions are told by their first lines alone."""

_GRAMMAR: Final = (
    r"(?P<comment>/\*(?:[^*]+|\*(?!/))*(?:\*/)?|//[^\n]*{hash})"
    r"|(?P<string>\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?)"
    r"|(?P<open>\{{)|(?P<close>\}})|(?P<stop>;|\n[ \t\r]*(?=\n))"
)
_TOKENS: Final = {
    hashed: re.compile(
        _GRAMMAR.format(hash=r"|(?<![^\s;]){comment}[^\n]*".format(comment="#") if hashed else ""), re.DOTALL
    )
    for hashed in (False, True)
}
_NAMED: Final = re.compile(
    r"\b(?:enum\s+(?=class\b|struct\b))?(class|interface|struct|enum|trait|object|module|namespace|extension|mixin|library|contract|protocol|record"
    r"|package|actor|union|func|fun|fn|function|def|sub|proc|message|service|rpc|type|input|resource|rule|event|modifier)"
    r"\s+([A-Za-z_$][\w$.:]*)"
)
_CALLED: Final = re.compile(r"(?<![\w$.:~])([A-Za-z_$~][\w$.:~]*)\s*\([^(){}]*\)[^(){};=]*$")
_HOLDERS: Final = frozenset(
    [
        "actor",
        "class",
        "contract",
        "extension",
        "interface",
        "library",
        "mixin",
        "module",
        "namespace",
        "object",
        "package",
        "protocol",
        "record",
        "struct",
        "trait",
    ]
)
_NOT_NAMES: Final = frozenset(
    {"if", "for", "while", "switch", "catch", "return", "with", "foreach", "when", "function"}
)
_DEEPEST: Final = 4
_HEAD: Final = 2_000

_MARGIN: Final = re.compile(
    r"""^(?:
      (?:local[ ]+|export[ ]+|async[ ]+|public[ ]+|private[ ]+)*
      (?:def|defp|defmodule|defmacro|class|module|function|sub|proc|func|fn|procedure|program|instance|data|newtype|type
        |macro|let|async[ ]+def)[ \t]+(?P<name>[A-Za-z_][\w.:?!]*)
    | \(def\w*\s+(?P<lisp>[^\s()\[\]]+)
    | (?:create|alter)\s+(?:or\s+replace\s+)?(?:(?:temp|temporary|unique|materialized|external)\s+)*
      (?P<what>table|view|function|procedure|index|trigger|type|schema|sequence|policy|role|database)\s+
      (?:if\s+not\s+exists\s+)?(?P<sql>[\w.\"`\[\]]+)
    | \[{1,2}(?P<section>[^\[\]\n]+)\]{1,2}[ \t]*(?:[#;].*)?$
    | (?P<target>(?!\.)[A-Za-z0-9_./%$()-]+):(?![=:])
    | \{\{-?[ ]*define[ ]+"(?P<define>[^"]+)"
    | <(?P<tag>template|script|style)\b
    | FROM[ \t]+(?P<image>\S+)
    )""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
_GROUPS_BY_LANGUAGE: Final = {
    "clojure": ("lisp",),
    "dockerfile": ("image",),
    "ini": ("section",),
    "make": ("target",),
    "sql": ("sql",),
    "template": ("define",),
    "svelte": ("tag",),
    "vue": ("tag",),
}
_COMMENT_LINE: Final = re.compile(r"[ \t]*(?:#|//|--|;|\*|/\*|@|%)")


def fallback_units(text: str, language: str) -> list[Unit]:
    """Units of a source whose grammar is not at hand, covering all of it; linear in the text."""
    if language in BRACELESS:
        return cover(text, 0, len(text), list(_margin_units(text, language)), ())
    return _brace_units(text, hashed=language in _HASH)


def _margin_units(text: str, language: str) -> Iterator[Unit]:
    """Each definition at the left margin, with the comments above it, up to the next."""
    groups = _GROUPS_BY_LANGUAGE.get(language, ("name",))
    found = []
    for match in _MARGIN.finditer(text):
        name = next((match[group] for group in groups if match[group]), "")
        if name:
            found.append((above(text, match.start(), _COMMENT_LINE), name))
    ends = [start for start, _ in found[1:]]
    for (start, name), end in zip(found, [*ends, len(text)], strict=False):
        yield Unit(start, end, (name.strip('"`[] '),))


@dataclass(frozen=True, slots=True)
class _Braced:
    """A statement with a body: `start` with its comments, `opening` and `closing` are its braces."""

    start: int
    opening: int
    closing: int
    end: int


def _brace_units(text: str, *, hashed: bool) -> list[Unit]:
    pattern = _TOKENS[hashed]
    found: list[Unit] = []
    waiting: list[tuple[int, int, tuple[str, ...], str]] = [(0, len(text), (), "")]
    while waiting:
        start, end, headings, owner = waiting.pop()
        inside: list[tuple[tuple[str, ...], str]] = []
        symbols = []
        body = text.find("{", start, end) + 1 if headings else start
        for braced in _braced(text, body, end, pattern):
            title, holder = _title(text, braced)
            path = (*headings, owner + title) if title else headings
            opens = 0
            if holder and braced.end - braced.start > SMALL and len(path) < _DEEPEST:
                inside.append((path, f"{owner}{title}."))
                opens = len(inside)
            symbols.append(Unit(braced.start, braced.end, path, opens=opens))
        if headings:
            symbols = [Unit(start, symbols[0].start if symbols else end, headings), *symbols]
        for unit in cover(text, start, end, symbols, headings):
            if unit.opens:
                waiting.append((unit.start, unit.end, *inside[unit.opens - 1]))
            else:
                found.append(unit)
    return sorted(found, key=lambda unit: unit.start)


def _braced(text: str, start: int, end: int, pattern: re.Pattern[str]) -> Iterator[_Braced]:
    """The statements with a body on the outermost level. One that never closes is none: its text stays plain."""
    depth, begin, opening = 0, start, 0
    for match in pattern.finditer(text, start, end):
        kind = match.lastgroup
        if kind == "open":
            depth += 1
            if depth == 1:
                opening = match.start()
        elif kind == "close" and depth:
            depth -= 1
            if depth == 0:
                first = _first_visible(text, begin, opening)
                if text.count("\n", first, match.end()) + 1 >= BIG_STATEMENT or _NAMED.search(text, first, opening):
                    yield _Braced(line_start(text, begin, first), opening, match.start(), match.end())
                begin = match.end()
        elif kind == "stop" and depth == 0:
            begin = match.end()


def _first_visible(text: str, start: int, end: int) -> int:
    while start < end and text[start] in " \t\r\n;,)":
        start += 1
    return start


def _title(text: str, braced: _Braced) -> tuple[str, bool]:
    """What a statement declares, and whether it holds members that are units of their own."""
    head = _without_comments(text[max(braced.start, braced.opening - _HEAD) : braced.opening])
    named = _NAMED.search(head)
    if named:
        return named[2].rstrip(".:"), named[1] in _HOLDERS
    called = _CALLED.search(head)
    if called and called[1] not in _NOT_NAMES:
        return called[1], False
    return signature(head or text[braced.start : braced.opening + 1]), False


def _without_comments(head: str) -> str:
    return _TOKENS[False].sub(lambda match: "" if match.lastgroup == "comment" else match[0], head).strip()
