"""RTF through striprtf: its words and tables; pictures, which stand in it as text, are taken out first."""

import re

from striprtf.striprtf import rtf_to_text

from common.adapters.parsers.build import TextBuilder
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.refusals import corrupt
from common.domain.documents import Parsed

_CELLS = re.compile(r"[^|]*\|(?:[^|]*\|)*\s*$")
_PICTURE = re.compile(rb"(?<=\s)[0-9a-fA-F\s]{4096,}")


def parse_rtf(data: bytes, name: str, limits: Limits) -> Parsed:
    """One document. Raises DocumentError CORRUPT, PARSER_LIMIT."""
    builder = TextBuilder("RTF document", characters=limits.characters)
    source = _PICTURE.sub(b"", data).decode("latin-1")
    try:
        text = str(rtf_to_text(source, errors="ignore"))  # type: ignore[no-untyped-call]
    except (ValueError, IndexError, KeyError, UnicodeError, LookupError) as error:
        raise corrupt("RTF document") from error
    rows: list[list[str]] = []
    for line in [*text.split("\n"), ""]:
        if _CELLS.match(line):
            rows.append(line.rstrip().rstrip("|").split("|"))
            continue
        builder.table(rows)
        rows = []
        builder.add(line)
    if builder.empty:
        return Parsed((), tuple(builder.warnings))
    return Parsed((builder.document(name, "rtf"),))
