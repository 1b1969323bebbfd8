"""What the records of a base say that was adopted: whose text of a foreign collection is brought in, and what becomes
of it. Pure decisions for `Catalog.transact`, beside those of fencing and rebuilding.
"""

from dataclasses import replace
from typing import Any, Final, Literal

from common.domain.errors import DocumentError
from common.domain.objects import ObjectRef
from common.domain.rebuilding import LEASE_SECONDS
from common.domain.records import BaseRecord, Counts, Decision, DocumentRecord, Held, Lease, ObjectRecord, touched

ADOPTED: Final = 0
"""The generation of what was taken over: older than any that a bucket gives, so that a file always takes its place."""

Claim = Literal["claimed", "done", "busy"]
Outcome = Literal["carried", "moved", "lease_lost"]


def claim_text(
    held: Held, ref: ObjectRef, collection: str, token: str, now: float, *, again: bool = False
) -> Decision[Claim]:
    """Take the lease of an object whose text is to be brought in, unless something answers for it or it was removed;
    `again` brings in once more what was lost before it had vectors.
    """
    known = held.object or ObjectRecord(ref)
    lost = again and known.live == ADOPTED and known.holds.get(collection) != ADOPTED
    if (known.live is not None and not lost) or known.tombstone >= ADOPTED or not _writes(held.base, collection):
        return Decision("done", held)
    if known.rebuilding is not None and known.rebuilding.expires_at > now:
        return Decision("busy", held)
    lease = Lease(collection, token, now + LEASE_SECONDS)
    state = "queued" if known.newest == ADOPTED and known.live is None else known.state
    return Decision("claimed", replace(held, object=replace(known, rebuilding=lease, state=state)))


def brought_in(
    held: Held,
    collection: str,
    token: str,
    now: float,
    rows: tuple[DocumentRecord, ...],
    fault: DocumentError | None = None,
) -> Decision[Outcome]:
    """Let the object's text answer, unless a file took its place or it was removed meanwhile. No row: there is no text,
    or it cannot be stored for that `fault`.
    """
    known = held.object
    if known is None or known.rebuilding is None or known.rebuilding.token != token:
        return Decision("lease_lost", held)
    passed = known.live not in {None, ADOPTED} or known.tombstone >= ADOPTED or not _writes(held.base, collection)
    if passed:
        return Decision("moved", replace(held, object=replace(known, rebuilding=None)))
    counts = sum((row.own_counts for row in rows), Counts(0, 0, 0))
    if known.newest == ADOPTED:
        known = replace(known, **_outcome(bool(rows), fault))
    known = touched(
        known,
        now,
        rebuilding=None,
        live=ADOPTED,
        documents=len(rows),
        passages=counts.passages,
        tokens=counts.tokens_in_source,
    )
    return Decision("carried", replace(held, object=known), raise_epoch=True, documents=rows)


def _outcome(stored: bool, fault: DocumentError | None) -> dict[str, Any]:  # noqa: FBT001 - the one question
    if fault is not None:
        return {"state": "failed", "code": fault.code, "reason": fault.reason}
    state = "indexed" if stored else "empty"
    return {"state": state, "code": None, "reason": "" if stored else "None of its points has a text."}


def given_back(held: Held, token: str) -> Decision[None]:
    """Give the lease back without a word on the object."""
    known = held.object
    if known is None or known.rebuilding is None or known.rebuilding.token != token:
        return Decision(None, held)
    return Decision(None, replace(held, object=replace(known, rebuilding=None)))


def abandoned(held: Held) -> Decision[None]:
    """The record of an object of a base that is ours no longer: nothing answers of it. What the bucket told of it
    stays known.
    """
    known = held.object
    if known is None:
        return Decision(None, held)
    bare = ObjectRecord(known.ref, state="deleted")
    if known.newest > ADOPTED or known.tombstone > ADOPTED:
        bare = replace(bare, newest=known.newest, tombstone=known.tombstone, removed_at=known.removed_at)
    return Decision(None, replace(held, object=bare))


def is_without_file(known: ObjectRecord) -> bool:
    """Whether the object answers by a text that was taken over, and the bucket never held a file of its name."""
    return known.live == ADOPTED == known.newest


def lacks_text(known: ObjectRecord | None) -> bool:
    return known is None or (known.live is None and known.tombstone < ADOPTED)


def _writes(base: BaseRecord | None, collection: str) -> bool:
    return base is not None and collection in base.writes_to
