"""Who may bring an object into another collection, and what its record says behind it: pure decisions for
`Catalog.transact`, beside those of fencing. The lease is one of its own, so that no upload waits for a migration; what
is written for a generation that stopped answering meanwhile is not claimed to be there (RULES 19).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from common.domain.records import BaseRecord, Counts, Decision, DocumentRecord, Held, Lease, ObjectRecord, Pending
from common.domain.reindex import moved

LEASE_SECONDS: Final = 60.0
ATTEMPTS: Final = 3
"""How often an object that fails by itself is tried for one collection, unless its content changes."""
_REASON: Final = 400
BATCH_SECONDS: Final = 200.0
"""A third of the time after which a message comes again."""
_BATCH_OBJECTS: Final = 200

Claim = Literal["claimed", "done", "busy", "exhausted"]
Outcome = Literal["carried", "moved", "lease_lost"]


def claim(held: Held, collection: str, token: str, now: float) -> Decision[Claim]:
    """Take the lease of an object that the collection lacks."""
    known = held.object
    if known is None or known.carried_by(collection):
        return Decision("done", held)
    if known.rebuilding is not None and known.rebuilding.expires_at > now:
        return Decision("busy", held)
    pending = known.pending.get(collection)
    if pending is not None and pending.attempts >= ATTEMPTS:
        return Decision("exhausted", held)
    lease = Lease(collection, token, now + LEASE_SECONDS)
    return Decision("claimed", replace(held, object=replace(known, rebuilding=lease)))


def keep(held: Held, token: str, now: float) -> Decision[Outcome]:
    """Renew the lease."""
    known = held.object
    if known is None or not _owns(known, token):
        return Decision("lease_lost", held)
    lease = replace(known.rebuilding, expires_at=now + LEASE_SECONDS)  # type: ignore[type-var]  # _owns saw it
    return Decision("carried", replace(held, object=replace(known, rebuilding=lease)))


@dataclass(frozen=True, slots=True)
class Brought:
    """What an object comes to in a collection that it was brought into, and its document when it has only one."""

    collection: str
    generation: int
    counts: Counts
    rows: tuple[DocumentRecord, ...] = ()


def carried(held: Held, live: str, brought: Brought, token: str) -> Decision[Outcome]:
    """Record that the collection has this generation, unless another one answers by now; `live` is the collection that
    answers.
    """
    known = held.object
    if known is None or not _owns(known, token):
        return Decision("lease_lost", held)
    if known.live != brought.generation:
        return Decision("moved", replace(held, object=replace(known, rebuilding=None)))
    own = known.counts.get(live) or Counts(known.passages, known.tokens, known.tokens)
    known = replace(
        known,
        rebuilding=None,
        holds={**known.holds, brought.collection: brought.generation},
        pending=_without(known.pending, brought.collection),
        counts={live: own, brought.collection: brought.counts},
    )
    return Decision("carried", replace(held, object=known), documents=brought.rows)


def given_up(held: Held, collection: str, generation: int, token: str, reason: str) -> Decision[Outcome]:
    """Let the object go and say why the collection does not have it. One that changed meanwhile is not to blame."""
    known = held.object
    if known is None or not _owns(known, token):
        return Decision("lease_lost", held)
    if known.live != generation:
        return Decision("moved", replace(held, object=replace(known, rebuilding=None)))
    before = known.pending.get(collection)
    failed = Pending(reason[:_REASON], (before.attempts if before else 0) + 1)
    known = replace(known, rebuilding=None, pending={**known.pending, collection: failed})
    return Decision("carried", replace(held, object=known))


def let_go(held: Held, token: str) -> Decision[Outcome]:
    """Give the lease back without a word on the object: the process was not able to go on."""
    known = held.object
    if known is None or not _owns(known, token):
        return Decision("lease_lost", held)
    return Decision("carried", replace(held, object=replace(known, rebuilding=None)))


def forgotten(held: Held, collection: str) -> Decision[None]:
    """The record of an object of which that collection holds nothing, whatever an earlier migration left in it."""
    known = held.object
    if known is None or not (collection in known.holds or collection in known.pending or collection in known.counts):
        return Decision(None, held)
    known = replace(
        known,
        holds=_without(known.holds, collection),
        pending=_without(known.pending, collection),
        counts=_without(known.counts, collection),
    )
    return Decision(None, replace(held, object=known))


def counted_in(held: Held, collection: str) -> Decision[None]:
    """The record with the sums of the collection that answers now."""
    known = held.object
    own = known.counts.get(collection) if known else None
    if known is None or own is None or (known.passages, known.tokens) == (own.passages, own.tokens_in_source):
        return Decision(None, held)
    return Decision(None, replace(held, object=replace(known, passages=own.passages, tokens=own.tokens_in_source)))


def unready(base: BaseRecord | None, now: float) -> BaseRecord | None:
    """A migration that was ready is so no longer once its collection lacks something that answers (RULES 19)."""
    if base is None or base.reindex is None or base.reindex.state != "ready":
        return base
    return replace(base, reindex=moved(base.reindex, "reopen", now) or base.reindex)


def _owns(known: ObjectRecord, token: str) -> bool:
    return known.rebuilding is not None and known.rebuilding.token == token


def _without(values: Mapping[str, object], name: str) -> dict:  # type: ignore[type-arg]
    return {key: value for key, value in values.items() if key != name}


def may_try(known: ObjectRecord, collection: str) -> bool:
    """Whether the object may still be brought into that collection."""
    pending = known.pending.get(collection)
    return pending is None or pending.attempts < ATTEMPTS


def batches(left: Sequence[ObjectRecord], seconds_each: float) -> Iterator[tuple[str, ...]]:
    """Names of objects that together take at most a batch's time, by their passages."""
    batch: list[str] = []
    seconds = 0.0
    for known in left:
        takes = known.passages * seconds_each
        if batch and (seconds + takes > BATCH_SECONDS or len(batch) >= _BATCH_OBJECTS):
            yield tuple(batch)
            batch, seconds = [], 0.0
        batch.append(known.ref.name)
        seconds += takes
    if batch:
        yield tuple(batch)
