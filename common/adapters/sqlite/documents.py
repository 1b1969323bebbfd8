"""Document rows of the one-machine database: stored by generation, listed while that generation is live."""

import json
import posixpath
import sqlite3
from collections.abc import Sequence
from typing import Final

from common.domain.objects import ObjectRef
from common.domain.records import DocumentRecord, document_from_json, to_json

_LAST_CHARACTER: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)

_PUT = """
INSERT OR REPLACE INTO documents (base, object, generation, source, document_id, external_id, stem, record)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""

# CROSS JOIN fixes the order of the loops: documents by their index on source, then the object of each by its key.
# `?3 = ''` stands for a prefix that nothing sorts behind.
_LISTED = """
SELECT d.record FROM documents AS d CROSS JOIN objects AS o
    ON o.base = d.base AND o.name = d.object AND o.live = d.generation
WHERE d.base = ?1 AND d.source >= ?2 {below} AND (d.source, d.object) > (?4, ?5)
ORDER BY d.source, d.object LIMIT ?6
"""
_BELOW = _LISTED.format(below="AND d.source < ?3")
_TO_THE_END = _LISTED.format(below="AND ?3 = ''")

_NAMED = """
SELECT d.record FROM documents AS d CROSS JOIN objects AS o
    ON o.base = d.base AND o.name = d.object AND o.live = d.generation
WHERE d.rowid IN (
    SELECT rowid FROM documents WHERE base = ?1 AND source = ?2
    UNION SELECT rowid FROM documents WHERE base = ?1 AND document_id = ?2
    UNION SELECT rowid FROM documents WHERE base = ?1 AND external_id = ?2 AND external_id <> ''
    UNION SELECT rowid FROM documents WHERE base = ?1 AND stem = ?2
)
ORDER BY d.source, d.object
"""

_OF = "SELECT record FROM documents WHERE base = ? AND object = ? AND generation = ? ORDER BY source"


def put(connection: sqlite3.Connection, ref: ObjectRef, generation: int, documents: Sequence[DocumentRecord]) -> None:
    connection.executemany(
        _PUT,
        [
            (
                ref.base,
                ref.name,
                generation,
                document.source,
                document.document_id,
                document.external_id,
                posixpath.splitext(document.source)[0],
                json.dumps(to_json(document), separators=(",", ":")),
            )
            for document in documents
        ],
    )


def drop(connection: sqlite3.Connection, ref: ObjectRef, below: int, since: int) -> None:
    connection.execute(
        "DELETE FROM documents WHERE base = ? AND object = ? AND generation >= ? AND generation < ?",
        (ref.base, ref.name, since, below),
    )


def listed(
    connection: sqlite3.Connection, base: str, prefix: str, after: tuple[str, str], limit: int
) -> Sequence[DocumentRecord]:
    if not _encodes(prefix):
        return []
    end = _behind(prefix)
    sql = _BELOW if end else _TO_THE_END
    return _decoded(connection.execute(sql, (base, max(prefix, after[0]), end, *after, limit or -1)))


def named(connection: sqlite3.Connection, base: str, name: str) -> Sequence[DocumentRecord]:
    return _decoded(connection.execute(_NAMED, (base, name))) if _encodes(name) else []


def of(connection: sqlite3.Connection, ref: ObjectRef, generation: int) -> Sequence[DocumentRecord]:
    return _decoded(connection.execute(_OF, (ref.base, ref.name, generation)))


def _decoded(rows: sqlite3.Cursor) -> list[DocumentRecord]:
    return [document_from_json(json.loads(text)) for (text,) in rows.fetchall()]


def _encodes(text: str) -> bool:
    """False for lone surrogates, which no stored name holds and SQLite cannot be asked about."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _behind(prefix: str) -> str:
    """The first string behind all that start with `prefix`, or '' when there is none. UTF-8 sorts as code points do."""
    trimmed = prefix.rstrip(chr(_LAST_CHARACTER))
    if not trimmed:
        return ""
    following = ord(trimmed[-1]) + 1
    return trimmed[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)
