"""Builds a parsed document piece by piece: appends cleaned text and records a block for each piece."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from common.adapters.parsers.limits import DEFAULT_LIMITS
from common.adapters.parsers.refusals import limit
from common.domain.documents import Block, BlockKind, JsonValue, Link, ParsedDocument
from common.domain.titles import default_keywords, file_title, short_title

_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\ufeff\ufffe\uffff\ufffd\ud800-\udfff"
_UNWANTED = re.compile(f"[{_CONTROLS}]")
_FOREIGN = re.compile(f"[{_CONTROLS}\r\u2028\u2029\u0085]")
_BLANKS = " \t\u00a0"
_BLANK_ENDS = tuple(f"{blank}\n" for blank in _BLANKS)
_GAPS = re.compile("\n{3,}")
_SPACES = re.compile(r"\s+")
_LINE_ENDS = re.compile("\r\n?|\u2028|\u2029|\u0085|\x0b|\x0c")
_MAX_LEVEL = 6
_MAX_HEADING = 300
_MAX_LINKS = 5_000
_MAX_TITLES = 50


def clean(text: str) -> str:
    """NFC, line feeds only, without control and replacement characters and without blanks at line ends."""
    # Most pieces need nothing of this, which plain methods tell many times faster than patterns do.
    shown = text.replace("\n", "") if "\n" in text else text
    if (not shown.isprintable() or "\ufffd" in shown) and _FOREIGN.search(text):
        text = _UNWANTED.sub("", _LINE_ENDS.sub("\n", text))
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if text[-1:] in _BLANKS or ("\n" in text and any([end in text for end in _BLANK_ENDS])):  # noqa: C419 - faster
        text = "\n".join([line.rstrip(_BLANKS) for line in text.split("\n")])
    if "\n\n\n" in text:
        text = _GAPS.sub("\n\n", text)
    return text.rstrip(" \n").lstrip("\n")


def one_line(text: str) -> str:
    """`clean` text on a single line, runs of white space as one blank."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    return _SPACES.sub(" ", clean(text)).strip()


def table_row(cells: Sequence[str]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in cells) + " |"


class TextBuilder:
    """Pieces in reading order become `text` with one Block each, a blank line (or `separator`) between two pieces.

    Headings stand as Markdown headings and form the path of what follows. Raises DocumentError PARSER_LIMIT when the
    text grows past `characters`.
    """

    def __init__(
        self, what: str = "file", *, characters: int = DEFAULT_LIMITS.characters, separator: str = "\n\n"
    ) -> None:
        self._what = what
        self._characters = characters
        self._separator = separator
        self._pieces: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._path: list[tuple[int, str]] = []
        self._headings: tuple[str, ...] = ()
        self._titles: list[str] = []
        self._links: list[tuple[int, str, str]] = []
        self.warnings: list[str] = []
        self.title = ""

    @property
    def empty(self) -> bool:
        return not self._blocks

    @property
    def headings(self) -> tuple[str, ...]:
        """The path of titles that the next piece stands under."""
        return self._headings

    @property
    def position(self) -> int:
        """Where the next piece will start."""
        return self._length + (len(self._separator) if self._pieces else 0)

    def warn(self, message: str) -> None:
        if message not in self.warnings:
            self.warnings.append(message)

    def add(
        self,
        text: str,
        kind: BlockKind = "paragraph",
        *,
        page: int | None = None,
        whole: bool = False,
        header: str = "",
    ) -> None:
        """Append one piece; a blank one is left out."""
        text = clean(text)
        if text and not text.isspace():
            self.append_clean(text, kind, page=page, whole=whole, header=header)

    def append_clean(
        self,
        text: str,
        kind: BlockKind = "paragraph",
        *,
        page: int | None = None,
        whole: bool = False,
        header: str = "",
    ) -> None:
        """Append a piece that already is as `clean` leaves it and is not blank."""
        start = self._length + len(self._separator) if self._pieces else 0
        end = self._length = start + len(text)
        if end > self._characters:
            raise limit(self._what, f"it holds more than {self._characters:,} characters of text")
        self._pieces.append(text)
        self._blocks.append(Block(start, end, kind, self._headings, page, whole, header=header))

    def heading(self, level: int, text: str, *, page: int | None = None) -> None:
        """A title of `level` (1 is the highest); the first one of all names the document."""
        text = one_line(text)
        if not text:
            return
        if len(text) > _MAX_HEADING:
            self.add(text, page=page)
            return
        level = min(max(level, 1), _MAX_LEVEL)
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, text))
        self._headings = tuple(title for _, title in self._path)
        self.title = self.title or text
        if len(self._titles) < _MAX_TITLES:
            self._titles.append(text)
        self.append_clean(f"{'#' * level} {text}", "heading", page=page)

    def section(self, level: int, text: str) -> None:
        """Put what follows under a title that is not part of the text."""
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        if text:
            self._path.append((level, one_line(text)))
        self._headings = tuple(title for _, title in self._path)

    def table(self, rows: Sequence[Sequence[str]], *, page: int | None = None, head: bool = True) -> None:
        """A Markdown table; its first row is the header that later parts repeat, unless `head` is False."""
        rows = [row for row in rows if any(cell.strip() for cell in row)]
        if not rows:
            return
        width = max(len(row) for row in rows)
        padded = [[*row, *([""] * (width - len(row)))] for row in rows]
        lines = [table_row(row) for row in padded]
        if width == 1:
            self.add("\n".join(one_line(row[0]) for row in padded), "table", page=page)
        elif head and len(lines) > 1:
            header = f"{lines[0]}\n|{' --- |' * width}"
            self.append_clean("\n".join([header, *lines[1:]]), "table", page=page, header=header)
        else:
            self.append_clean("\n".join(lines), "table", page=page)

    def link(self, target: str, text: str) -> None:
        """A reference found in the piece that is added next."""
        if target and len(self._links) < _MAX_LINKS:
            self._links.append((self.position, target, one_line(text)))

    def document(
        self,
        source: str,
        kind: str,
        *,
        title: str = "",
        paged: bool = False,
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> ParsedDocument:
        """What was built. The title is the given one, else the first heading, else the file's name."""
        text = self._separator.join(self._pieces)
        name = source.rsplit("/", 1)[-1]
        title = short_title(one_line(title) or self.title or file_title(source))
        return ParsedDocument(
            source=source,
            title=title,
            text=text,
            blocks=tuple(self._blocks),
            kind=kind,
            paged=paged,
            keywords=default_keywords(title, self._titles),
            external_id=f"{source[: len(source) - len(name)]}{file_title(name)}",
            metadata=metadata or {},
            links=self._placed_links(text),
            warnings=tuple(self.warnings),
        )

    def _placed_links(self, text: str) -> tuple[Link, ...]:
        if not self._links:
            return ()
        ends = [match.start() for match in re.finditer("\n", text)]
        return tuple(
            Link(target, label, bisect_right(ends, min(position, len(text)) - 1) + 1, "url")
            for position, target, label in self._links
        )
