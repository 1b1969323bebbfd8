"""How material of a base is written into a block: what its parts take of a budget, and the lines themselves. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from common.domain.budget import Budget, Size
from common.domain.framing import CLOSING, Wording, cite_line, ends_in_cite_as, neutralise, opening
from common.domain.pieces import Key, Piece, citation_of, runs
from common.domain.redaction import redact

LEAST_FRAGMENT: Final = 40
"""Fewer characters of a passage than that are left out rather than shown, unless there is nothing else."""


@dataclass(slots=True)
class Chosen:
    """What of one document is shown: whole passages by ordinal, and one whose text ends early."""

    title: str
    pinned: bool = False
    pieces: dict[int, Piece] = field(default_factory=dict)
    cut: int | None = None
    beginning: str = ""
    """What is shown of the passage `cut`, without the mark."""
    size: Size = field(default_factory=Size)

    def ordered(self) -> list[Piece]:
        return [self.pieces[ordinal] for ordinal in sorted(self.pieces)]


class Stretch(NamedTuple):
    """Passages that touch, as they are shown."""

    run: Sequence[Piece]
    text: str
    truncated: bool
    redacted: int


@dataclass(slots=True)
class Writer:
    """Writes and measures. Keeps what it worked out, because a layout is tried more than once."""

    budget: Budget
    wording: Wording
    redacting: bool
    exact: bool = False
    """Measure every passage as it is shown, which takes longer than as it is stored."""
    _disarmed: dict[tuple[Key, int, int], tuple[str, int]] = field(default_factory=dict)
    _lines: dict[str, str] = field(default_factory=dict)
    _tokens: dict[str, int] = field(default_factory=dict)

    def within(self, budget: Budget) -> "Writer":
        """The same for another budget."""
        return replace(self, budget=budget)

    def safe(self, piece: Piece) -> str:
        """The passage's text without secrets and without anything that could pass for the frame."""
        return self._text([piece])[0]

    def size_of(self, chosen: Chosen, *, exact: bool = False) -> Size:
        """What the document takes, part by part."""
        parts = [self._opening(chosen.title), CLOSING]
        for run in runs(chosen.ordered(), chosen.cut):
            parts += (self._cite_line(run), "\n", *self._texts(run, chosen, exact=exact or self.exact))
        counting = not self.budget.counter.characters_per_token
        return Size(sum(map(len, parts)), sum(map(self._count, parts)) if counting else 0)

    def _texts(self, run: Sequence[Piece], chosen: Chosen, *, exact: bool) -> Iterator[str]:
        if exact:
            yield self._stretch(run, chosen).text
            return
        for number, piece in enumerate(run):
            if number:
                yield piece.before
            yield f"{chosen.beginning} {self.wording.mark}" if piece.ordinal == chosen.cut else piece.text

    def stretches(self, chosen: Chosen) -> list[Stretch]:
        """The document's passages as they are shown."""
        return [self._stretch(run, chosen) for run in runs(chosen.ordered(), chosen.cut)]

    def lines(self, chosen: Chosen, stretches: Iterable[Stretch]) -> str:
        """The document as it stands in the block."""
        shown = "".join(f"{self._cite_line(stretch.run)}{stretch.text}\n" for stretch in stretches)
        return f"{self._opening(chosen.title)}{shown}{CLOSING}"

    def _stretch(self, run: Sequence[Piece], chosen: Chosen) -> Stretch:
        if run[-1].ordinal != chosen.cut:
            text, count = self._text(run)
            return Stretch(run, text, truncated=False, redacted=count)
        before, count = self._text(run[:-1]) if len(run) > 1 else ("", 0)
        joint = run[-1].before if before else ""
        text, more = self._disarm(f"{before}{joint}{chosen.beginning}")
        count += more + self._text(run[-1:])[1]
        joint = "\n" if ends_in_cite_as(text, len(text)) else " "
        return Stretch(run, f"{text}{joint}{self.wording.mark}", truncated=True, redacted=count)

    def _text(self, run: Sequence[Piece]) -> tuple[str, int]:
        """What touches is disarmed as one text: across the border of two passages may stand what neither shows."""
        key = run[0].key, run[0].ordinal, run[-1].ordinal
        if key not in self._disarmed:
            text = run[0].text + "".join(f"{piece.before}{piece.text}" for piece in run[1:])
            self._disarmed[key] = self._disarm(text)
        return self._disarmed[key]

    def _disarm(self, text: str) -> tuple[str, int]:
        masked, count = redact(text) if self.redacting else (text, 0)
        return neutralise(masked, self.wording), count

    def _opening(self, title: str) -> str:
        line = self._lines.get(title)
        if line is None:
            line = self._lines[title] = opening(title, self.wording)
        return line

    def _cite_line(self, run: Sequence[Piece]) -> str:
        citation = citation_of(run)
        key = f"\n{citation}"
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = cite_line(citation, self.wording)
        return line

    def _count(self, text: str) -> int:
        known = self._tokens.get(text)
        if known is None:
            known = self._tokens[text] = self.budget.counter.count(text)
        return known
