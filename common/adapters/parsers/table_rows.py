"""Rows of a sheet or CSV as text: where tables begin and end, which row names the columns, each row whole."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from common.adapters.parsers.build import TextBuilder, one_line

_NUMBER = re.compile(r"[-+(]?[$€£]?\s?\d[\d.,'\s]*%?\)?$")
_MOSTLY = 0.6
_TITLE_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Region:
    """Rows that stand together. `header` is empty where no row names the columns; `titles` stand above it."""

    titles: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def is_figure(cell: str) -> bool:
    return bool(_NUMBER.match(cell.strip()))


def regions(rows: Sequence[Sequence[str]]) -> list[Region]:
    """The tables of a sheet: runs of rows between blank ones, each with its titles and its header."""
    found: list[Region] = []
    run: list[tuple[str, ...]] = []
    for row in [*rows, ()]:
        if any(cell.strip() for cell in row):
            run.append(tuple(row))
        elif run:
            found.append(_region(run))
            run = []
    return found


def _region(run: list[tuple[str, ...]]) -> Region:
    titles: list[str] = []
    while run and len(run) > 1 and _filled(run[0]) == 1 and max(_filled(row) for row in run) > 1:
        titles.append(next(cell for cell in run[0] if cell.strip()))
        run = run[1:]
    if _names_columns(run):
        return Region(tuple(titles), run[0], tuple(run[1:]))
    return Region(tuple(titles), (), tuple(run))


def _filled(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _names_columns(run: list[tuple[str, ...]]) -> bool:
    """The first row is words alone, all different, over most of the columns that the others use."""
    if len(run) < 2:  # noqa: PLR2004 - a header needs a row below it
        return False
    words = [cell.strip() for cell in run[0] if cell.strip()]
    used = sum(any(at < len(row) and row[at].strip() for row in run) for at in range(max(map(len, run))))
    if len(words) < 2 or len(set(words)) < len(words) or len(words) < _MOSTLY * used:  # noqa: PLR2004 - two columns
        return False
    if any(is_figure(word) for word in words):
        return False
    # Labels beside their values look like a header too; columns of a table hold the same kind of thing.
    below = [cell for row in run[1:] for cell in row if cell.strip()]
    return not any(word.endswith(":") for word in words) and bool(below)


def column_name(index: int) -> str:
    """The letters a spreadsheet shows above column `index` (0-based)."""
    name = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def row_text(header: Sequence[str], row: Sequence[str]) -> str:
    """One row on one line: `Header: value; Header: value`, empty cells left out."""
    parts: list[str] = []
    for index, cell in enumerate(row):
        value = one_line(cell)
        if value:
            name = one_line(header[index]) if index < len(header) else ""
            parts.append(f"{name.rstrip(':') or f'Column {column_name(index)}'}: {value}")
    return "; ".join(parts)


def add_region(builder: TextBuilder, region: Region, *, page: int | None = None) -> None:
    """Append a region: its titles, then each row as a record of its own, or as a line where nothing names columns."""
    builder.section(_TITLE_LEVEL, "")
    for title in region.titles:
        builder.add(title, page=page)
    if region.titles:
        builder.section(_TITLE_LEVEL, region.titles[0])
    if not region.header:
        lines = (" | ".join(filter(None, map(one_line, row))) for row in region.rows)
        builder.add("\n".join(lines), "table", page=page)
        return
    for row in region.rows:
        builder.add(row_text(region.header, row), "record", page=page, whole=True)
