"""Turns: one at a time for each base, in order, and nobody waits for ever who does not want to."""

import threading

import pytest

from common.adapters.hashing_embedder import HashingEmbedder
from common.domain.errors import Unavailable
from common.stages.turns import Turns

PATIENCE = 20


class Watched(HashingEmbedder):
    """Stands for a model behind an address, and stops in each request until it is let go."""

    per_request = 64

    def __init__(self):
        super().__init__(8)
        self.entered = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.order = []
        self.inside = self.most = 0

    def _embed(self, position, text):
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.order.append(text)
        self.entered.release()
        assert self.go.acquire(timeout=PATIENCE)
        self.inside -= 1
        return super()._embed(position, text)


def begun(work, *args):
    thread = threading.Thread(target=work, args=args, daemon=True)
    thread.start()
    return thread


def test_a_model_in_this_process_takes_no_turns():
    embedder = HashingEmbedder()
    assert Turns().of("acme", embedder) is embedder


def test_the_embedder_in_turn_is_the_same_model():
    turned, inner = Turns().of("acme", Watched()), HashingEmbedder(8)
    assert turned.space == inner.space
    assert (turned.window, turned.special_tokens, turned.passage_prefix_tokens) == (256, 0, 0)
    assert (turned.fit, turned.per_request) == (False, 64)
    assert turned.count_tokens("a b") == 2
    assert turned.token_ends("a b") == [1, 3]


def waiting(turns, base, count):
    """Returns once so many stand in the base's line."""
    tick = threading.Event()
    while len(turns._lines.get(base, ())) < count:
        assert not tick.wait(0.001)


def test_one_base_asks_one_thing_at_a_time_in_the_order_of_asking():
    turns, embedder = Turns(), Watched()
    turned = turns.of("acme", embedder)
    threads = []
    for place in range(4):
        work = turned.embed_query if place % 2 else lambda text: turned.embed_passages([text])
        threads.append(begun(work, f"t{place}"))
        waiting(turns, "acme", place + 1)
    embedder.go.release(4)
    for thread in threads:
        thread.join(PATIENCE)
    assert embedder.order == ["t0", "t1", "t2", "t3"]
    assert embedder.most == 1
    assert turns._lines == {}


def test_a_question_comes_between_two_requests_of_an_ingest():
    turns, embedder = Turns(), Watched()
    turned = turns.of("acme", embedder)

    def ingest():
        for place in range(3):
            turned.embed_passages([f"passage {place}"])

    threads = [begun(ingest)]
    assert embedder.entered.acquire(timeout=PATIENCE)
    threads.append(begun(turned.embed_query, "question"))
    waiting(turns, "acme", 2)
    embedder.go.release(4)
    for thread in threads:
        thread.join(PATIENCE)
    assert embedder.order[:2] == ["passage 0", "question"]


def test_another_base_does_not_wait():
    turns, embedder = Turns(), Watched()
    first, second = (begun(turns.of(base, embedder).embed_query, base) for base in ("acme", "legal"))
    assert embedder.entered.acquire(timeout=PATIENCE)
    assert embedder.entered.acquire(timeout=PATIENCE)
    embedder.go.release(2)
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert sorted(embedder.order) == ["acme", "legal"]


def test_who_waited_in_vain_leaves_the_line():
    turns = Turns()
    with turns.take("acme"):
        with pytest.raises(Unavailable, match="busy"), turns.take("acme", 0.01):
            raise AssertionError("never its turn")
        assert len(turns._lines["acme"]) == 1
    with turns.take("acme", 0):
        pass
    assert turns._lines == {}


def test_a_failure_gives_the_turn_back():
    turns = Turns()
    with pytest.raises(ZeroDivisionError), turns.take("acme"):
        raise ZeroDivisionError
    with turns.take("acme", 0):
        pass
