"""Text formats with light markup, kept as written so that lines can be cited: reStructuredText, Org; and subtitles."""

import re
from collections.abc import Callable, Iterator

from common.adapters.parsers.build import TextBuilder, one_line
from common.adapters.parsers.decoding import decode_text
from common.adapters.parsers.limits import Limits
from common.domain.documents import Block, Parsed, ParsedDocument
from common.domain.plaintext import paragraphs
from common.domain.titles import default_keywords, file_title, short_title

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*$")
_STARS = re.compile(r"(\*{1,6})\s+(?:(?:TODO|DONE|NEXT|WAITING)\s+)?(.+?)(?:\s+:[\w@:]+:)?\s*$")
_ORG_TITLE = re.compile(r"#\+title:\s*(.+)", re.IGNORECASE)
_CUE = re.compile(r"(?:\d+:)?\d{1,2}:\d{2}[.,]\d{3}\s+-->\s")
_SPEAKER = re.compile(r"<v[.\w]*\s+([^>]+)>")
_TAG = re.compile(r"</?[a-z][^>]{0,200}>|\{\\[^}]{0,100}\}", re.IGNORECASE)

Heading = tuple[int, int, int, str]
"""Start and end in the text, level, title."""


def parse_rst(data: bytes, name: str, limits: Limits) -> Parsed:
    """One document, verbatim. Raises DocumentError BAD_ENCODING."""
    return _verbatim(data, name, "rst", _rst_headings, limits)


def parse_org(data: bytes, name: str, limits: Limits) -> Parsed:
    """One document, verbatim. Raises DocumentError BAD_ENCODING."""
    return _verbatim(data, name, "org", _org_headings, limits)


def _verbatim(
    data: bytes, name: str, kind: str, find: Callable[[list[tuple[int, str]]], Iterator[Heading]], limits: Limits
) -> Parsed:
    text = decode_text(data)[: limits.characters]
    if not text.strip():
        return Parsed(())
    found = list(find(_numbered(text)))
    title = next((entry[3] for entry in found), "")
    declared = _ORG_TITLE.search(text[:4096]) if kind == "org" else None
    title = short_title(one_line(declared[1]) if declared else title or file_title(name))
    headings = [entry[3] for entry in found]
    document = ParsedDocument(
        source=name,
        title=title,
        text=text,
        blocks=tuple(_blocks(text, found)),
        kind=kind,
        keywords=default_keywords(title, headings),
        external_id=f"{name[: len(name) - len(name.rsplit('/', 1)[-1])]}{file_title(name)}",
    )
    return Parsed((document,))


def _numbered(text: str) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    offset = 0
    for line in text.split("\n"):
        lines.append((offset, line))
        offset += len(line) + 1
    return lines


def _rst_headings(lines: list[tuple[int, str]]) -> Iterator[Heading]:
    """A line over (and perhaps under) a rule at least as long; rules rank by the order in which they appear."""
    ranks: dict[tuple[str, bool], int] = {}
    for index in range(1, len(lines)):
        start, rule = lines[index]
        offset, title = lines[index - 1]
        bare = title.strip()
        if not _RULE.match(rule) or not bare or _RULE.match(title) or len(rule.rstrip()) < len(bare):
            continue
        over = index > 1 and _RULE.match(lines[index - 2][1]) and lines[index - 2][1][:1] == rule[:1]
        if not over and index > 1 and lines[index - 2][1].strip():
            continue
        rank = ranks.setdefault((rule[0], bool(over)), len(ranks) + 1)
        yield (lines[index - 2][0] if over else offset), start + len(rule), min(rank, 6), one_line(bare)


def _org_headings(lines: list[tuple[int, str]]) -> Iterator[Heading]:
    inside = False
    for offset, line in lines:
        folded = line.strip().lower()
        if folded.startswith(("#+begin_", "#+end_")):
            inside = folded.startswith("#+begin_")
        match = None if inside else _STARS.match(line)
        if match:
            yield offset, offset + len(line.rstrip()), len(match[1]), one_line(match[2])


def _blocks(text: str, headings: list[Heading]) -> Iterator[Block]:
    path: list[tuple[int, str]] = []
    position = 0
    for start, end, level, title in [*headings, (len(text), len(text), 0, "")]:
        above = tuple(entry for _, entry in path)
        for block in paragraphs(text[position:start]):
            yield Block(position + block.start, position + block.end, block.kind, above)
        position = end
        if level:
            path = [entry for entry in path if entry[0] < level] + [(level, title)]
            yield Block(start, end, "heading", tuple(entry for _, entry in path))


def parse_subtitles(data: bytes, name: str, limits: Limits) -> Parsed:
    """The spoken words with their speakers, cue numbers and times left out. Raises DocumentError BAD_ENCODING."""
    builder = TextBuilder("subtitles", characters=limits.characters, separator="\n")
    text = decode_text(data).replace("\r\n", "\n").replace("\r", "\n")
    last = ""
    for cue in re.split(r"\n[ \t]*\n", text):
        lines = cue.split("\n")
        at = next((index for index, line in enumerate(lines) if _CUE.match(line.strip())), None)
        if at is None:
            continue
        spoken = one_line(_TAG.sub("", _SPEAKER.sub(r"\1: ", " ".join(lines[at + 1 :]))))
        if spoken and spoken != last:
            builder.add(spoken)
            last = spoken
    if builder.empty:
        return Parsed(())
    return Parsed((builder.document(name, "subtitles"),))
