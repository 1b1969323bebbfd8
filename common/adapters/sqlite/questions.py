"""Kept questions in the one-machine database: one row each. Works inside its caller's transaction."""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from common.domain.questions import KeptQuestion, Origin, merged
from common.domain.records import to_json

_ALL = "SELECT record FROM questions WHERE base = ?"
_OF_ORIGIN = "SELECT record FROM questions WHERE base = ? AND origin = ?"
_PUT = "INSERT OR REPLACE INTO questions (base, origin, digest, record) VALUES (?, ?, ?, ?)"
_DROP = "DELETE FROM questions WHERE base = ? AND origin = ? AND digest = ?"


def add(connection: sqlite3.Connection, base: str, asked: Sequence[KeptQuestion]) -> None:
    before = _decoded(connection.execute(_OF_ORIGIN, (base, "asked")))
    _settle(connection, base, "asked", before, merged(before, asked))


def replace(connection: sqlite3.Connection, base: str, stored: Sequence[KeptQuestion]) -> None:
    _settle(connection, base, "set", _decoded(connection.execute(_OF_ORIGIN, (base, "set"))), merged(stored))


def kept(connection: sqlite3.Connection, base: str) -> Sequence[KeptQuestion]:
    return merged(_decoded(connection.execute(_ALL, (base,))))


def forget(connection: sqlite3.Connection, base: str) -> None:
    connection.execute("DELETE FROM questions WHERE base = ?", (base,))


def _settle(
    connection: sqlite3.Connection,
    base: str,
    origin: Origin,
    before: Sequence[KeptQuestion],
    wanted: Sequence[KeptQuestion],
) -> None:
    """Write what differs, so that a busy base does not write all of its questions again and again."""
    gone = {each.digest for each in before} - {each.digest for each in wanted}
    connection.executemany(_DROP, [(base, origin, digest) for digest in gone])
    known = set(before)
    changed = [each for each in wanted if each not in known]
    connection.executemany(_PUT, [(base, origin, each.digest, json.dumps(to_json(each))) for each in changed])


def _decoded(rows: Iterable[tuple[str]]) -> list[KeptQuestion]:
    return [KeptQuestion(**json.loads(text)) for (text,) in rows]
