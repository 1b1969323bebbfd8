"""A corpus file: one JSON object a line, written whole or not at all."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from common.cli.flatten.plan import Item

# Line ends to other programs, though not to JSON Lines: escaped, so that whatever splits the file gets whole lines.
_ESCAPED: Final = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"})


def write_corpus(
    output: Path, items: Iterable[Item], max_chars: int, provenance: dict[str, str]
) -> tuple[int, int, int]:
    """Documents, lines and characters written; the file appears complete or stays as it was."""
    documents = lines = characters = 0
    output.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".fichario-", suffix=".tmp", dir=output.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            for item in items:
                documents += 1
                for line in corpus_lines(item, max_chars, provenance):
                    file.write(line + "\n")
                    lines += 1
                characters += len(item.text)
        _publish(Path(name), output)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return documents, lines, characters


def _publish(written: Path, output: Path) -> None:
    mask = os.umask(0)
    os.umask(mask)
    written.chmod(0o666 & ~mask)
    written.replace(output)


def corpus_lines(item: Item, max_chars: int, provenance: dict[str, str]) -> Iterator[str]:
    """The lines of one item. A part says on which line of the source it begins, so passages cite that file's lines."""
    parts = list(parts_of(item.text, max_chars))
    for number, (first_line, content) in enumerate(parts, 1):
        body: dict[str, Any] = {"id": item.id if number == 1 else f"{item.id}#{number}", "source": item.source}
        if item.title:
            body["title"] = item.title
        body["content"] = content
        if len(parts) > 1:
            body["firstLine"] = first_line
        body |= provenance
        if item.metadata:
            body["metadata"] = dict(item.metadata)
        yield json.dumps(body, ensure_ascii=False).translate(_ESCAPED)


def parts_of(text: str, max_chars: int) -> Iterator[tuple[int, str]]:
    """First line and content of the parts: whole lines up to `max_chars` characters, a longer line cut. Joined they are
    the text. No part is blank: blank lines go with the part before them, beyond its length if need be.
    """
    if max_chars <= 0 or len(text) <= max_chars:
        yield 1, text
        return
    start, line = 0, 1
    while start < len(text):
        end = _part_end(text, start, max_chars)
        yield line, text[start:end]
        line += text.count("\n", start, end)
        start = end


def _part_end(text: str, start: int, max_chars: int) -> int:
    end = min(max(start + max_chars, _visible(text, start) + 1), len(text))
    line_end = text.rfind("\n", start, end) + 1 if end < len(text) else 0
    if line_end and text[start:line_end].strip():
        end = line_end
    visible = _visible(text, end)
    return visible if visible == len(text) else text.rfind("\n", end, visible) + 1 or end


def _visible(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position
