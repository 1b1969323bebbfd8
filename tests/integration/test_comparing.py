"""Both collections of a migration compared while the base changes."""

from dataclasses import dataclass, replace

import pytest

from common.domain.errors import BaseMoves
from tests.integration.moving_machine import Moving

FILES = {"um": 6, "dois": 5, "tres": 4}


@pytest.fixture
def machine(tmp_path):
    opened = Moving(tmp_path, settings={"KB_REINDEX_TOLERANCE": "0.6"})
    for name, parts in FILES.items():
        opened.put(name, 1, parts)
    opened.settle()
    opened.begin()
    opened.settle()
    yield opened
    opened.runtime.close()


@dataclass
class Moves:
    """A searcher to whose every question in `every` the base moves `times` times."""

    inner: object
    every: int
    times: int

    def __post_init__(self):
        self.asked, self.refused = {}, {}

    def search(self, base, search):
        number = self.asked.setdefault(search.query, len(self.asked))
        if number % self.every == 0 and self.refused.get(search.query, 0) < self.times:
            self.refused[search.query] = self.refused.get(search.query, 0) + 1
            raise BaseMoves(base)
        return self.inner.search(base, search)


def compared(machine, every, times):
    comparing = machine.runtime.migrating.comparing
    moving = replace(comparing, searcher=lambda catalog: Moves(comparing.searcher(catalog), every, times))
    reindex = machine.reindex
    return moving.run(machine.record, reindex.blue, reindex.green, machine.record.gates[reindex.green])


def test_a_question_is_asked_again_when_the_base_moved(machine):
    assert compared(machine, every=1, times=2)["questions"] == machine.reindex.report["questions"]


def test_a_question_to_which_the_base_never_stands_still_is_left_out(machine):
    asked = machine.reindex.report["questions"]["synthetic"]
    found = compared(machine, every=5, times=99)
    assert asked / 2 < found["questions"]["synthetic"] < asked
    assert found["recall_at_5"]["blue"] > 0


def test_most_of_the_questions_have_to_be_answered(machine):
    with pytest.raises(BaseMoves):
        compared(machine, every=1, times=99)
