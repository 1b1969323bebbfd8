"""What a migration is planned to take, by the passages of its base."""

import pytest

from common.adapters.hashing_embedder import HashingEmbedder
from tests.integration.moving_machine import Moving
from tests.integration.one_machine import BASE


class Narrow(HashingEmbedder):
    """A model of a small window that remembers what it was given."""

    def __init__(self):
        super().__init__(96)
        self.window = 40
        self.given = []

    def embed_passages(self, texts):
        assert all(self.count_tokens(text) + self.special_tokens <= self.window for text in texts)
        self.given += texts
        return super().embed_passages(texts)


@pytest.fixture
def machine(tmp_path):
    opened = Moving(tmp_path)
    opened.other = Narrow()
    opened.restart()
    yield opened
    opened.runtime.close()


def test_passages_longer_than_the_window_are_counted_by_their_pieces(machine):
    """Left out, the longest passages of a base would count for nothing, and its plan would be far too short."""
    machine.put("longo", 1, 6)
    machine.settle()
    plan = machine.reindexing.plan(BASE, machine.other.space.model)
    assert plan["passages"] == 6
    sampled = machine.other.given[2:]
    assert len(sampled) >= 3 * 6
    words = "".join(sampled).count("fala do lugar")
    assert words == 6
