"""JSON Lines: a corpus of documents where its lines name their sources, else a file of records. A bad line costs itself
alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from common.adapters.parsers.jsonl_lines import BadLine, Line, read_lines
from common.adapters.parsers.text import decode
from common.domain.documents import Block, Dropped, JsonValue, Parsed, ParsedDocument
from common.domain.errors import DocumentError
from common.domain.objects import source_problem
from common.domain.splitting import trim

Route = Callable[[str, str], Parsed]
"""Reads one document's text, given its source, by the type of that; may raise DocumentError."""

_NAMED: Final = 20
_RANGES: Final = 100


def parse_jsonl(data: bytes, name: str, route: Route) -> Parsed:
    """The documents of a JSONL object, lines with the same `source` as one, in the order of their first lines.

    Without any `source` the file is one document: of the lines' `content` or `text` where they have one, else of the
    lines as they are written. Of a key that is repeated the last value counts; NaN and Infinity become null; blank
    lines are nothing. Raises DocumentError CORRUPT when no line can be read, BAD_ENCODING for bytes that are no text.
    """
    lines, bad = read_lines(data)
    if any("source" in line.fields for line in lines):
        return _corpus(lines, bad, route)
    if any(line.content is not None for line in lines):
        return _contents(lines, bad, name)
    if not lines:
        return _nothing(bad)
    return Parsed((_records(data, name, bad),), _report(bad))


def _corpus(lines: list[Line], bad: list[BadLine], route: Route) -> Parsed:
    """Empties `lines`: one emoji in each makes a large corpus take four times its bytes, which must not stand twice."""
    groups: dict[str, list[Line]] = {}
    notes: list[str] = []
    for line in lines:
        source = line.fields.get("source")
        reason = _source_problem(source) or line.problem
        if reason:
            bad.append(BadLine(line.number, reason, line.is_empty and not _source_problem(source)))
        else:
            groups.setdefault(str(source), []).append(line)
            notes += line.notes
    lines.clear()
    if not groups:
        return _nothing(bad)
    documents: list[ParsedDocument] = []
    for source in list(groups):
        members = groups.pop(source)
        try:
            parsed = route(source, _joined(members))
        except DocumentError as error:
            numbers = number_ranges([line.number for line in members])
            notes.append(f"{source} (line {numbers}) was skipped: {error.reason}")
            continue
        documents += [_described(document, members) for document in parsed.documents]
        notes += [f"{source}: {warning}" for warning in parsed.warnings]
    return Parsed(tuple(documents), (*_report(bad), *_first(notes)))


def _source_problem(source: JsonValue) -> str | None:
    if source is None:
        return "it names no `source`"
    if not isinstance(source, str):
        return "its `source` is not a text"
    problem = source_problem(source)
    return f"its `source` cannot name a document: {problem}" if problem else None


def _described(document: ParsedDocument, lines: Sequence[Line]) -> ParsedDocument:
    """The document with what its lines say about it; what its own front matter says outranks them."""
    first_line = lines[0].first_line or 1
    metadata: dict[str, JsonValue] = {}
    for line in lines:
        metadata = {**line.metadata, **metadata}
    source = document.source
    by_default = document.external_id in {"", source, source.rsplit(".", 1)[0]}
    return replace(
        document,
        title=next((line.text_field("title") for line in lines if line.text_field("title")), document.title),
        first_line=first_line,
        external_id=(lines[0].external_id if by_default else "") or document.external_id,
        metadata={**metadata, **document.metadata},
        links=tuple(replace(link, line=link.line + first_line - 1) for link in document.links),
    )


def _joined(lines: Sequence[Line]) -> str:
    """The contents in order: parts that continue each other exactly as they were cut, others a blank line apart."""
    pieces: list[str] = []
    expected = 0
    for line in lines:
        content = line.content or ""
        if pieces and line.first_line != expected:
            pieces.append("\n" * max(0, 2 - _line_ends(pieces[-1])))
        pieces.append(content)
        expected = line.first_line + content.count("\n") if line.first_line else 0
    return "".join(pieces)


def _line_ends(text: str) -> int:
    return len(text) - len(text.rstrip("\n"))


def _contents(lines: Sequence[Line], bad: list[BadLine], name: str) -> Parsed:
    """One document of what the lines hold; its lines are not those of the file, so none are cited."""
    good = [line for line in lines if not line.problem]
    bad += [BadLine(line.number, line.problem, line.is_empty) for line in lines if line.problem]
    if not good:
        return _nothing(bad)
    blocks: list[Block] = []
    pieces: list[str] = []
    position = 0
    for line in good:
        content = line.content or ""
        piece = content + "\n" * max(1, 2 - _line_ends(content))
        start, end = position, position + len(content)
        blocks.append(Block(start, end, "record", (line.text_field("title"),) if line.text_field("title") else ()))
        pieces.append(piece)
        position += len(piece)
    document = ParsedDocument(name, name.rsplit("/", 1)[-1], "".join(pieces), tuple(blocks), kind="jsonl", paged=True)
    return Parsed((document,), (*_report(bad), *_first([note for line in good for note in line.notes])))


def _records(data: bytes, name: str, bad: Sequence[BadLine]) -> ParsedDocument:
    """The file as it stands, one record a line, bad lines left out of what is embedded."""
    text = decode(data)
    reasons = {line.number: line.reason for line in bad}
    blocks: list[Block] = []
    dropped: list[Dropped] = []
    position = 0
    for number, line in enumerate(text.split("\n"), 1):
        start, end = trim(text, position, position + len(line))
        if number in reasons:
            dropped.append(Dropped(start, end, f"line {number} was skipped: {reasons[number]}"))
        elif start < end:
            blocks.append(Block(start, end, "record", whole=True))
        position += len(line) + 1
    return ParsedDocument(name, name.rsplit("/", 1)[-1], text, tuple(blocks), kind="jsonl", dropped=tuple(dropped))


def _nothing(bad: Sequence[BadLine]) -> Parsed:
    if all(line.empty for line in bad):
        return Parsed((), _report(bad))
    worst = next(line for line in bad if not line.empty)
    raise DocumentError(
        "CORRUPT",
        f"No line of this file could be read; line {worst.number}: {worst.reason}.",
        'Write one JSON object a line, as {"source": "docs/page.md", "content": "..."}, and upload the file again.',
    )


def _report(bad: Sequence[BadLine]) -> tuple[str, ...]:
    """How many lines were skipped, which, and of the first ones why."""
    if not bad:
        return ()
    ordered = sorted(bad, key=lambda line: line.number)
    count = f"{len(ordered):,} line{'s were' if len(ordered) > 1 else ' was'} skipped"
    return (
        f"{count}: {number_ranges([line.number for line in ordered])}",
        *(f"line {line.number} was skipped: {line.reason}" for line in ordered[:_NAMED]),
    )


def _first(notes: Sequence[str]) -> tuple[str, ...]:
    left = len(notes) - _NAMED
    return (*notes[:_NAMED], *([f"and {left:,} more of these"] if left > 0 else []))


def number_ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as `4-9, 12`, the first hundred ranges of them."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in ranges[:_RANGES]]
    return ", ".join([*shown, *(["..."] if len(ranges) > _RANGES else [])])
