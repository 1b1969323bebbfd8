"""Which other documents stand near those of an answer: by links in either direction, else by what they share. Pure."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from typing import Final

from common.domain.contents import Entry
from common.domain.links import Graph

MOST: Final = 6
# What more documents share says little, and would be long to go through.
_WIDEST: Final = 200
_ASKED: Final = 10
_KEPT: Final = 56
_FEWEST_WORDS: Final = 2
_WORDS_NAMED: Final = 3

Trait = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document beside another one: `linked` outranks anything `shared`; the reason names the other one."""

    source: str
    linked: bool
    shared: float
    reason: str


def groups_of(entries: Sequence[Entry]) -> Mapping[Trait, Sequence[int]]:
    """By trait the positions of the entries that have it, in order."""
    groups: dict[Trait, list[int]] = defaultdict(list)
    for position, entry in enumerate(entries):
        for trait in entry.traits:
            groups[trait].append(position)
    return groups


def neighbours(
    position: int, entries: Sequence[Entry], graph: Graph, groups: Mapping[Trait, Sequence[int]]
) -> tuple[Neighbour, ...]:
    """The documents near the one at `position`, nearest first: linked ones in the order of the links, then those that
    share its folder, its category or two keywords, what few documents share before what many do. At most 56 of each.
    """
    own = entries[position]
    to, of = graph.links.get(own.source, ()), graph.backlinks.get(own.source, ())
    if not (to or of or own.traits):
        return ()
    linked = [
        Neighbour(source, linked=True, shared=0.0, reason=_linked(own.source, to=source in to, of=source in of))
        for source in islice(dict.fromkeys((*to, *of)), _KEPT)
    ]
    shared: dict[int, list[Trait]] = defaultdict(list)
    for trait in own.traits:
        if len(groups[trait]) <= _WIDEST:
            for other in groups[trait]:
                shared[other].append(trait)
    weights = {trait: math.log(len(entries) / len(groups[trait])) for trait in own.traits}
    beside = [
        (-round(sum(map(weights.__getitem__, traits)), 6), abs(other - position), other)
        for other, traits in shared.items()
        if other != position and entries[other].source != own.source and _tells(traits)
    ]
    return (
        *linked,
        *(
            Neighbour(entries[other].source, linked=False, shared=-weight, reason=_shared(own.source, shared[other]))
            for weight, _, other in nsmallest(_KEPT, beside)
        ),
    )


def nearest(hits: Sequence[str], near: Callable[[str], Sequence[Neighbour]]) -> list[tuple[str, str]]:
    """At most six (source, reason), none of them among the sources that were hit, of which earlier ones count more."""
    reasons: dict[str, str] = {}
    linked: dict[str, float] = defaultdict(float)
    shared: dict[str, float] = defaultdict(float)
    for rank, hit in enumerate(hits[:_ASKED], 1):
        for neighbour in near(hit)[: MOST + len(hits)]:
            source = neighbour.source
            if source not in reasons or (neighbour.linked and source not in linked):
                reasons[source] = neighbour.reason
            if neighbour.linked:
                linked[source] += 1 / rank
            else:
                shared[source] += neighbour.shared / rank
    others = [source for source in reasons if source not in hits]
    others.sort(key=lambda source: (-linked.get(source, 0.0), -shared.get(source, 0.0)))
    return [(source, reasons[source]) for source in others[:MOST]]


def _tells(traits: Sequence[Trait]) -> bool:
    """One word in common is chance."""
    return any(kind != "keyword" for kind, _ in traits) or len(traits) >= _FEWEST_WORDS


def _linked(source: str, *, to: bool, of: bool) -> str:
    if to and of:
        return f"linked with {source} both ways"
    return f"linked from {source}" if to else f"links to {source}"


def _shared(source: str, traits: Sequence[Trait]) -> str:
    words = [value for kind, value in traits if kind == "keyword"][:_WORDS_NAMED]
    named = [f"{kind} {value}" for kind, value in traits if kind != "keyword"]
    if words:
        named.append(f"keywords {', '.join(words)}")
    return f"shares {', '.join(named)} with {source}"
