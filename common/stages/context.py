"""A question's block of text for a model: what was found, the pinned documents and what stands around, all of one epoch
(RULES 11).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

from common.domain.budget import Budget
from common.domain.context import Block, Rules, build, layout
from common.domain.errors import Unavailable
from common.domain.layout import Layout
from common.domain.merging import Weighted
from common.domain.pieces import Key, Material, Piece, Pinned, found_piece
from common.domain.prompt import Prompt, prompt
from common.domain.search import Answer, Search
from common.domain.writing import Writer
from common.stages.answers import Answers
from common.stages.around import Surroundings
from common.stages.candidates import REPEATS, View
from common.stages.patience import Within
from common.stages.pinned import PinnedDocuments
from common.stages.several import SeveralBases

T = TypeVar("T")
Card = Callable[[str, int], str]
"""What there is to ask in a base, in at most so many tokens."""
_CHARACTERS_PER_TOKEN: Final = 12
"""More than a token stands for in any text worth reading."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question, and what its block may take."""

    search: Search
    budget: Budget
    rules: Rules


@dataclass(frozen=True, slots=True)
class Contexts:
    """Makes blocks and prompts. Safe to share between threads. Every method raises what the answer's question raises,
    and Unavailable when a base changes faster than it can be read.
    """

    answers: Answers
    several: SeveralBases
    pinned: PinnedDocuments
    surroundings: Surroundings
    card: Card
    within: Within

    def of_base(self, base: str, wanted: Wanted) -> tuple[Answer, Block]:
        """The block of one base."""
        return self._settled(
            lambda again: self.answers.answer(base, _repeated(wanted.search, again=again)),
            [base],
            lambda answer, views: self._block(answer, views, wanted),
        )

    def of_several(self, bases: Sequence[Weighted], wanted: Wanted) -> tuple[Answer, Block]:
        """One block of several bases, each with up to `top_k` passages, in the order of the bases."""
        return self._settled(
            lambda again: self.several.each(bases, _repeated(wanted.search, again=again)),
            [each.base for each in bases],
            lambda answer, views: self._block(answer, views, wanted),
        )

    def prompt(self, base: str, wanted: Wanted, preamble: str | None) -> tuple[Answer, Prompt]:
        """The prompt of one base. Raises Refused 422 for a preamble that the budget does not hold."""
        return self._settled(
            lambda again: self.answers.answer(base, _repeated(wanted.search, again=again)),
            [base],
            lambda answer, views: self._prompt(answer, views[base], wanted, preamble),
        )

    def _settled(
        self,
        ask: Callable[[bool], Answer],
        bases: Sequence[str],
        make: Callable[[Answer, Mapping[str, View]], T | None],
    ) -> tuple[Answer, T]:
        """The answer and what was made of it, both of one epoch of each base."""
        until = time.monotonic() + self.answers.deadline
        for attempt in range(REPEATS):
            answer = ask(attempt > 0)
            epochs = {share.base: share.epoch for share in answer.bases} or {bases[0]: answer.epoch}
            work = partial(self._made, answer, epochs, make)
            made = self.within(work, max(0.0, until - time.monotonic()))
            if made is not None:
                return answer, made
            # An epoch that is remembered for a while (KB_EPOCH_TTL) would give the same answer again.
            for base in epochs:
                self.answers.epochs.forget(base)
        raise Unavailable(f"base {', '.join(bases)} changes faster than it can be read")

    def _made(
        self, answer: Answer, epochs: Mapping[str, int], make: Callable[[Answer, Mapping[str, View]], T | None]
    ) -> T | None:
        """None when a base moved."""
        made = make(answer, {base: self.answers.searcher.view(base) for base in epochs})
        catalog = self.answers.searcher.catalog
        return made if all(catalog.epoch(base) == epoch for base, epoch in epochs.items()) else None

    def _block(self, answer: Answer, views: Mapping[str, View], wanted: Wanted) -> Block | None:
        found = _by_base(answer, list(views), wanted.search.top_k)
        room = _room(wanted.budget)
        pinned: list[Pinned] = []
        for view, group in zip(views.values(), found, strict=True):
            read = self.pinned.ranked(view, wanted.search, group, room)
            if read is None:
                return None
            pinned += [document for document in read if _is_new(document, pinned)]
        writer = wanted.rules.writer(wanted.budget)
        laid = self._surrounded(Material(pinned, found), views, writer, wanted.rules)
        return build(laid.material, writer, wanted.rules, laid=laid)

    def _prompt(self, answer: Answer, view: View, wanted: Wanted, preamble: str | None) -> Prompt | None:
        pinned = self.pinned.by_source(view, wanted.search.filter, _room(wanted.budget))
        if pinned is None:
            return None
        found = _by_base(answer, [view.base], wanted.search.top_k)
        writer = wanted.rules.writer(wanted.budget)
        laid = self._surrounded(Material(pinned, found), {view.base: view}, writer, wanted.rules)
        return prompt(laid.material, partial(self.card, view.base), preamble, writer, wanted.rules)

    def _surrounded(self, material: Material, views: Mapping[str, View], writer: Writer, rules: Rules) -> Layout:
        """The material laid out with what is worth reading around it."""
        laid = layout(material, writer, rules)
        places = laid.wanted()
        known: dict[tuple[Key, int], Piece | None] = {}
        for base, view in views.items():
            mine = [(piece, ordinal) for piece, ordinal in places if piece.base == base]
            known |= self.surroundings.read(view, mine) if mine else {}
        laid.surround(known)
        return laid


def _repeated(search: Search, *, again: bool) -> Search:
    """The question as asked the first time, or once more for the same caller: it counts once."""
    return replace(search, measuring=search.measuring or again)


def _by_base(answer: Answer, bases: Sequence[str], top_k: int) -> list[list[Piece]]:
    """What was found in each base, best first, at most `top_k` of each."""
    found: dict[str, list[Piece]] = {base: [] for base in bases}
    for passage in answer.passages:
        if len(found[passage.base]) < top_k:
            found[passage.base].append(found_piece(passage))
    return list(found.values())


def _is_new(document: Pinned, shown: Sequence[Pinned]) -> bool:
    """Whether no other base has pinned the same text."""
    texts = [piece.text for piece in document.pieces]
    return not texts or all(texts != [piece.text for piece in other.pieces] for other in shown)


def _room(budget: Budget) -> float:
    """At most so many characters can be shown."""
    return min(budget.limit.characters, budget.limit.tokens * _CHARACTERS_PER_TOKEN)
