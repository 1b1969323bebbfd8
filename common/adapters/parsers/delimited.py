"""CSV and TSV: the separator by consistency, each row on a line of its own under its column names.

Line N of the text is row N of the file wherever no cell holds a line break and no row is blank.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from common.adapters.parsers.build import TextBuilder, one_line
from common.adapters.parsers.decoding import decode_text
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.refusals import bad_encoding, limit
from common.adapters.parsers.table_rows import is_figure, row_text
from common.domain.documents import Parsed

_SEPARATORS: Final = ("\t", ";", "|", ",")
_QUOTED: Final = re.compile(r"(?<=\")[\t;|,](?=\")")
_SAMPLE_ROWS = 50
_ROWS_APART = 20_000
_SHARED = 400  # letters
_MAX_CELL = 4 * 1024 * 1024


def parse_delimited(data: bytes, name: str, limits: Limits) -> Parsed:
    """One document, a record for every row. Raises DocumentError BAD_ENCODING, PARSER_LIMIT."""
    text = decode_text(data)
    if "\x00" in text:
        raise bad_encoding("table")
    csv.field_size_limit(_MAX_CELL)
    builder = TextBuilder("table", characters=limits.characters, separator="\n")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator_of(text))
    try:
        _add_rows(builder, (row for row in rows if any(cell.strip() for cell in row)))
    except csv.Error as error:
        raise limit("table", f"one of its cells is longer than {_MAX_CELL // 1024:,} KiB") from error
    if builder.empty:
        return Parsed((), tuple(builder.warnings))
    return Parsed((builder.document(name, "csv"),))


def _add_rows(builder: TextBuilder, rows: Iterator[list[str]]) -> None:
    """Titles, the header and the rows, of which only the first are held at once."""
    first = list(islice(rows, _SAMPLE_ROWS))
    while len(first) > 2 and _filled(first[0]) == 1 and _filled(first[1]) > 1:  # noqa: PLR2004 - title, header, row
        builder.add(next(cell for cell in first[0] if cell.strip()))
        first = first[1:]
    if not first:
        return
    header = first[0] if _names_columns(first) else []
    if header:
        builder.add(" | ".join(filter(None, map(one_line, header))), "table")
    width = len(first[0])
    # A separator at the end of each line makes a column that never holds anything.
    narrow = width - 1 if width > 1 and not first[0][-1].strip() else width
    uneven, held, size = 0, [], 0
    for count, row in enumerate(chain(first[1:] if header else first, rows)):
        uneven += len(row) not in {width, narrow}
        held.append(row_text(header, row) if header else " | ".join(filter(None, map(one_line, row))))
        size += len(held[-1])
        # Of very many rows several share a block: one for each would take more memory than the table.
        if count < _ROWS_APART or size > _SHARED:
            builder.add("\n".join(held), "record", whole=True)
            held, size = [], 0
    builder.add("\n".join(held), "record", whole=True)
    if uneven:
        builder.warn(f"{uneven} rows have another number of cells than the first one; every cell was kept.")


def _filled(row: list[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _names_columns(rows: list[list[str]]) -> bool:
    first = [cell.strip() for cell in rows[0] if cell.strip()]
    return len(rows) > 1 and len(first) > 1 and not any(is_figure(cell) for cell in first)


def separator_of(text: str) -> str:
    """What stands between quoted cells, else what cuts the first rows into the same number of cells; on a tie the one
    that is rarest inside cells.
    """
    sample = "\n".join(text.split("\n", _SAMPLE_ROWS)[:_SAMPLE_ROWS])
    between = Counter(_QUOTED.findall(sample))
    if between:
        return str(between.most_common(1)[0][0])
    # Lines, not rows: a wrong separator may take the quotes of a cell for those of half the file.
    lines = max(sum(bool(line.strip()) for line in sample.split("\n")), 1)
    best, separator = 0.0, ","
    for candidate in _SEPARATORS:
        try:
            rows = [row for row in csv.reader(io.StringIO(sample, newline=""), delimiter=candidate) if row]
        except csv.Error:
            continue
        widths = Counter(len(row) for row in rows)
        if not widths:
            continue
        width, count = max(widths.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]))
        if width > 1 and (rated := round(count / lines, 1)) > best:
            best, separator = rated, candidate
    return separator
