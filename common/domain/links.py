"""References between documents: Markdown links, wikilinks and addresses as they are written, code left out, and the
graph that they make of a base.
"""

import posixpath
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, Literal
from urllib.parse import unquote

from common.domain.documents import Link

_BLANK_LINE: Final = re.compile(r"\n[ \t\r]*\n")
_WIKILINK: Final = re.compile(r"!?\[\[([^\[\]\n]{1,1000})\]\]")
_BAR: Final = re.compile(r"\\?\|")
_BRACKET: Final = re.compile(r"[\[\]]")
# Blank runs are bounded and every class stops at the next delimiter, so that no input takes more than linear time.
_DESTINATION: Final = re.compile(
    r"\(\s{0,20}(?:<([^<>\n]{0,2000})>|([^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*))"
    r"(?:\s{1,20}(?:\"[^\"]{0,1000}\"|'[^']{0,1000}'|\([^()]{0,1000}\)))?\s{0,20}\)"
)
_LABEL: Final = re.compile(r"\[([^\[\]]{0,300})\]")
_DEFINITION: Final = re.compile(
    r"^ {0,3}\[([^\[\]\n^][^\[\]\n]{0,300})\]:[ \t]{0,20}\n?[ \t]{0,20}<?([^\s<>]+)", re.MULTILINE
)
_ADDRESS: Final = re.compile(r"https?://[^\s<>\[\](){}\"'`|\\]+")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_TICKS: Final = re.compile(r"`+")
_ESCAPED: Final = re.compile(r"\\[\[\]\\`!]")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")

_NOTE: Final = re.compile(r"\.(?:md|mdx|markdown)$", re.IGNORECASE)
_FILE: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_INDEX_PAGES: Final = ("index.md", "readme.md", "index.mdx")

_LONGEST_TEXT: Final = 500
_MOST: Final = 5_000

Found = tuple[int, str, str, Literal["markdown", "wikilink", "url"]]


def find_links(text: str, code: Sequence[tuple[int, int]] = (), start: int = 0) -> tuple[Link, ...]:
    """Every reference of a Markdown text from `start` on in order; what stands in the `code` ranges (sorted) or in
    backticks is none, and neither is what follows the first 5,000. `line` counts line feeds from the beginning.
    """
    segments = [
        (first, _masked(text[first:last]))
        for first, last in _segments(text, code, start)
        if text.find("[", first, last) >= 0 or text.find("://", first, last) >= 0
    ]
    labels = _definitions(segment for _, segment in segments)
    links: list[Link] = []
    line, counted = 1, 0
    for first, segment in segments:
        for place, target, shown, kind in sorted(islice(_in_segment(segment, labels), _MOST - len(links))):
            line += text.count("\n", counted, first + place)
            counted = first + place
            links.append(Link(target, shown, line, kind))
    return tuple(links)


def _segments(text: str, code: Sequence[tuple[int, int]], start: int) -> Iterator[tuple[int, int]]:
    """What lies between code and blank lines: no reference goes over either."""
    for first, last in (*code, (len(text), len(text))):
        for match in _BLANK_LINE.finditer(text, start, max(start, first)):
            yield start, match.start()
            start = match.end()
        if start < first:
            yield start, first
        start = max(start, last)


def _masked(segment: str) -> str:
    """The segment at its length, with blanks for code spans and escaped brackets."""
    if "\\" in segment:
        segment = _ESCAPED.sub("  ", segment)
    if "`" not in segment:
        return segment
    ticks = list(_TICKS.finditer(segment))
    closing: dict[int, list[int]] = {}
    for place in range(len(ticks) - 1, -1, -1):
        closing.setdefault(len(ticks[place][0]), []).append(place)
    parts, position, place = [], 0, 0
    while place < len(ticks):
        same = closing[len(ticks[place][0])]
        while same and same[-1] <= place:
            same.pop()
        if not same:
            place += 1
            continue
        first, last = ticks[place].start(), ticks[same[-1]].end()
        parts += [segment[position:first], " " * (last - first)]
        position, place = last, same[-1] + 1
    return "".join([*parts, segment[position:]])


def _definitions(segments: Iterable[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for segment in segments:
        if "]:" in segment:
            for match in _DEFINITION.finditer(segment):
                labels.setdefault(_label(match[1]), match[2])
    return labels


def _label(written: str) -> str:
    return " ".join(written.casefold().split())


def _in_segment(segment: str, labels: Mapping[str, str]) -> Iterator[Found]:
    for match in _WIKILINK.finditer(segment):
        target, _, shown = _BAR.sub("|", match[1], count=1).partition("|")
        target = target.strip()
        yield match.start(), target, shown.strip() or target, "wikilink"
    if "[[" in segment:
        segment = _WIKILINK.sub(lambda match: " " * len(match[0]), segment)
    spans = [(0, 0)]
    for place, target, shown, span in _bracketed(segment, labels):
        spans.append(span)
        if target:
            yield place, target, shown, "url" if _SCHEME.match(target) else "markdown"
    for match in _ADDRESS.finditer(segment):
        place = match.start()
        within = spans[bisect_right(spans, (place, place)) - 1]
        if place >= within[1] and not segment.endswith(("]: ", "]:", "]: <"), 0, place):
            yield place, match[0].rstrip(".,;:!?*_~"), "", "url"


def _bracketed(segment: str, labels: Mapping[str, str]) -> Iterator[tuple[int, str, str, tuple[int, int]]]:
    """Links with a text in brackets: where they begin, their target, their text, and the range of the target."""
    opened: list[int] = []
    passed = 0
    for match in _BRACKET.finditer(segment):
        if match.start() < passed:
            continue
        if match[0] == "[":
            opened.append(match.start())
            continue
        if not opened:
            continue
        start, end = opened.pop(), match.end()
        if end - start > _LONGEST_TEXT:
            continue
        if segment.startswith("(", end):
            found = _DESTINATION.match(segment, end)
            if found:
                target = found[1] if found[1] is not None else found[2]
                yield start, _ESCAPE.sub(r"\1", target), _shown(segment, start, end), found.span()
        elif labels and not segment.startswith(":", end):
            shown = _shown(segment, start, end)
            reference = _LABEL.match(segment, end)
            label = _label((reference[1] if reference else "") or shown)
            if label in labels:
                passed = reference.end() if reference else end
                yield start, labels[label], shown, (end, end)


def _shown(segment: str, start: int, end: int) -> str:
    return " ".join(segment[start + 1 : end - 1].split())


@dataclass(frozen=True, slots=True)
class Graph:
    """By source: the documents it refers to, those that refer to it, targets nobody has, and files that are none."""

    links: Mapping[str, tuple[str, ...]]
    backlinks: Mapping[str, tuple[str, ...]]
    unresolved: Mapping[str, tuple[str, ...]]
    attachments: Mapping[str, tuple[str, ...]]


def resolve(
    links: Mapping[str, Iterable[Link]], sources: Collection[str], aliases: Mapping[str, str] | None = None
) -> Graph:
    """The graph of a base from the links of each source. A wikilink names a path, a file name with or without its
    extension, or one of `aliases` (name to source); the nearest of several wins. Repetitions count once, links to the
    source itself and to addresses not at all.
    """
    names = _Names(sources, aliases or {})
    found: dict[str, dict[str, None]] = {source: {} for source in sources}
    back: dict[str, dict[str, None]] = {source: {} for source in sources}
    unresolved: dict[str, dict[str, None]] = {}
    attachments: dict[str, dict[str, None]] = {}
    for source in sources:
        folder = source.rpartition("/")[0]
        for link in links.get(source, ()):
            written = _page(link)
            if not written:
                continue
            target = names.find(written, folder, link.kind)
            if target is None:
                missing = attachments if _FILE.search(written) and not _NOTE.search(written) else unresolved
                missing.setdefault(source, {})[written] = None
            elif target != source:
                found[source][target] = None
                back[target][source] = None
    return Graph(*(_tuples(part) for part in (found, back, unresolved, attachments)))


def _tuples(part: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    return {source: tuple(targets) for source, targets in part.items()}


def _page(link: Link) -> str:
    """The page that is meant, without heading, block and query; empty for a place in the document itself."""
    if link.kind == "url":
        return ""
    page = link.target.partition("#")[0]
    if link.kind == "markdown":
        page = unquote(page.partition("?")[0])
    if link.kind == "wikilink":
        page = page.partition("^")[0].strip()
    return page if page.isascii() else unicodedata.normalize("NFC", page)


class _Names:
    """What a reference may call each source, without regard to case and to how accents are encoded."""

    def __init__(self, sources: Collection[str], aliases: Mapping[str, str]) -> None:
        self._paths: dict[str, str] = {}
        self._names: dict[str, list[str]] = {}
        for source in sorted(sources):
            for path in (source, _NOTE.sub("", source)):
                self._paths.setdefault(_key(path), source)
                self._add(path.rsplit("/", 1)[-1], source)
        known = frozenset(sources)
        for alias, source in aliases.items():
            if source in known:
                self._add(alias, source)

    def _add(self, name: str, source: str) -> None:
        named = self._names.setdefault(_key(name), [])
        if not named or named[-1] != source:
            named.append(source)

    def find(self, written: str, folder: str, kind: str) -> str | None:
        """The source that `written` means in a document of that folder; None when there is none."""
        if not written.startswith("/"):
            found = self._at(f"{folder}/{written}" if folder else written)
            if found is not None or kind == "markdown":
                return found
        found = self._at(written.lstrip("/"))
        if found is not None:
            return found
        named = self._names.get(_key(written), [])
        return min(named, key=lambda other: _distance(folder, other), default=None)

    def _at(self, path: str) -> str | None:
        """The source at that path of the base, or the index page of that folder."""
        path = posixpath.normpath(path or ".")
        pages = (f"{path}/{page}" for page in _INDEX_PAGES) if path != "." else iter(_INDEX_PAGES)
        keys = map(_key, chain((path,), pages))
        return next((self._paths[key] for key in keys if key in self._paths), None)


def _key(name: str) -> str:
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", name).casefold()


def _distance(folder: str, other: str) -> tuple[int, int, str]:
    """Folders to go up and down from one to the other; the shorter path first among equals."""
    here, there = folder.split("/"), posixpath.dirname(other).split("/")
    common = len(posixpath.commonprefix([here, there]))
    return len(here) + len(there) - 2 * common, len(other), other
