"""Whose text of a foreign collection is brought in, and what its record says: never over a file, nor a removal."""

from dataclasses import replace

import pytest

from common.domain.adoption import ADOPTED, abandoned, brought_in, claim_text, given_back, is_without_file, lacks_text
from common.domain.errors import DocumentError
from common.domain.objects import ObjectRef
from common.domain.records import BaseRecord, DocumentRecord, Held, Lease, ObjectRecord

GREEN = "acme_kb__0123456789ab"
REF = ObjectRef("acme", "um.md")
BASE = BaseRecord("acme", live=GREEN, writes_to=(GREEN,))
ROW = DocumentRecord("acme", "um.md", ADOPTED, "um.md", "id", "Um", 2, 9, 9, 40)
NOW = 1000.0


def claim(known, base=BASE, **options):
    return claim_text(Held(base, known, None), REF, GREEN, "me", NOW, **options)


def bring(known, base=BASE, rows=(ROW,), fault=None):
    return brought_in(Held(base, known, None), GREEN, "me", NOW, rows, fault)


CLAIMED = replace(ObjectRecord(REF), rebuilding=Lease(GREEN, "me", NOW + 60))


@pytest.mark.parametrize(
    ("known", "verdict"),
    [
        (None, "claimed"),
        (ObjectRecord(REF, newest=7, state="processing"), "claimed"),
        (ObjectRecord(REF, live=7, newest=7), "done"),
        (ObjectRecord(REF, live=ADOPTED, passages=2), "done"),
        (ObjectRecord(REF, tombstone=ADOPTED, state="deleted"), "done"),
        (ObjectRecord(REF, tombstone=7, state="deleted"), "done"),
        (replace(CLAIMED, rebuilding=Lease(GREEN, "other", NOW + 1)), "busy"),
        (replace(CLAIMED, rebuilding=Lease(GREEN, "other", NOW)), "claimed"),
    ],
)
def test_only_what_nothing_answers_for_is_claimed(known, verdict):
    assert claim(known).value == verdict
    assert lacks_text(known) == (verdict != "done")


def test_a_base_that_was_let_go_takes_nothing_any_more():
    gone = BaseRecord("acme")
    assert claim(None, gone).value == "done"
    assert bring(CLAIMED, gone).value == "moved"
    assert bring(CLAIMED, gone).held.object.live is None


def test_what_was_lost_before_it_had_vectors_is_brought_in_again():
    lost = ObjectRecord(REF, live=ADOPTED, passages=2)
    assert claim(lost, again=True).value == "claimed"
    assert claim(replace(lost, holds={GREEN: ADOPTED}), again=True).value == "done"
    assert claim(replace(lost, live=7, newest=7), again=True).value == "done"


def test_a_text_answers_once_it_is_in():
    ended = bring(CLAIMED)
    known = ended.held.object
    assert (ended.value, ended.raise_epoch, ended.documents) == ("carried", True, (ROW,))
    assert (known.live, known.state, known.passages, known.tokens, known.rebuilding) == (ADOPTED, "indexed", 2, 9, None)
    assert is_without_file(known)
    assert not known.carried_by(GREEN)


def test_a_file_that_is_on_its_way_keeps_its_own_state():
    known = bring(replace(CLAIMED, newest=7, state="failed", code="INTERNAL", reason="ours")).held.object
    assert (known.live, known.newest, known.state, known.reason) == (ADOPTED, 7, "failed", "ours")
    assert known.stale
    assert not is_without_file(known)


@pytest.mark.parametrize("change", [{"live": 7, "newest": 7}, {"tombstone": ADOPTED}])
def test_what_happened_meanwhile_wins(change):
    ended = bring(replace(CLAIMED, **change))
    assert ended.value == "moved"
    assert ended.documents == ()
    assert ended.held.object == replace(CLAIMED, rebuilding=None, **change)


def test_only_the_holder_of_the_lease_ends_it():
    other = replace(CLAIMED, rebuilding=Lease(GREEN, "other", NOW))
    assert bring(other).value == "lease_lost"
    assert given_back(Held(BASE, other, None), "me").held.object == other
    assert given_back(Held(BASE, CLAIMED, None), "me").held.object.rebuilding is None


def test_what_cannot_be_stored_says_why():
    empty = bring(CLAIMED, rows=()).held.object
    assert (empty.live, empty.state, empty.passages) == (ADOPTED, "empty", 0)
    failed = bring(CLAIMED, rows=(), fault=DocumentError("TOO_LARGE", "It is large.", "Split it.")).held.object
    assert (failed.state, failed.code, failed.reason) == ("failed", "TOO_LARGE", "It is large.")


def test_of_a_base_that_is_let_go_only_the_buckets_word_stays():
    adopted = bring(CLAIMED).held.object
    assert abandoned(Held(BASE, adopted, None)).held.object == ObjectRecord(REF, state="deleted")
    file = ObjectRecord(REF, newest=7, live=7, passages=3, holds={GREEN: 7}, state="indexed")
    assert abandoned(Held(BASE, file, None)).held.object == ObjectRecord(REF, newest=7, state="deleted")
    assert abandoned(Held(BASE, None, None)).held.object is None
