"""Kept questions: equal ones are one, in whatever order and grouping they come, and never more than the limits."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.questions import (
    LIMITS,
    MAX_CHARACTERS,
    KeptQuestion,
    asked_question,
    counts_view,
    gaps,
    merged,
    question_digest,
    set_question,
)

ASKED = st.builds(
    asked_question,
    st.sampled_from(["a", "A ", "b", "c?"]),
    st.sampled_from([1.0, 2.0, 3.0]),
    answered=st.booleans(),
    words=st.booleans(),
)
SET = st.builds(set_question, st.sampled_from(["a", "b"]), st.sampled_from([None, "", "a.md"]), st.just(5.0))
QUESTIONS = st.lists(ASKED | SET, max_size=12)


def many(count, at=0.0):
    return [asked_question(f"question {number}", at + number, answered=False, words=True) for number in range(count)]


@given(st.lists(QUESTIONS, max_size=4), st.randoms())
def test_merging_is_the_same_in_any_order_and_grouping(batches, random):
    whole = merged(*batches)
    shuffled = [question for batch in batches for question in batch]
    random.shuffle(shuffled)
    assert merged(shuffled) == whole
    step = []
    for batch in batches:
        step = merged(batch, step)
    assert step == whole
    assert merged(whole) == whole


@given(QUESTIONS)
def test_equal_questions_are_one_with_their_counts_and_the_newest_of_the_rest(questions):
    found = merged(questions)
    keys = [(each.origin, each.digest) for each in found]
    assert len(set(keys)) == len(keys)
    assert set(keys) == {(each.origin, each.digest) for each in questions}
    for each in found:
        same = [one for one in questions if (one.origin, one.digest) == (each.origin, each.digest)]
        assert each.count == len(same)
        assert each.asked_at == max(one.asked_at for one in same)
        assert replace(each, count=1) in [one for one in same if one.asked_at == each.asked_at]


@given(st.text(), st.sampled_from([" ", "\n", "\t  ", "\u00a0"]))
def test_case_and_white_space_make_no_other_question(text, blank):
    assert question_digest(blank + blank.join(text.split()) + blank) == question_digest(text)
    assert question_digest(text.casefold()) == question_digest(text)


def test_other_words_are_another_question():
    assert len({question_digest(text) for text in ("a b", "ab", "a b?", "á b", "")}) == 5


@pytest.mark.parametrize("more", [1, 40])
def test_only_the_newest_real_questions_stay(more):
    found = merged(many(LIMITS["asked"] + more), [set_question("a", "a.md", 0.0)])
    assert len(found) == LIMITS["asked"] + 1
    assert min(each.asked_at for each in found if each.origin == "asked") == more
    assert found[0].asked_at == LIMITS["asked"] + more - 1


def test_a_set_has_its_own_limit_and_is_not_pushed_out():
    stored = [set_question(f"set {number}", None, 0.0) for number in range(LIMITS["set"] + 5)]
    found = merged(many(LIMITS["asked"] + 5, at=9.0), stored)
    assert [sum(each.origin == origin for each in found) for origin in ("asked", "set")] == list(LIMITS.values())


def test_words_are_kept_only_where_asked_for_and_within_bounds():
    longest = "x" * MAX_CHARACTERS
    assert asked_question(longest, 1.0, answered=True, words=True).text == longest
    assert asked_question(f"{longest}x", 1.0, answered=True, words=True).text == ""
    hashed = asked_question("quem?", 1.0, answered=True, words=False)
    assert hashed == KeptQuestion("", question_digest("quem?"), None, "asked", True, 1, 1.0)


def test_a_secret_in_a_question_is_not_kept():
    secret = "ghp_" + "a1" * 18
    question = asked_question(f"why does {secret} fail?", 1.0, answered=True, words=True)
    assert question.text == "why does [redacted] fail?"
    assert question.digest == question_digest(f"why does {secret} fail?")


def test_a_question_asked_without_its_words_afterwards_loses_them():
    """Who takes the consent back is not surprised by texts that stay for as long as people ask."""
    (found,) = merged(
        [asked_question("a", 1.0, answered=True, words=True)], [asked_question("a", 2.0, answered=True, words=False)]
    )
    assert (found.text, found.count) == ("", 2)


def test_gaps_are_what_is_not_answered_now_most_often_asked_first():
    def asked(text, at, answered):
        return asked_question(text, at, answered=answered, words=True)

    questions = merged(
        [asked("once", 9.0, False), asked("twice", 1.0, False), asked("twice", 2.0, False), asked("later", 3.0, False)],
        [
            asked("closed", 1.0, False),
            asked("closed", 2.0, True),
            asked("opened", 0.5, True),
            asked("opened", 1.5, False),
        ],
        [set_question("not asked", None, 1.0)],
    )
    assert [each.text for each in gaps(questions, 10)] == ["twice", "opened", "once", "later"]
    assert [each.count for each in gaps(questions, 2)] == [2, 2]


def test_counts_say_nothing_of_the_words():
    questions = merged(
        [asked_question(text, 1.0, answered=text == "a", words=True) for text in ("a", "a", "b", "c")],
        [set_question("s", "s.md", 1.0), set_question("n", None, 1.0)],
    )
    assert counts_view(questions) == {
        "asked": {"questions": 3, "answered": 1, "unanswered": 2, "times_asked": 4},
        "set": {"questions": 2, "answerable": 1},
    }
