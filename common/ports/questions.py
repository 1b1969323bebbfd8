"""The part of the catalog that keeps questions."""

from collections.abc import Sequence
from typing import Protocol

from common.domain.questions import KeptQuestion


class Questions(Protocol):
    """Questions of a base, each one once, within `LIMITS` of the domain. All methods raise Unavailable when the catalog
    is out of reach; the epoch and the base's record are left as they are.
    """

    def add_questions(self, base: str, asked: Sequence[KeptQuestion]) -> None:
        """Merge real questions with those that are kept. Whoever else adds at the same time is merged too."""

    def replace_questions(self, base: str, stored: Sequence[KeptQuestion]) -> None:
        """Make these the base's set, in one step; none takes the set away."""

    def questions(self, base: str) -> Sequence[KeptQuestion]:
        """All that are kept, as `merged` orders them."""

    def forget_questions(self, base: str) -> None:
        """Keep none any more, neither real ones nor the set. Repeatable."""
