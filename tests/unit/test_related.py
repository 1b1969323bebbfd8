"""Which documents stand near those of an answer: linked ones first, then what few others share."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from common.domain.records import DocumentRecord
from common.stages.contents import Contents


def document(source, *targets, **more):
    links = tuple((target, "", 1, "wikilink") for target in targets)
    return DocumentRecord("acme", source, 1, source, "", source.upper(), 1, 1, 1, 1, links=links, **more)


def contents(*records, before=None):
    return Contents(sorted(records, key=lambda record: record.source), before)


def test_links_of_both_directions_are_near():
    base = contents(document("a.md", "b", "c"), document("b.md"), document("c.md", "a"), document("d.md", "a"))
    assert base.related(["a.md"]) == [
        ("b.md", "B.MD", "linked from a.md"),
        ("c.md", "C.MD", "linked with a.md both ways"),
        ("d.md", "D.MD", "links to a.md"),
    ]


def test_nothing_that_was_hit_is_related():
    base = contents(document("a.md", "b", "c"), document("b.md", "a"), document("c.md"))
    assert [source for source, _, _ in base.related(["a.md", "b.md"])] == ["c.md"]
    assert base.related(["a.md", "b.md", "c.md"]) == []
    assert base.related(["gone.md"]) == base.related([]) == []


def test_a_document_near_several_hits_comes_first_and_earlier_hits_count_more():
    base = contents(
        document("a.md", "x", "y"),
        document("b.md", "y"),
        document("c.md", "z"),
        *map(document, ("x.md", "y.md", "z.md")),
    )
    assert [source for source, _, _ in base.related(["a.md", "b.md", "c.md"])] == ["y.md", "x.md", "z.md"]


def test_earlier_hits_count_more_than_later_ones():
    base = contents(
        document("a.md", "x"), document("b.md", "z"), document("c.md", "z"), document("x.md"), document("z.md")
    )
    assert [source for source, _, _ in base.related(["a.md", "b.md", "c.md"])] == ["x.md", "z.md"]
    assert [source for source, _, _ in base.related(["b.md", "c.md", "a.md"])] == ["z.md", "x.md"]


def test_the_reason_is_the_link_where_there_is_one():
    base = contents(document("g/a.md"), document("b.md", "near"), document("g/near.md"), document("c.md"))
    assert base.related(["g/a.md", "b.md"]) == [("g/near.md", "G/NEAR.MD", "linked from b.md")]


def test_a_link_outranks_what_is_shared_whichever_hit_it_is_of():
    base = contents(
        document("g/a.md", category="guia"),
        document("b.md", "far"),
        document("g/near.md", category="guia"),
        document("far.md"),
    )
    assert base.related(["g/a.md", "b.md"]) == [
        ("far.md", "FAR.MD", "linked from b.md"),
        ("g/near.md", "G/NEAR.MD", "shares folder g, category guia with g/a.md"),
    ]


def test_what_few_share_says_more_than_what_many_do():
    base = contents(
        document("g/a.md", category="raro", keywords=("Um", "dois")),
        *(document(f"g/{i}.md") for i in range(5)),
        document("h/b.md", category="raro"),
        document("h/c.md", tags=("um", "DOIS")),
        document("h/d.md", keywords=("um",)),
        *(document(f"i/{i}.md") for i in range(9)),
    )
    found = base.related(["g/a.md"])
    assert [source for source, _, _ in found] == ["h/c.md", "h/b.md", "g/4.md", "g/3.md", "g/2.md", "g/1.md"]
    reasons = {source: reason for source, _, reason in found}
    assert reasons["h/b.md"] == "shares category raro with g/a.md"
    assert reasons["h/c.md"] == "shares keywords um, dois with g/a.md"
    assert reasons["g/4.md"] == "shares folder g with g/a.md"


def test_one_word_in_common_is_chance():
    base = contents(
        document("a.md", keywords=("um", "dois")),
        document("b.md", keywords=("um",)),
        *(document(f"{i}") for i in "xyz"),
    )
    assert base.related(["a.md"]) == []


def test_of_a_folder_the_documents_beside_come_first():
    base = contents(*(document(f"curso/{i:02}.md") for i in range(20)), document("x.md"))
    near = {source for source, _, _ in base.related(["curso/10.md"])}
    assert near == {f"curso/{i:02}.md" for i in (7, 8, 9, 11, 12, 13)}


def test_the_root_and_what_all_share_relate_nothing():
    base = contents(*(document(f"{i}.md", category="c") for i in range(300)))
    assert base.related(["5.md"]) == []


SOURCES = st.sampled_from([f"{folder}{name}.md" for folder in ("", "a/", "a/b/", "c/") for name in "vwxyz"])
DOCUMENTS = st.builds(
    lambda source, targets, words, category: document(source, *targets, keywords=tuple(words), category=category),
    SOURCES,
    st.lists(st.sampled_from("vwxyz"), max_size=3),
    st.lists(st.sampled_from(["um", "dois", "tr\u00eas"]), max_size=3),
    st.sampled_from(["", "guia"]),
)


@given(st.lists(DOCUMENTS, max_size=20, unique_by=lambda d: d.source), st.lists(SOURCES, max_size=4, unique=True))
def test_at_most_six_each_once_and_always_the_same(records, hits):
    found = contents(*records).related(hits)
    assert len(found) <= 6
    sources = [source for source, _, _ in found]
    assert len(set(sources)) == len(sources)
    assert not set(sources) & set(hits)
    assert set(sources) <= {record.source for record in records}
    assert all(reason.endswith(tuple(hits)) or "both ways" in reason for _, _, reason in found)
    assert found == contents(*records).related(hits)


def test_links_are_resolved_anew_only_when_a_name_or_a_link_changed():
    made = [document("a.md", "b"), document("b.md", aliases=("bê",)), document("c.md", "bê")]
    before = contents(*made)
    graph = before.graph
    titled = contents(*(replace(record, title="Outro", tokens_in_source=9) for record in made), before=before)
    assert titled.graph is graph
    assert titled.related(["a.md"])[0] == ("b.md", "Outro", "linked from a.md")
    for changed in (
        [document("a.md", "c"), *made[1:]],
        [*made[:2], document("c.md", "bê", "a")],
        [made[0], document("b.md"), made[2]],
        [*made, document("d/b.md")],
        made[:2],
    ):
        assert contents(*changed, before=before).graph == contents(*changed).graph != graph
    assert contents(*made, before=contents(*made)).graph == graph


def test_documents_of_one_source_share_its_links():
    two = [document("a.md", "b"), replace(document("a.md", "c"), object="z.jsonl"), document("b.md"), document("c.md")]
    assert contents(*two).graph.links["a.md"] == ("b.md", "c.md")
