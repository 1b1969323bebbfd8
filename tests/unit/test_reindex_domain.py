"""The states of a migration, what may follow what, and how two collections are compared."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.comparison import Asked, Both, Said, agreement, rank_of, report
from common.domain.errors import Refused
from common.domain.objects import ObjectRef
from common.domain.rebuilding import ATTEMPTS, Brought, carried, claim, forgotten, given_up, keep, let_go
from common.domain.records import BaseRecord, Counts, Held, ObjectRecord, base_from_json, to_json
from common.domain.reindex import _DONE, _MOVES, OPEN, Reindex, moved, worse_by
from common.domain.search import AnswerPassage
from common.domain.space import Chunking, EmbeddingSpace, LexicalSpace, VectorSpace
from common.domain.usage import Prices

MODEL = EmbeddingSpace("m", "h", "mean", "l2", "", "", 4)
PLANNED = Reindex(
    "r", "blue", "green", MODEL, VectorSpace(replace(MODEL, model="n"), Chunking(1, 0, 0, 128), LexicalSpace(1, "stem"))
)
REF = ObjectRef("acme", "um.md")


@given(st.lists(st.sampled_from(sorted(_MOVES)), max_size=30))
def test_no_order_of_commands_leaves_a_settled_migration(commands):
    """retired, cancelled, failed and rolled_back are ends; whatever is refused says what it would be for."""
    reindex = PLANNED
    for command in commands:
        before = reindex
        try:
            following = moved(reindex, command, 1.0)
        except Refused as refused:
            assert refused.status == 409
            assert refused.extra["state"] == before.state
            continue
        if following is None:
            assert before.state in _DONE[command]
        else:
            assert before.open, f"{command} left {before.state}"
            assert following.state in {*OPEN, "retired", "cancelled", "failed", "rolled_back"}
            reindex = following


def test_the_straight_way_is_the_one_that_is_written_down():
    reindex, states = PLANNED, []
    for command in ("build", "complete", "pass", "switch", "retire"):
        reindex = moved(reindex, command, 2.0)
        states.append(reindex.state)
    assert states == ["building", "verifying", "ready", "live", "retired"]
    assert reindex.updated_at == 2.0


@pytest.mark.parametrize("command", sorted(_MOVES))
def test_a_command_said_again_changes_nothing(command):
    for state in _MOVES[command]:
        after = moved(replace(PLANNED, state=state), command, 1.0)
        assert moved(after, command, 2.0) is None


def test_a_record_with_its_migration_is_the_same_behind_json():
    record = BaseRecord("acme", "blue", ("blue", "green"), reindex=replace(PLANNED, report={"x": {"blue": 1.0}}))
    assert base_from_json(to_json(record)) == record
    old = to_json(BaseRecord("acme", "blue", ("blue",)))
    del old["reindex"]
    assert base_from_json(old).reindex is None


def test_worse_is_told_by_how_much_and_only_beyond_the_tolerance():
    found = {"recall_at_5": {"blue": 0.9, "green": 0.86}, "mrr_at_10": {"blue": 0.8, "green": 0.79}}
    assert worse_by(found, 0.03) == {"recall_at_5": 0.04}
    assert worse_by(found, 0.05) == {}
    assert worse_by({"no_match": {"newly_refused_share": 0.2}}, 0.03) == {"newly_refused_share": 0.2}
    assert worse_by({}, 0.0) == {}
    better = {"recall_at_5": {"blue": 0.5, "green": 0.9}, "mrr_at_10": None}
    assert worse_by(better, 0.0) == {}


def held(**changes):
    known = ObjectRecord(REF, newest=3, live=3, passages=2, tokens=9, holds={"blue": 3})
    return Held(BaseRecord("acme", "blue", ("blue", "green")), replace(known, **changes), None)


def test_an_object_is_claimed_once_and_only_where_it_is_lacking():
    first = claim(held(), "green", "a", 100.0)
    assert first.value == "claimed"
    assert claim(first.held, "green", "b", 120.0).value == "busy"
    assert claim(first.held, "green", "b", 161.0).value == "claimed"
    assert claim(held(holds={"green": 3}), "green", "a", 1.0).value == "done"
    assert claim(held(live=None), "green", "a", 1.0).value == "done"
    assert claim(held(passages=0), "green", "a", 1.0).value == "done"
    assert claim(held(holds={"green": 2}), "green", "a", 1.0).value == "claimed"
    assert claim(Held(None, None, None), "green", "a", 1.0).value == "done"


def test_the_lease_of_a_migration_holds_up_no_upload():
    claimed = claim(held(), "green", "a", 100.0).held.object
    assert claimed.lease is None
    assert claimed.leased


def test_what_was_overtaken_is_not_recorded():
    claimed = claim(held(), "green", "a", 100.0).held
    overtaken = replace(claimed, object=replace(claimed.object, live=4))
    brought = Brought("green", 3, Counts(5, 10, 10))
    assert carried(overtaken, "blue", brought, "a").value == "moved"
    assert carried(overtaken, "blue", brought, "a").held.object.holds == {"blue": 3}
    assert carried(claimed, "blue", brought, "b").value == "lease_lost"
    done = carried(claimed, "blue", brought, "a")
    assert done.value == "carried"
    known = done.held.object
    assert known.carried_by("green")
    assert known.rebuilding is None
    assert (known.passages_in("green"), known.passages_in("blue"), known.passages) == (5, 2, 2)


def test_a_failing_object_is_tried_so_often_and_a_changed_one_anew():
    state = held()
    for turn in range(ATTEMPTS):
        claimed = claim(state, "green", "a", 100.0 + turn)
        assert claimed.value == "claimed"
        state = given_up(claimed.held, "green", 3, "a", "no direction").held
        assert state.object.pending["green"].attempts == turn + 1
    assert claim(state, "green", "a", 200.0).value == "exhausted"
    again = forgotten(state, "green").held
    assert claim(again, "green", "a", 200.0).value == "claimed"


def test_leases_are_kept_and_given_back_by_their_holder_alone():
    claimed = claim(held(), "green", "a", 100.0).held
    assert keep(claimed, "b", 120.0).value == "lease_lost"
    assert keep(claimed, "a", 120.0).held.object.rebuilding.expires_at == 180.0
    assert let_go(claimed, "b").value == "lease_lost"
    assert let_go(claimed, "a").held.object.rebuilding is None


def passage(source, first, last, document="d"):
    return AnswerPassage(
        id=f"{source}{first}", text="", score=1.0, dense_score=None, lexical_score=1.0, terms=(), base="acme",
        source=source, title="", headings=(), page=None, lines=(first, last), document_id=document, generation=1,
        object=source, ordinal=0, before="", stale=False, absolute=1.0,
    )  # fmt: skip


def test_documents_count_once_in_a_rank():
    found = [passage("a", 1, 2), passage("a", 3, 4), passage("b", 1, 2)]
    assert rank_of("b", found) == 2
    assert rank_of("c", found) is None


def test_agreement_is_by_overlapping_lines():
    blue = [passage("a", 1, 10), passage("a", 11, 20)]
    assert agreement(blue, [passage("a", 5, 6)]) == 0.5
    assert agreement(blue, [passage("a", 10, 11)]) == 1.0
    assert agreement(blue, [passage("b", 1, 20, document="e")]) == 0.0
    assert agreement([], []) == 1.0
    assert agreement([], blue) == 0.0


def test_the_report_has_every_figure_of_both():
    blue = Said([passage("a", 1, 2)], answered=True, took_ms=4.0, tokens=10)
    green = Said([passage("b", 1, 2), passage("a", 1, 2)], answered=False, took_ms=6.0, tokens=20)
    told = report([Both(Asked("q", "a"), blue, green), Both(Asked("r", None, "asked"), blue, blue)], Prices(2.0))
    assert told["questions"] == {"asked": 1, "synthetic": 1}
    assert told["recall_at_5"] == {"blue": 1.0, "green": 1.0}
    assert told["mrr_at_10"] == {"blue": 1.0, "green": 0.5}
    assert told["agreement_at_5"] == 1.0
    assert told["no_match"]["newly_refused"] == 1
    assert told["no_match"]["newly_refused_share"] == 0.5
    assert told["latency_ms"] == {"blue": 4.0, "green": 5.0}
    assert told["cost"] == {"blue": 0.02, "green": 0.03}
    empty = report([])
    assert empty["recall_at_5"] is None
    assert worse_by(empty, 0.0) == {}
