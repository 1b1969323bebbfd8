"""Contract of kept questions over every catalog: one process's and another's are merged, bounded and forgotten alike.
When one fails, a comparison of two models asks other questions than people did.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from common.domain.errors import Unavailable
from common.domain.questions import LIMITS, MAX_CHARACTERS, asked_question, merged, set_question
from tests.contract.stores import CATALOGS, CatalogCase


@pytest.fixture(params=list(CATALOGS))
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CatalogCase]:
    with CATALOGS[request.param](tmp_path) as made:
        yield made


def asked(text, at=1.0, *, answered=True, words=True):
    return asked_question(text, at, answered=answered, words=words)


def test_an_unknown_base_has_no_questions(case):
    assert case.catalog.questions("acme") == []
    case.catalog.forget_questions("acme")
    case.catalog.replace_questions("acme", [])
    assert case.catalog.questions("acme") == []


def test_questions_of_every_process_come_back_field_for_field(case):
    other = case.again()
    batches = [
        [asked("qual o prazo?", 1.5), asked("sem palavras", 2.0, words=False), asked("\ud800 'só\" \0", 3.0)],
        [asked("Qual  o PRAZO?", 4.0, answered=False), asked("nova", 4.0, answered=False)],
    ]
    case.catalog.add_questions("acme", batches[0])
    other.add_questions("acme", batches[1])
    case.catalog.add_questions("acme", batches[0])
    case.catalog.add_questions("globex", [asked("outra base")])
    for catalog in (case.catalog, other, case.again()):
        assert catalog.questions("acme") == merged(*batches, batches[0])
        assert catalog.questions("globex") == [asked("outra base")]


def test_they_leave_bases_and_epochs_alone(case):
    case.catalog.add_questions("acme", [asked("a")])
    case.catalog.replace_questions("acme", [set_question("a", None, 1.0)])
    assert case.catalog.base("acme") is None
    assert list(case.catalog.bases()) == []
    assert case.catalog.epoch("acme") == 0
    assert case.catalog.usage("acme") == {}


def test_only_the_newest_stay_whoever_added_them(case):
    most = LIMITS["asked"]
    case.catalog.add_questions("acme", [asked(f"q {number}", number) for number in range(most)])
    case.again().add_questions("acme", [asked(f"q {number}", number) for number in range(most, most + 20)])
    case.catalog.add_questions("acme", [asked("last", 9999.0)])
    found = case.catalog.questions("acme")
    assert [each.asked_at for each in found] == [9999.0, *range(most + 19, 20, -1)]


def test_a_set_is_replaced_whole_and_real_questions_stay(case):
    real = [asked("a", 1.0), asked("b", 2.0)]
    case.catalog.add_questions("acme", real)
    first = [set_question(f"s {number}", "s.md" if number % 2 else None, 3.0) for number in range(300)]
    case.catalog.replace_questions("acme", first)
    assert case.again().questions("acme") == merged(real, first)
    second = [set_question("s 1", "other.md", 4.0), set_question("new", None, 4.0)]
    case.again().replace_questions("acme", second)
    assert case.catalog.questions("acme") == merged(real, second)
    case.catalog.replace_questions("acme", [])
    assert case.again().questions("acme") == merged(real)


def test_the_largest_set_and_the_longest_questions_fit(case):
    letters = [chr(0x1F300 + number) for number in range(256)]
    texts = [
        "".join(letters[(number * 7 + place * place) % 256] for place in range(MAX_CHARACTERS)) for number in range(64)
    ]
    stored = [
        set_question(f"{number} {texts[number % 64]}"[:MAX_CHARACTERS], "é" * 600, 1.0)
        for number in range(LIMITS["set"])
    ]
    case.catalog.replace_questions("acme", stored)
    assert case.again().questions("acme") == merged(stored)


def test_forgetting_takes_real_questions_and_the_set_of_one_base(case):
    for base in ("acme", "globex"):
        case.catalog.add_questions(base, [asked("a")])
        case.again().add_questions(base, [asked("b")])
        case.catalog.replace_questions(base, [set_question("s", None, 1.0)])
    for _ in range(2):
        case.again().forget_questions("acme")
        assert case.catalog.questions("acme") == []
    assert len(case.catalog.questions("globex")) == 3
    case.catalog.add_questions("acme", [asked("a", 7.0)])
    assert case.again().questions("acme") == [asked("a", 7.0)]


def test_no_question_of_threads_at_the_same_time_is_lost(case):
    catalogs = [case.catalog, case.again()]

    def add(number):
        catalogs[number % 2].add_questions("acme", [asked("all", 1.0), asked(f"own {number}", 2.0)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(24)))
    found = {each.text: each.count for each in case.catalog.questions("acme")}
    assert found == {"all": 24, **{f"own {number}": 1 for number in range(24)}}


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.add_questions("acme", [asked("a")]),
        lambda c: c.replace_questions("acme", [set_question("a", None, 1.0)]),
        lambda c: c.questions("acme"),
        lambda c: c.forget_questions("acme"),
    ],
)
def test_out_of_reach_is_unavailable(case, call):
    case.take_away()
    with pytest.raises(Unavailable):
        call(case.catalog)


def test_the_same_again_changes_counts_alone(case):
    once = asked("a", 1.0, answered=False)
    for _ in range(3):
        case.catalog.add_questions("acme", [once])
    assert case.catalog.questions("acme") == [replace(once, count=3)]
