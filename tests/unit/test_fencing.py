"""Who may work on an object and what may become of it. When one fails, the rule it is named after is broken."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain import fencing
from common.domain.objects import ObjectChange, ObjectRef
from common.domain.outcomes import Result
from common.domain.records import BaseRecord, Decision, Held, Lease

REF = ObjectRef("acme", "a.md")
NOW = 1000.0
NOTHING = Held(None, None, None)
GOOD = Result("indexed", documents=1, passages=3, tokens_in_source=30, tokens_embedded=30)


def finalize(generation):
    return ObjectChange("finalize", REF, generation)


def removal(generation):
    return ObjectChange("delete", REF, generation)


def begun(change, held=NOTHING, token="t", now=NOW, max_attempts=3):
    return fencing.begin(held, change, token, now, max_attempts)


def started(change, held=NOTHING, token="t"):
    decision = begun(change, held, token)
    assert decision.value == "started"
    return decision.held


def next_job(held):
    """The same object, seen by the job of another change."""
    return replace(held, job=None)


def published(generation, held=NOTHING):
    at_work = started(finalize(generation), next_job(held))
    done = fencing.publish(at_work, "t", (), GOOD, NOW)
    assert done.value == "published"
    return fencing.finish(done.held, "t", NOW).held


def test_begin_adds_an_attempt_and_takes_the_lease_before_any_work():
    held = started(finalize(5))
    assert (held.job.attempts, held.job.state, held.object.newest) == (1, "processing", 5)
    assert held.object.lease == Lease(held.job.job_id, "t", NOW + fencing.LEASE_SECONDS)


def test_a_live_lease_makes_every_other_change_of_the_object_wait_and_counts_no_attempt():
    held = started(finalize(5))
    for change in (finalize(5), finalize(6), removal(5)):
        other = begun(change, held if change == finalize(5) else next_job(held), token="other")
        assert other.value == "busy"
        assert other.held.object == held.object


def test_a_dead_lease_is_taken_over_and_its_holder_can_no_longer_publish():
    held = started(finalize(5))
    taken = begun(finalize(5), held, token="other", now=NOW + fencing.LEASE_SECONDS)
    assert (taken.value, taken.held.job.attempts) == ("started", 2)
    assert fencing.publish(taken.held, "t", (), GOOD, NOW).value == "lease_lost"


def test_an_older_generation_never_wins():
    newer = published(7)
    late = begun(finalize(6), next_job(newer))
    assert (late.value, late.held.job.state, late.held.object.live) == ("stale", "superseded", 7)


def test_a_tombstone_stops_a_late_finalize():
    removed = fencing.remove(started(removal(5), next_job(published(5))), "t", NOW)
    assert (removed.value, removed.held.object.live, removed.raise_epoch) == ("published", None, True)
    done = fencing.finish(removed.held, "t", NOW).held
    assert begun(finalize(5), next_job(done)).value == "stale"
    assert begun(finalize(6), next_job(done)).value == "started"


def test_a_removal_of_an_older_generation_removes_nothing():
    late = begun(removal(5), next_job(published(6)))
    assert (late.value, late.held.object.live) == ("stale", 6)


def test_three_attempts_without_progress_fail_the_job_and_leave_the_older_generation_answering():
    held = next_job(published(5))
    for _ in range(3):
        held = begun(finalize(6), held).held
        held = replace(held, object=replace(held.object, lease=None))
    ended = begun(finalize(6), held)
    assert (ended.value, ended.held.job.code) == ("exhausted", "ATTEMPTS_EXHAUSTED")
    assert (ended.held.object.live, ended.held.object.stale, ended.raise_epoch) == (5, True, True)


def test_progress_beyond_the_earlier_one_gives_the_attempts_back_but_repeating_it_does_not():
    held = started(finalize(5))
    further = fencing.renew(held, "t", NOW, done=64, total=100).held
    assert (further.job.attempts, further.object.lease.expires_at) == (0, NOW + fencing.LEASE_SECONDS)
    again = begun(finalize(5), replace(further, object=replace(further.object, lease=None))).held
    assert fencing.renew(again, "t", NOW, done=64, total=100).held.job.attempts == 1


def test_the_files_own_fault_is_published_without_passages():
    at_work = started(finalize(6), next_job(published(5)))
    refused = fencing.publish(at_work, "t", (), Result("failed", "CORRUPT", "broken", "mend it"), NOW)
    assert (refused.held.object.live, refused.held.object.passages, refused.held.object.stale) == (6, 0, False)


def test_our_fault_leaves_the_older_generation_marked_stale():
    at_work = started(finalize(6), next_job(published(5)))
    failed = fencing.fail(at_work, "t", Result("failed", "PARSER_LIMIT", "too deep", "simplify it"), NOW)
    assert (failed.held.object.live, failed.held.object.stale, failed.raise_epoch) == (5, True, True)


def test_publish_asks_again_when_the_base_wants_another_collection():
    at_work = replace(started(finalize(5)), base=BaseRecord("acme", "blue", ("blue", "green")))
    assert fencing.publish(at_work, "t", ("blue",), GOOD, NOW).value == "rewrite"
    assert fencing.publish(at_work, "t", ("blue", "green"), GOOD, NOW).held.object.holds == {"blue": 5, "green": 5}


def test_a_kill_between_publish_and_sweep_is_finished_without_a_new_attempt():
    done = fencing.publish(started(finalize(5)), "t", (), GOOD, NOW).held
    again = begun(finalize(5), done, token="other", now=NOW + fencing.LEASE_SECONDS)
    assert (again.value, again.held.job.attempts) == ("finish", 1)


def test_a_published_version_holds_no_lease_and_is_finished_by_whoever_comes_first():
    """Nothing that is swept behind it can ever answer again, so a newer version need not wait for it."""
    done = fencing.publish(started(finalize(6), next_job(published(5))), "t", (), GOOD, NOW)
    assert done.held.object.lease is None
    newer = started(finalize(7), next_job(done.held), token="newer")
    meanwhile = replace(done.held, object=newer.object)
    again = begun(finalize(6), meanwhile, token="other")
    assert (again.value, again.held) == ("finish", meanwhile)
    ended = fencing.finish(meanwhile, "other", NOW)
    assert (ended.value, ended.held.job.finished, ended.held.object) == ("published", True, newer.object)
    assert ended.raise_epoch
    assert fencing.finish(ended.held, "t", NOW) == replace(ended, raise_epoch=False)


def test_a_failed_version_may_come_again_so_sweeping_behind_it_needs_the_lease():
    at_work = started(finalize(6), next_job(published(5)))
    failed = fencing.fail(at_work, "t", Result("failed", "INTERNAL"), NOW).held
    assert begun(finalize(6), failed, token="other").value == "busy"
    assert fencing.finish(failed, "other", NOW).value == "lease_lost"
    taken = begun(finalize(6), failed, token="other", now=NOW + fencing.LEASE_SECONDS)
    assert (taken.value, taken.held.object.lease.token) == ("finish", "other")
    assert fencing.finish(taken.held, "t", NOW).value == "lease_lost"
    ended = fencing.finish(taken.held, "other", NOW)
    assert (ended.held.object.lease, ended.held.job.finished) == (None, True)


def test_a_job_that_was_opened_anew_is_not_ended_by_who_ended_it_before():
    done = fencing.publish(started(finalize(5)), "t", (), GOOD, NOW).held
    opened = replace(done, job=replace(done.job, state="queued"))
    assert fencing.finish(opened, "t", NOW).value == "lease_lost"


OVERWRITTEN = ObjectChange("archive", REF, 5, overwritten_by=6)


@pytest.mark.parametrize("change", [OVERWRITTEN, removal(4)])
def test_the_removal_of_a_version_that_another_took_the_place_of_is_no_job_unless_it_was_asked_for(change):
    known = next_job(published(5))
    assert begun(change, known) == Decision("stale", known)
    asked = fencing.enqueue(known, change, NOW).held
    told = begun(change, asked)
    assert (told.value, told.held.job.state, told.held.job.finished) == ("stale", "superseded", True)
    assert told.held.object.live == 5


def test_no_version_that_answers_is_settled_however_many_newer_ones_have_begun():
    known = started(finalize(6), next_job(published(5))).object
    assert not fencing.is_settled_past(known, 5)
    assert fencing.is_settled_past(known, 4)
    assert not fencing.is_settled_past(known, 6)


def test_a_finished_job_is_never_begun_again():
    done = fencing.finish(fencing.publish(started(finalize(5)), "t", (), GOOD, NOW).held, "t", NOW).held
    assert begun(finalize(5), done).value == "already_done"


def test_an_attempt_that_met_an_outage_is_given_back():
    at_work = started(finalize(5))
    assert fencing.release(at_work, "t", NOW, refund=True).held.job.attempts == 0
    assert fencing.release(at_work, "t", NOW, refund=False).held.job.attempts == 1


@pytest.mark.parametrize("decide", [fencing.finish, fencing.supersede, fencing.remove])
def test_nothing_is_decided_without_the_lease(decide):
    at_work = started(finalize(5))
    lost = decide(at_work, "another", NOW)
    assert (lost.value, lost.held, lost.raise_epoch) == ("lease_lost", at_work, False)


EVENTS = st.lists(st.tuples(st.sampled_from(["finalize", "delete", "archive"]), st.integers(1, 5)), max_size=20)


@given(EVENTS)
def test_what_answers_only_ever_moves_to_newer_generations(events):
    """Whatever arrives in whatever order: live never falls back, and nothing removed ever answers again."""
    jobs, known, removed, live = {}, None, -1, -1
    for kind, generation in events:
        change = ObjectChange(kind, REF, generation)
        held = Held(None, known, jobs.get(change.job_id))
        decision = begun(change, held)
        if decision.value == "started":
            act = fencing.remove if change.removes else fencing.publish
            more = () if change.removes else ((), GOOD)
            decision = act(decision.held, "t", *more, NOW)
            decision = fencing.finish(decision.held, "t", NOW)
            if change.removes and decision.held.job.state == "deleted":
                removed = max(removed, generation)
        known, jobs[change.job_id] = decision.held.object, decision.held.job
        if known and known.live is not None:
            assert known.live >= live
            assert known.live > removed
            live = known.live
