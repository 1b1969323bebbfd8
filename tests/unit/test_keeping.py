"""Real questions are noted at no cost for who asks, with as much of them as the operator consents to."""

import logging

import pytest

from common.adapters.frozen_clock import FrozenClock
from common.adapters.memory_catalog import MemoryCatalog
from common.domain.errors import Unavailable
from common.domain.gate import Gate, decide
from common.domain.questions import LIMITS, merged, question_digest
from common.domain.search import Answer, Search
from common.stages import keeping
from common.stages.keeping import Keeping

NEVER = 3600.0
GATE = Gate(0.0, 1.0, 0.5)
ANSWERED = Answer((), decide(None, 0.9, 1.0, GATE), "hybrid")
UNANSWERED = Answer((), decide("auto", None, 0.0, GATE, found=False), "hybrid")


@pytest.fixture
def catalog():
    return MemoryCatalog()


@pytest.fixture
def clock():
    return FrozenClock(1000.0)


@pytest.fixture
def keep(catalog, clock):
    made = []

    def keeping(kept):
        made.append(Keeping(catalog, clock, kept, NEVER))
        return made[-1]

    yield keeping
    catalog.broken = None
    for each in made:
        each.close()


def test_by_default_a_question_leaves_its_hash_and_counts(keep, catalog, clock):
    keeping = keep("hashed")
    keeping.asked("acme", Search("Qual o prazo?"), UNANSWERED)
    clock.advance(5)
    keeping.asked("acme", Search("qual  o PRAZO?"), ANSWERED)
    assert catalog.questions("acme") == []
    (found,) = keeping.questions("acme")
    assert (found.text, found.digest) == ("", question_digest("qual o prazo?"))
    assert (found.answered, found.count, found.asked_at) == (True, 2, 1005.0)


def test_with_consent_it_leaves_its_words(keep):
    keeping = keep("text")
    keeping.asked("acme", Search("Qual o prazo?"), UNANSWERED)
    assert [each.text for each in keeping.gaps("acme", 9)] == ["Qual o prazo?"]


def test_off_keeps_nothing(keep):
    keeping = keep("off")
    keeping.asked("acme", Search("Qual o prazo?"), UNANSWERED)
    assert keeping.questions("acme") == []


def test_what_measures_a_base_is_no_real_question(keep):
    keeping = keep("text")
    keeping.asked("acme", Search("a", measuring=True), UNANSWERED)
    assert keeping.questions("acme") == []


def test_what_a_failing_model_finds_nothing_for_is_no_gap(keep):
    keeping = keep("text")
    keeping.asked("acme", Search("a"), UNANSWERED._replace(degraded=True))
    assert keeping.questions("acme") == []
    keeping.asked("acme", Search("a"), ANSWERED._replace(degraded=True))
    assert [each.answered for each in keeping.questions("acme")] == [True]


def test_what_cannot_be_written_is_kept_without_end_to_the_memory(keep, catalog):
    keeping = keep("text")
    catalog.broken = Unavailable("no writes")
    for number in range(3 * LIMITS["asked"]):
        keeping.asked("acme", Search(f"question {number}"), ANSWERED)
    with pytest.raises(Unavailable):
        keeping.flush()
    held = len(keeping._batch._pending["acme"])
    catalog.broken = None
    assert LIMITS["asked"] <= held <= 2 * LIMITS["asked"]
    assert len(keeping.questions("acme")) == LIMITS["asked"]


def test_forgetting_takes_what_is_not_written_yet_too(keep, catalog):
    keeping = keep("text")
    keeping.asked("acme", Search("written"), ANSWERED)
    keeping.flush()
    keeping.asked("acme", Search("noted"), ANSWERED)
    keeping.asked("globex", Search("another base"), ANSWERED)
    keeping.forget("acme")
    assert keeping.questions("acme") == []
    assert len(keeping.questions("globex")) == 1


def test_a_forgetting_that_fails_is_told(keep, catalog):
    keeping = keep("text")
    catalog.broken = Unavailable("out of reach")
    with pytest.raises(Unavailable):
        keeping.forget("acme")


def test_closing_writes_what_is_left(catalog, clock):
    keeping = Keeping(catalog, clock, "hashed", NEVER)
    keeping.asked("acme", Search("a"), ANSWERED)
    keeping.close()
    assert len(catalog.questions("acme")) == 1


def test_a_stored_set_is_kept_whatever_the_setting(keep, clock):
    keeping = keep("off")
    keeping.replace("acme", [("Quem?", "a.md"), ("Onde?", None)])
    found = keeping.questions("acme")
    assert {(each.text, each.source, each.asked_at) for each in found} == {
        ("Quem?", "a.md", 1000.0),
        ("Onde?", None, 1000.0),
    }
    assert keeping.counts("acme")["set"] == {"questions": 2, "answerable": 1}
    assert found == merged(found)


def test_no_word_of_a_question_is_logged(keep, catalog, caplog):
    caplog.set_level(logging.DEBUG)
    keeping = keep("text")
    keeping.asked("acme", Search("palavra secreta"), ANSWERED)
    catalog.broken = Unavailable("palavra secreta")
    keeping.close()
    assert caplog.messages == ["questions could not be written"]
    assert "secreta" not in "".join(str(vars(record)) for record in caplog.records)


def test_a_question_is_looked_at_when_it_is_written_and_never_while_it_is_answered(catalog, keep, monkeypatch):
    made = []
    original = keeping.asked_question
    monkeypatch.setattr(
        keeping, "asked_question", lambda *words, **more: made.append(words) or original(*words, **more)
    )
    kept = keep("hashed")
    for _ in range(3):
        kept.asked("acme", Search("qual é o prazo?"), ANSWERED)
    assert made == []
    assert [question.count for question in kept.questions("acme")] == [3]
    kept.asked("acme", Search("e a multa?"), ANSWERED)
    kept.forget("acme")
    assert catalog.questions("acme") == list(kept.questions("acme")) == []
