"""A question's words are looked up while a model makes its vector, and no moment of it is charged twice."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from common.adapters.hashing_embedder import HashingEmbedder
from common.domain.search import Search
from tests.integration.one_machine import BASE, OneMachine

TEXT = "# Trocas\n\nO cliente troca o produto em trinta dias com a nota e a embalagem original sem uso."
LONG = 0.3


class Model(HashingEmbedder):
    """Does something more with each question."""

    more = staticmethod(lambda: None)

    def embed_query(self, text):
        self.more()
        return super().embed_query(text)


@pytest.fixture
def machine(tmp_path):
    opened = OneMachine(tmp_path, embedder=Model(), settings={"KB_CACHE_TTL": "600"})
    opened.runtime.manage.upload(BASE, "trocas.md", TEXT.encode(), "")
    opened.settle()
    assert ask(opened, "aquece").passages
    yield opened
    opened.runtime.close()


def _hold(seconds):
    """Keeps its thread, and no other, for so long."""
    return threading.Event().wait(seconds)


def ask(machine, query, **more):
    return machine.runtime.answers.answer(BASE, Search(query, **{"threshold": None, **more}))


def before_counting(machine, monkeypatch, more):
    index = machine.runtime.index

    def frequencies(base, collection, terms):
        more()
        return type(index).frequencies(index, base, collection, terms)

    monkeypatch.setattr(index, "frequencies", frequencies)


def test_terms_are_counted_while_the_model_runs(machine, monkeypatch):
    running, counted = threading.Event(), threading.Event()
    waited = []
    machine.embedder.more = lambda: (running.set(), waited.append(counted.wait(20)))
    before_counting(machine, monkeypatch, lambda: (waited.append(running.wait(20)), counted.set()))
    answer = ask(machine, "troca do produto")
    assert waited == [True, True]
    assert (answer.degraded, answer.embedded, answer.passages[0].source) == (False, True, "trocas.md")
    assert answer.passages[0].lexical_score > 0


@pytest.mark.parametrize("slow", ["embed", "index"])
def test_shared_time_is_charged_to_what_took_longer(machine, monkeypatch, slow):
    """The model takes long and the count a little, or the other way round."""
    takes = {"embed": LONG, "index": LONG / 6} if slow == "embed" else {"embed": LONG / 6, "index": LONG}
    machine.embedder.more = lambda: _hold(takes["embed"])
    before_counting(machine, monkeypatch, lambda: _hold(takes["index"]))
    spent = ask(machine, "troca do produto").timings_ms
    assert spent[slow] >= (LONG - LONG / 6) * 900
    assert sum(spent[stage] for stage in ("epoch", "embed", "index", "rank")) <= spent["total"] + 1
    assert spent["total"] >= LONG * 1000


def test_what_fails_beside_the_model_fails_for_who_asked_alone(machine, monkeypatch):
    """Two ask the same with one run of the model; the first one's terms cannot be counted."""
    embedded, counted, joined, hold = [], [], threading.Event(), threading.Event()
    machine.embedder.more = lambda: embedded.append(hold.wait(20))

    def counting():
        counted.append(1)
        if len(counted) == 1:
            assert joined.wait(20)
            raise ValueError("of the first")
        joined.set()

    before_counting(machine, monkeypatch, counting)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, machine, "troca do produto", top_k=1)
        while not counted:
            _hold(0.001)
        other = pool.submit(ask, machine, "troca do produto", top_k=2)
        assert isinstance(first.exception(20), ValueError)
        hold.set()
        answer = other.result(20)
    assert (answer.degraded, answer.passages[0].source, embedded) == (False, "trocas.md", [True])


def test_words_of_a_known_vector_or_without_one_are_counted_all_the_same(machine, monkeypatch):
    counted = []
    ask(machine, "troca do produto")
    before_counting(machine, monkeypatch, lambda: counted.append(1))
    machine.runtime.catalog.update_base(BASE, lambda known: (known, None), raise_epoch=True)
    known = ask(machine, "troca do produto")
    assert (known.embedded, known.cache, known.passages[0].terms) == (False, "miss", ("troca", "produto"))
    assert len(counted) == 1
    assert ask(machine, "embalagem original", mode="lexical").passages[0].terms == ("embalagem", "original")
    assert len(counted) == 2


def test_a_question_that_has_no_vector_in_time_is_answered_by_its_words(tmp_path):
    machine = OneMachine(tmp_path, embedder=Model(), settings={"KB_DEADLINE_SECONDS": "0.4"})
    machine.runtime.manage.upload(BASE, "trocas.md", TEXT.encode(), "")
    machine.settle()
    hold = threading.Event()
    machine.embedder.more = lambda: hold.wait(30)
    answer = ask(machine, "troca do produto")
    hold.set()
    assert (answer.degraded, answer.passages[0].terms) == (True, ("troca", "produto"))
    machine.runtime.close()
