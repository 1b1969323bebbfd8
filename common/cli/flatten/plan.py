"""What one run of the tool is asked for and what it answers."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from common.domain.documents import Parsed
from common.domain.errors import FicharioError

Kind = Literal["docs", "code", "auto"]
MIB: Final = 1 << 20
MAX_FILE_BYTES: Final = MIB

Decode = Callable[[bytes], str]
"""Bytes to text; raises DocumentError for what is none."""
ReadPage = Callable[[bytes, str], Parsed]
"""An HTML page, given its bytes and a file name, to documents whose text is Markdown; raises DocumentError."""


class FlattenFailed(FicharioError):
    """Nothing was written; the message says what to do."""


@dataclass(frozen=True, slots=True)
class FlattenOptions:
    """Exactly one of `root`, `repo` and `url` is set. `max_chars` 0 keeps every file on one line."""

    output: Path
    root: Path | None = None
    repo: str = ""
    url: str = ""
    kind: Kind = "docs"
    max_chars: int = 0
    max_pages: int = 200
    max_depth: int = 5
    allow_private: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError for a combination that no command line should let through."""
        if (self.root is not None) + bool(self.repo) + bool(self.url) != 1:
            raise ValueError("give exactly one of --root, --repo and --url")
        if self.max_chars < 0 or self.max_pages < 1 or self.max_depth < 0:
            raise ValueError("--max-chars and --max-depth are 0 or more, --max-pages is 1 or more")


@dataclass(frozen=True, slots=True)
class Item:
    """One file or page to write: its text under `source`, with where it came from."""

    source: str
    text: str
    id: str
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Tally:
    """What was left out, by reason: files, whole folders (counted as one), pages, links that were not followed."""

    skipped: Counter[str] = field(default_factory=Counter)
    cut_off: Counter[str] = field(default_factory=Counter)

    def skip(self, reason: str) -> None:
        self.skipped[reason] += 1

    def cut(self, reason: str) -> None:
        self.cut_off[reason] += 1


@dataclass(frozen=True, slots=True)
class FlattenReport:
    """`documents` files or pages on `lines` lines; `skipped` and `cut_off` count what is missing by reason."""

    output: str
    documents: int
    lines: int
    characters: int
    skipped: Mapping[str, int]
    cut_off: Mapping[str, int]
    repo_url: str = ""
    commit: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def notices(self) -> list[str]:
        """One line per reason, for people."""
        skipped = [f"skipped {count:,}: {reason}" for reason, count in sorted(self.skipped.items())]
        return [*skipped, *(f"cut off {count:,}: {reason}" for reason, count in sorted(self.cut_off.items()))]
