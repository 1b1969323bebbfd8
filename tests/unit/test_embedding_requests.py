"""Passages in requests: who is refused, what is kept, and what is paid for, whatever a provider refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.adapters.hashing_embedder import HashingEmbedder
from common.domain.errors import EmbeddingInvalid, PassagesRejected, Unavailable
from common.stages.embedding import in_requests


class Picky(HashingEmbedder):
    """Refuses every request that holds one of some texts, keeps what it answered, and stops after so many requests."""

    def __init__(self, per_request=0, refused=(), answers=1000):
        super().__init__()
        self.per_request = per_request
        self.refused = set(refused)
        self.requests = []
        self.paid = []
        self.answers = answers

    def embed_passages(self, texts):
        self.requests.append(list(texts))
        if len(self.requests) > self.answers:
            raise Unavailable("gone")
        if self.refused & set(texts):
            raise PassagesRejected("400")
        self.paid += texts
        return super().embed_passages(texts)


def got(embedder, texts):
    """Every text's vector or None, as far as they came."""
    found = {}
    try:
        for start, answered in in_requests(embedder, texts):
            for place, vector in enumerate([None] if answered is None else answered):
                assert texts[start + place] not in found
                found[texts[start + place]] = vector
    except Unavailable:
        pass
    return found


requests = st.tuples(st.integers(0, 40), st.integers(0, 64), st.sets(st.integers(0, 39)))


@given(requests)
def test_only_the_texts_at_fault_stay_without_vector_and_no_other_is_paid_twice(drawn):
    count, size, bad = drawn
    texts = [f"text {i}" for i in range(count)]
    embedder = Picky(size, {f"text {i}" for i in bad})
    found = got(embedder, texts)
    alone = HashingEmbedder()
    assert list(found) == texts
    for i, text in enumerate(texts):
        assert found[text] == (None if i in bad else alone.embed_passages([text])[0])
    assert sorted(embedder.paid) == sorted(set(texts) - embedder.refused)
    assert all(0 < len(request) <= (size or count) for request in embedder.requests)


@given(requests, st.integers(0, 30))
def test_what_came_before_a_failure_is_given(drawn, answers):
    count, size, bad = drawn
    texts = [f"text {i}" for i in range(count)]
    embedder = Picky(size, {f"text {i}" for i in bad}, answers)
    found = got(embedder, texts)
    assert {text for text, vector in found.items() if vector is not None} == set(embedder.paid)


@given(st.data(), st.integers(1, 300))
def test_one_fault_costs_few_requests(data, count):
    embedder = Picky(0, {f"text {data.draw(st.integers(0, count - 1))}"})
    got(embedder, [f"text {i}" for i in range(count)])
    assert len(embedder.requests) <= 2 * count.bit_length() + 1


def test_a_vector_that_is_none_is_named_by_its_place_among_all():
    class Broken(Picky):
        def embed_passages(self, texts):
            if "text 5" in texts:
                raise EmbeddingInvalid(texts.index("text 5"), "NaN")
            return super().embed_passages(texts)

    with pytest.raises(EmbeddingInvalid) as raised:
        list(in_requests(Broken(2), [f"text {i}" for i in range(8)]))
    assert raised.value.position == 5
