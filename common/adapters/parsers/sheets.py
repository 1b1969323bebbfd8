"""Workbooks (XLSX, XLSM, XLSB, XLS, ODS) through calamine: rows whole under their headers, stored formula values.

Hidden sheets are left out and named in the warnings; a formula without a stored value is shown as written.
"""

import datetime as dt
import io

import python_calamine
from lxml import etree

from common.adapters.parsers.build import TextBuilder
from common.adapters.parsers.limits import BoundedZip, Limits
from common.adapters.parsers.ooxml import Package, attribute, descendants, local
from common.adapters.parsers.refusals import corrupt, encrypted, limit
from common.adapters.parsers.table_rows import add_region, regions
from common.domain.documents import Parsed
from common.domain.titles import file_title

Value = int | float | str | bool | dt.time | dt.date | dt.datetime | dt.timedelta
_MAX_CELLS = 20_000_000
_MAX_MARGIN = 64
_WHOLE = 1e15


def parse_workbook(data: bytes, name: str, limits: Limits) -> Parsed:
    """One document, a heading for every sheet. Raises DocumentError ENCRYPTED, CORRUPT, PARSER_LIMIT."""
    if data.startswith(b"PK"):
        BoundedZip(data, "workbook", limits)
    try:
        workbook = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        builder = TextBuilder("workbook", characters=limits.characters)
        formulas = _formulas(data, limits)
        for sheet in workbook.sheets_metadata:
            if sheet.visible != python_calamine.SheetVisibleEnum.Visible:
                builder.warn(f"The hidden sheet '{sheet.name}' was left out.")
            elif sheet.typ == python_calamine.SheetTypeEnum.WorkSheet:
                _add_sheet(builder, workbook, sheet.name, formulas.get(sheet.name, {}))
    except python_calamine.PasswordError as error:
        raise encrypted("workbook") from error
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        if "password" in str(error).lower() or "encrypt" in str(error).lower():
            raise encrypted("workbook") from error
        raise corrupt("workbook") from error
    records = [block for block in builder.document(name, "").blocks if block.kind != "heading"]
    if not records:
        return Parsed((), tuple(builder.warnings))
    return Parsed((builder.document(name, "workbook", title=file_title(name)),))


def _add_sheet(
    builder: TextBuilder,
    workbook: python_calamine.CalamineWorkbook,
    name: str,
    formulas: dict[tuple[int, int], str],
) -> None:
    sheet = workbook.get_sheet_by_name(name)
    start = sheet.start or (0, 0)
    if sheet.height * sheet.width > _MAX_CELLS:
        raise limit("workbook", f"its sheet '{name}' spans {sheet.height:,} rows and {sheet.width:,} columns")
    # Columns keep their letters where the data begins further to the right.
    margin = [""] * start[1] if start[1] < _MAX_MARGIN else []
    rows = [margin + [_shown(value) for value in row] for row in sheet.to_python(skip_empty_area=True)]
    _fill(rows, formulas, (start[0], start[1] - len(margin)))
    found = regions(rows)
    if found:
        builder.heading(1, name)
    for region in found:
        add_region(builder, region)


def _fill(rows: list[list[str]], formulas: dict[tuple[int, int], str], start: tuple[int, int]) -> None:
    """Put the text of each formula without a stored value in its cell."""
    for (row, column), formula in formulas.items():
        at, across = row - start[0], column - start[1]
        if at < 0 or across < 0 or at >= len(rows) + 1_000 or across >= 1_000:  # noqa: PLR2004 - far outside the data
            continue
        while len(rows) <= at:
            rows.append([])
        rows[at].extend([""] * (across + 1 - len(rows[at])))
        rows[at][across] = rows[at][across] or f"={formula}"


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _WHOLE else f"{value:.15g}"
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(sep=" ")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return str(value)


def _formulas(data: bytes, limits: Limits) -> dict[str, dict[tuple[int, int], str]]:
    """By sheet and cell, the formulas of an XLSX that carry no stored value."""
    if not data.startswith(b"PK"):
        return {}
    package = Package(data, "workbook", limits)
    if "xl/workbook.xml" not in (name.lower() for name in package.names):
        return {}
    relations = package.relations("xl/workbook.xml")
    found: dict[str, dict[tuple[int, int], str]] = {}
    for sheet in descendants(package.xml("xl/workbook.xml"), "sheet"):
        keys = [str(value) for key, value in sheet.attrib.items() if str(key).endswith("}id")]
        target = next((relations[key].target for key in keys if key in relations), "")
        part = package.bytes_of(target) if target else None
        if part is not None and (b"<f>" in part or b"<f " in part or b"<f/>" in part or b":f>" in part):
            found[attribute(sheet, "name")] = _uncached(part)
    return found


def _uncached(part: bytes) -> dict[tuple[int, int], str]:
    found: dict[tuple[int, int], str] = {}
    try:
        safe = {"resolve_entities": False, "no_network": True, "load_dtd": False}
        for _, element in etree.iterparse(io.BytesIO(part), events=("end",), **safe):
            if local(element) == "c":
                parts = {local(entry): entry.text or "" for entry in element}
                if "f" in parts and not parts.get("v") and "is" not in parts:
                    place = _place(attribute(element, "r"))
                    if place is not None:
                        found[place] = parts["f"] or "formula without a stored value"
            elif local(element) == "row":
                element.clear()
    except etree.XMLSyntaxError as error:
        raise corrupt("workbook", "the XML of a sheet is broken") from error
    return found


def _place(reference: str) -> tuple[int, int] | None:
    """`B4` as (3, 1)."""
    letters = reference.rstrip("0123456789")
    digits = reference[len(letters) :]
    if not digits or not letters.isascii() or not letters.isalpha() or len(letters) > 3:  # noqa: PLR2004 - XFD is last
        return None
    column = 0
    for letter in letters.upper():
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(digits) - 1, column - 1
