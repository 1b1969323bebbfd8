"""Passages of answers: every field of a stored payload stands in its own place."""

from common.domain.fusion import Fused
from common.domain.pieces import found_piece, piece_of
from common.domain.search import passage_of

HIT = Fused("id", 0.75, 0.5, 0.25)
SAME_NAME = ("text", "base", "source", "title", "page", "document_id", "generation", "object", "ordinal", "before")
PAYLOAD = {
    **{name: f"the {name}" for name in SAME_NAME},
    "headings": ["Above", "Below"],
    "lines": [3, 9],
    "category": "the category",
    "metadata": {"client": "acme", "year": 2026, "several": [1, 2], "none": None},
}


def test_every_field_stands_in_its_place():
    passage = passage_of(PAYLOAD, HIT, ("word",), stale=True, absolute=0.125)
    assert {name: getattr(passage, name) for name in SAME_NAME} == {name: PAYLOAD[name] for name in SAME_NAME}
    assert (passage.id, passage.score, passage.dense_score, passage.lexical_score) == ("id", 0.75, 0.5, 0.25)
    assert (passage.terms, passage.stale, passage.absolute) == (("word",), True, 0.125)
    assert (passage.headings, passage.lines) == (("Above", "Below"), (3, 9))
    assert (passage.category, passage.metadata) == ("the category", (("client", "acme"), ("year", 2026)))


def test_what_a_payload_does_not_have_is_empty():
    lean = {name: value for name, value in PAYLOAD.items() if name not in {"page", "lines", "category", "metadata"}}
    passage = passage_of(lean, HIT, (), stale=False, absolute=0.0)
    assert (passage.page, passage.lines, passage.category, passage.metadata) == (None, None, "", ())
    assert passage.citation == "the source"


def test_a_piece_is_the_same_from_a_payload_and_from_a_passage():
    passage = passage_of(PAYLOAD, HIT, (), stale=True, absolute=0.0)
    piece = found_piece(passage)
    assert {name: getattr(piece, name) for name in piece._fields} == {
        name: getattr(passage, name) for name in piece._fields
    }
    assert piece_of(PAYLOAD, stale=True) == piece._replace(score=None)
