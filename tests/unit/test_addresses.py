"""What a name may mean: a document's own names before a citation of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.addresses import Place, is_passage_id, meant, names_apart, read_citation
from common.domain.index import point_id
from common.domain.objects import ObjectRef, digest
from common.domain.records import DocumentRecord
from common.domain.search import AnswerPassage

SOURCES = st.text(min_size=1, max_size=30)


def document(source, external_id="", holder=""):
    key = digest(source, holder)
    return DocumentRecord("acme", holder or source, 1, source, key, "T", 1, 1, 1, 1, external_id=external_id)


CITATIONS = [
    ("docs/gateway.md#0002", "docs/gateway.md", Place(ordinal=2)),
    ("docs/gateway.md:10-24", "docs/gateway.md", Place(line=10)),
    ("docs/gateway.md:10", "docs/gateway.md", Place(line=10)),
    ("x.pdf#page=3", "x.pdf", Place(page=3)),
    ("a:5:10-24", "a:5", Place(line=10)),
    ("a#1#2", "a#1", Place(ordinal=2)),
    ("a\nb.md:1-1", "a\nb.md", Place(line=1)),
]
NO_CITATIONS = [
    "docs/gateway.md",
    "",
    ":10",
    "#page=3",
    "a.md:",
    "a.md:0-3",
    "a.md:24-10",
    "a.md:-5",
    "x.pdf#page=0",
    "x.pdf#page=",
    "x.pdf#page=a",
    "a.md#intro",
    "a.md:1-2-3x",
    "a.md:1234567890",
    "a.md:\u0661",
    "a.md#\u00b2",
]


@pytest.mark.parametrize(("name", "document_name", "place"), CITATIONS)
def test_a_citation_is_a_name_and_a_place(name, document_name, place):
    assert read_citation(name) == (document_name, place)


@pytest.mark.parametrize("name", NO_CITATIONS)
def test_what_only_looks_like_a_citation_is_none(name):
    assert read_citation(name) is None


@given(SOURCES, st.integers(1, 10**6), st.integers(0, 500), st.booleans())
def test_what_an_answer_cites_leads_back(source, first, more, paged):
    lines, page = (None, first) if paged else ((first, first + more), None)
    cited = AnswerPassage(
        "", "", 0, 0, 0, (), "acme", source, "", (), page, lines, "", 1, "", 0, "", stale=False, absolute=0
    )
    assert read_citation(cited.citation) == (source, Place(page=first) if paged else Place(line=first))


@given(SOURCES)
def test_the_ids_of_passages_are_told_from_names(source):
    assert is_passage_id(point_id(ObjectRef("acme", "a.md"), 1, "a.md", 0))
    assert not is_passage_id(digest(source))
    assert not is_passage_id(source)


def test_a_source_outranks_what_others_call_themselves():
    own, by_id, by_stem = document("a"), document("b.md", "a"), document("a.md")
    assert meant("a", [own, by_id, by_stem]) == [own]
    assert meant("a", [by_id, by_stem]) == [by_id, by_stem]
    assert meant(by_id.document_id, [document("c.md", by_id.document_id), by_id]) == [by_id]
    assert meant("a", []) == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1, unique=True))
def test_candidates_tell_documents_apart(made):
    records = [document(source, holder=holder) for source, holder in made]
    candidates = names_apart(records)
    assert len(set(candidates)) == len(records)
    for name in candidates:
        assert len(meant(name, [r for r in records if name in {r.source, r.document_id}])) == 1
    if len({record.source for record in records}) == len(records):
        assert candidates == sorted(record.source for record in records)
