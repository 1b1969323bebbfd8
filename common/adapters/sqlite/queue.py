"""The PullQueue port over the one-machine database.

It shares the catalog's file on purpose: a generation and the event that announces it are then one transaction, and
after a power cut queue and catalog are of the same moment.
"""

import json
import random
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from common.adapters.sqlite.connection import Database
from common.domain.backoff import BUSY, FAILURES, MAX_ATTEMPTS, Backoff
from common.ports import Clock, Delivery, Message

_TAKE = """
SELECT id, topic, body, deliveries, counted FROM messages
WHERE topic = ? AND dead = 0 AND due <= ? ORDER BY due, id LIMIT 1
"""


class SqliteQueue:
    """Topics with delay, hold, backoff and dead letters.

    A delivery counts when it is taken, so one whose holder died counts too; `retry(counts=False)` takes that back.
    After `max_attempts` counted ones the message is a dead letter. `wake(topic)` is called after each publish, once it
    can be taken. A delivery's id is good for that delivery alone: after its hold ran out and another consumer has the
    message, acknowledging or retrying the old one does nothing.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        max_attempts: int = MAX_ATTEMPTS,
        failures: Backoff = FAILURES,
        busy: Backoff = BUSY,
        jitter: Callable[[], float] = random.random,
        wake: Callable[[str], None] | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._max_attempts = max_attempts
        self._failures = failures
        self._busy = busy
        self._jitter = jitter
        self._wake = wake

    def publish(self, topic: str, message: Message, delay: float = 0.0) -> str:
        with self._database.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO messages (topic, due, body) VALUES (?, ?, ?)",
                (topic, self._clock.now() + delay, json.dumps(asdict(message), separators=(",", ":"))),
            )
            if self._wake is not None:
                wake = self._wake
                self._database.after_commit(lambda: wake(topic))
        return str(cursor.lastrowid)

    def take(self, topic: str, hold: float) -> Delivery | None:
        due = self.next_due(topic)
        if due is None or due > self._clock.now():
            return None
        with self._database.transaction() as connection:
            now = self._clock.now()
            while (row := connection.execute(_TAKE, (topic, now)).fetchone()) is not None:
                if row[4] >= self._max_attempts:
                    _bury(connection, row[0])
                    continue
                connection.execute(
                    "UPDATE messages SET due = ?, held = 1, deliveries = deliveries + 1, counted = counted + 1 "
                    "WHERE id = ?",
                    (now + hold, row[0]),
                )
                return _delivery((*row[:3], row[3] + 1))
        return None

    def acknowledge(self, delivery: Delivery) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM messages WHERE id = ? AND deliveries = ? AND held AND dead = 0", _receipt(delivery)
            )

    def retry(self, delivery: Delivery, *, counts: bool = True) -> None:
        with self._database.transaction() as connection:
            row = connection.execute(
                "SELECT id, counted, uncounted FROM messages WHERE id = ? AND deliveries = ? AND held AND dead = 0",
                _receipt(delivery),
            ).fetchone()
            if row is None:
                return
            message, counted, uncounted = row
            if counts and counted >= self._max_attempts:
                _bury(connection, message)
                return
            if counts:
                uncounted, wait = 0, self._failures.delay(counted, self._jitter())
            else:
                counted, uncounted = counted - 1, uncounted + 1
                wait = self._busy.delay(uncounted, self._jitter())
            connection.execute(
                "UPDATE messages SET due = ?, held = 0, counted = ?, uncounted = ? WHERE id = ?",
                (self._clock.now() + wait, counted, uncounted, message),
            )

    def waiting(self, topic: str) -> int:
        with self._database.read() as connection:
            row = connection.execute("SELECT COUNT(*) FROM messages WHERE topic = ? AND dead = 0", (topic,)).fetchone()
        return int(row[0])

    def next_due(self, topic: str) -> float | None:
        with self._database.read() as connection:
            row = connection.execute("SELECT MIN(due) FROM messages WHERE topic = ? AND dead = 0", (topic,)).fetchone()
        return None if row[0] is None else float(row[0])

    def dead(self, topic: str) -> Sequence[Delivery]:
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id, topic, body, deliveries FROM messages WHERE topic = ? AND dead ORDER BY id", (topic,)
            ).fetchall()
        return [_delivery(row) for row in rows]

    def revive(self, topic: str) -> int:
        with self._database.transaction() as connection:
            changed = connection.execute(
                "UPDATE messages SET held = 0, due = ? WHERE topic = ? AND held AND dead = 0",
                (self._clock.now(), topic),
            )
            return changed.rowcount


def _bury(connection: sqlite3.Connection, message: int) -> None:
    connection.execute("UPDATE messages SET dead = 1, held = 0 WHERE id = ?", (message,))


def _delivery(row: tuple[Any, ...]) -> Delivery:
    message, topic, body, deliveries = row
    content = json.loads(body)
    return Delivery(f"{message}.{deliveries}", topic, Message(content["data"], content["attributes"]), deliveries)


def _receipt(delivery: Delivery) -> tuple[int, int]:
    message, _, deliveries = delivery.id.partition(".")
    return int(message), int(deliveries)
