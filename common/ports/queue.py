"""The ports of queues: messages by topic, delivered at least once, pushed by a broker or asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Message:
    """What travels in a queue: a JSON body and string attributes, as Pub/Sub has them."""

    data: Mapping[str, Any]
    attributes: Mapping[str, str] = field(default_factory=dict)


class Queue(Protocol):
    """At-least-once delivery by topic."""

    def publish(self, topic: str, message: Message, delay: float = 0.0) -> str:
        """Accept the message for delivery after `delay` seconds; answers its id. Raises Unavailable."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One attempt to deliver: `id` acknowledges it, `attempt` counts from 1."""

    id: str
    topic: str
    message: Message
    attempt: int


class PullQueue(Queue, Protocol):
    """A queue whose consumer asks (one machine); in the cloud the broker pushes instead."""

    def take(self, topic: str, hold: float) -> Delivery | None:
        """The next due message, invisible to others for `hold` seconds, or None."""

    def acknowledge(self, delivery: Delivery) -> None: ...

    def retry(self, delivery: Delivery, *, counts: bool = True) -> None:
        """Give it back with backoff. One that counted too often goes to the dead letters instead."""

    def waiting(self, topic: str) -> int:
        """How many messages are not yet acknowledged, held ones included."""

    def next_due(self, topic: str) -> float | None:
        """When the next message can be taken (seconds since the epoch), or None when there is none."""

    def dead(self, topic: str) -> Sequence[Delivery]:
        """The dead letters, oldest first."""

    def revive(self, topic: str) -> int:
        """Make every held message due again (after a crash of all consumers). Answers how many."""
