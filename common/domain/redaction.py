"""Secrets of known forms in a text, masked on the way to a model: keys, tokens, passwords. What is stored is never
changed. Pure, and linear in the text: each form is looked for by its first letters and read with bounded patterns.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MASK: Final = "[redacted]"
_LONGEST: Final = 300
_WORD: Final = re.compile(r"[A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class _Form:
    """What a secret begins with and how it goes on; group 1 is what is masked, the whole match where there is none."""

    begins: str
    pattern: re.Pattern[str]
    underlined: bool


def _forms(prefixes: str, rest: str) -> list[_Form]:
    return [_Form(prefix, re.compile(re.escape(prefix) + rest), "_" in prefix) for prefix in prefixes.split()]


_TAIL: Final = r"(?![A-Za-z0-9])"
_FORMS: Final = (
    *_forms("AKIA ASIA", r"[A-Z2-7]{16}" + _TAIL),
    *_forms("AIza", r"[0-9A-Za-z_-]{35}" + _TAIL),
    *_forms("GOCSPX-", r"[0-9A-Za-z_-]{20,40}" + _TAIL),
    *_forms("ya29.", r"[0-9A-Za-z_-]{20,500}"),
    *_forms("ghp_ gho_ ghu_ ghs_ ghr_", r"[0-9A-Za-z]{36,255}" + _TAIL),
    *_forms("github_pat_", r"[0-9A-Za-z_]{22,255}"),
    *_forms("gl", r"(?:pat|ptt|dt|rt|soat|cbt|ft|imt|agent)-[0-9A-Za-z_.-]{20,300}"),
    *_forms("xox", r"[abeoprs]-[0-9A-Za-z-]{10,300}"),
    *_forms("xapp-", r"[0-9A-Za-z-]{10,300}"),
    *_forms("https://hooks.slack.com/services/", r"[0-9A-Za-z/_-]{20,100}"),
    *_forms("sk_live_ sk_test_ rk_live_ rk_test_", r"[0-9A-Za-z]{16,255}" + _TAIL),
    *_forms("whsec_", r"[0-9A-Za-z+/=]{20,100}"),
    *_forms("sk-", r"(?=[A-Za-z_-]{0,40}[0-9])(?:proj-|ant-|svcacct-)?[0-9A-Za-z_-]{20,255}" + _TAIL),
    *_forms("npm_", r"[0-9A-Za-z]{36}" + _TAIL),
    *_forms("eyJ", r"[0-9A-Za-z_-]{8,2000}\.eyJ[0-9A-Za-z_-]{8,8000}\.[0-9A-Za-z_-]{8,2000}"),
)
_BEARER: Final = re.compile(r"[ \t]{1,4}((?=[A-Za-z._~+/-]{0,100}[0-9])[0-9A-Za-z._~+/=-]{16,4000})")
_AUTHORIZATION: Final = re.compile(
    r"[\"'`]{0,2}[ \t]{0,4}[:=,][ \t]{0,4}[\"'`]{0,2}(?:basic|token|apikey)[ \t]{1,4}([0-9A-Za-z._~+/=-]{8,4000})",
    re.IGNORECASE,
)
_HEADERS: Final = (
    ("earer", _BEARER),
    ("EARER", _BEARER),
    ("uthorization", _AUTHORIZATION),
    ("UTHORIZATION", _AUTHORIZATION),
)
"""What stands before a token in a header, without the letter that is written large or small."""
_USER_AND_PASSWORD: Final = re.compile(r"://[^\s/:@\"'<>`?#]{0,100}:([^\s/@\"'<>`]{1,200})@[\w\[]")

_NAME: Final = re.compile(
    r"(?:(?P<loose>password|passwd|passphrase|pwd|senha)|token|secret|(?:api|access|account|private|secret)[_-]?key"
    r"|chave[_ -](?:de[_ -])?(?:api|acesso)|credencial)[\"'`*]{0,3}[ \t]{0,4}$",
    re.IGNORECASE,
)
"""How the names end under which a secret is written down: `DB_PASSWORD`, `clientSecret`, `"api-key"`. The value of a
`loose` one may be a plain word where it stands alone on its line.
"""
_ENDINGS: Final = frozenset({"ord", "swd", "ase", "pwd", "nha", "ken", "ret", "key", "api", "sso", "ial"})
"""The last letters of these names."""
_BEFORE_SIGN: Final = " \t\"'`*"
_MOST_BEFORE_SIGN: Final = 7
_LONGEST_NAME: Final = 24
_VALUE: Final = re.compile(
    r"(?P<sign>(?::=|=>|[:=])[ \t]{0,4})"
    rf"(?:\"(?P<double>[^\"\n]{{4,{_LONGEST}}})\"|'(?P<single>[^'\n]{{4,{_LONGEST}}})'"
    rf"|(?P<bare>[^\s\"'`,;<>()\[\]{{}}|\\]{{4,{_LONGEST}}}))"
)
_PLACEHOLDER: Final = re.compile(
    r"your.{0,60}|(?:my|sua|seu|minha|meu|the|some|any|uma?|an?|o|os|as)[-_ ].{0,60}"
    r"|.{0,3}(?:x{4,}|\*{3,}|\.{3,}|…).{0,60}|\$[A-Z][A-Z0-9_]{0,60}|%[A-Za-z0-9_]{1,60}%|.{0,200}\{.{0,200}|&lt;.{0,100}"
    r"|(?:os|process|env|var|self|config|settings)\..{0,200}",
    re.IGNORECASE | re.DOTALL,
)
_NO_SECRET: Final = re.compile(
    r"str|string|text|texto|none|null|undefined|true|false|bool|int|number|object|any|required|optional|redacted"
    r"|secret|secretstr|passw(?:or)?d|pass|senha|token|bearer|value|valor|changeme|exampl[eo]|exemplo|basic|oauth2"
    r"|hidden|masked|obrigat[óo]ri[oa]|opcional|inv[áa]lid[oa]|incorret[oa]",
    re.IGNORECASE,
)
"""What stands there instead of a secret: a type, a word for one, what a form says of it."""
_LONE_WORD: Final = re.compile(r"[ \t.!]{0,4}(?:$|[\r\n])")
_SHORTEST_WORD: Final = 6

_KEY_BEGINS: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINES: Final = re.compile(r"(?:(?:\s|\\[nr])*+[0-9A-Za-z+/=]{32,}+)++")
_KEY_LINE: Final = re.compile(r"[0-9A-Za-z+/=]+")


def redact(text: str) -> tuple[str, int]:
    """The text with every secret of a known form as MASK, and how many there were."""
    spans = sorted(_spans(text))
    if not spans:
        return text, 0
    pieces, position, count = [], 0, 0
    for start, end in spans:
        if end <= position:
            continue
        if start >= position:
            pieces += [text[position:start], MASK]
            count += 1
        position = end
    return "".join([*pieces, text[position:]]), count


def _spans(text: str) -> Iterator[tuple[int, int]]:
    yield from _known_forms(text)
    yield from _private_keys(text)
    for word, pattern in _HEADERS:
        for place in _places(text, word):
            found = pattern.match(text, place + len(word))
            if found:
                yield found.span(1)
    for place in _places(text, "://"):
        login = _USER_AND_PASSWORD.match(text, place)
        if login and not _is_placeholder(login[1]):
            yield login.span(1)
    for sign in (":", "="):
        for place in _places(text, sign):
            yield from _assigned(text, place)


def _known_forms(text: str) -> Iterator[tuple[int, int]]:
    underlined = "_" in text
    for form in _FORMS:
        # Nearly every text holds none of them, and prose no underscore at all.
        if (form.underlined and not underlined) or form.begins not in text:
            continue
        for start in _places(text, form.begins):
            within_word = start and _WORD.match(text, start - 1)
            found = None if within_word else form.pattern.match(text, start)
            if found:
                yield found.span()


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + len(word))


def _assigned(text: str, place: int) -> Iterator[tuple[int, int]]:
    """The value behind the sign at this place if a name of secrets stands before it, unless the value is a type, a
    variable or a stand-in.
    """
    end, floor = place, max(0, place - _MOST_BEFORE_SIGN)
    while end > floor and text[end - 1] in _BEFORE_SIGN:
        end -= 1
    if text[max(0, end - 3) : end].lower() not in _ENDINGS:
        return
    name = _NAME.search(text, max(0, end - _LONGEST_NAME), place)
    found = _VALUE.match(text, place)
    if name is None or found is None:
        return
    group = found.lastgroup or ""
    value = found[group]
    if _is_placeholder(value):
        return
    plain = _is_plain(found, value) if group != "bare" else _is_lone_word(text, found, value)
    if _looks_random(value) or (name["loose"] and plain):
        yield found.span(group)


def _is_plain(found: re.Match[str], value: str) -> bool:
    """A quoted value that may be a password of words; behind a colon, words are what a label says."""
    return " " not in value or "=" in found["sign"]


def _is_placeholder(value: str) -> bool:
    return bool(_NO_SECRET.fullmatch(value.strip(".,:;!?")) or _PLACEHOLDER.fullmatch(value))


def _looks_random(value: str) -> bool:
    """Letters and digits, as no word and no reference in code has them."""
    if not (any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
        return False
    return " " not in value and "(" not in value and not value.startswith(("http://", "https://", "/", "./"))


def _is_lone_word(text: str, found: re.Match[str], value: str) -> bool:
    """A word and nothing else behind `password:` or `senha:` on its line; code there has dots or is an argument."""
    return len(value) >= _SHORTEST_WORD and "." not in value and _LONE_WORD.match(text, found.end()) is not None


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Whole keys, and the lines of one whose beginning or end stands elsewhere."""
    if "PRIVATE KEY" not in text:
        return
    position = 0
    for begin in _KEY_BEGINS.finditer(text):
        if begin.start() < position:
            continue
        border = text.find("-----", begin.end())
        end = _KEY_ENDS.match(text, border) if border >= 0 else None
        lines = _KEY_LINES.match(text, begin.end())
        if end or lines:
            position = end.end() if end else lines.end() if lines else 0
            yield begin.start(), position
    for end in _KEY_ENDS.finditer(text):
        if end.start() >= position:
            start = _key_start(text, end.start(), position)
            if start < end.start():
                yield start, end.end()
            position = end.end()


def _key_start(text: str, position: int, floor: int) -> int:
    """Where the lines of a key begin that end at `position`."""
    while position > floor:
        line_end = position
        while line_end > floor and text[line_end - 1].isspace():
            line_end -= 1
        line = max(text.rfind("\n", floor, line_end) + 1, floor)
        if not _KEY_LINE.fullmatch(text, line, line_end):
            break
        position = line
    return position
