"""What every Catalog keeps to about documents: listed while their generation is live, found by name and by prefix."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.domain.objects import ObjectRef
from common.domain.records import ObjectRecord
from common.ports import Catalog
from tests.contract.records import document, publish, publish_with, store
from tests.contract.stores import CATALOGS


@pytest.fixture(params=list(CATALOGS))
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    with CATALOGS[request.param](tmp_path) as made:
        yield made.catalog


def test_documents_are_listed_only_while_their_generation_is_live(catalog):
    catalog.put_documents(ObjectRef("acme", "a.md"), 2, [document("a.md", 2)])
    assert list(catalog.documents("acme")) == []
    store(catalog, ObjectRecord(ObjectRef("acme", "a.md"), live=2))
    assert list(catalog.documents("acme")) == [document("a.md", 2)]
    store(catalog, ObjectRecord(ObjectRef("acme", "a.md"), live=3))
    assert list(catalog.documents("acme")) == []
    assert list(catalog.documents("other")) == []


def test_a_document_comes_back_field_for_field_and_is_replaced_when_put_again(catalog):
    rich = document(
        "a.jsonl",
        1,
        "x/y.md",
        keywords=("férias",),
        pinned=True,
        external_id="EXT-1",
        metadata={"version": "1.10", "list": [1, 2.5, None]},
        links=(("b.md", "ver b", 3, "markdown"),),
        warnings=("cut \ud83d",),
    )
    publish(catalog, "a.jsonl", 1, document("a.jsonl", 1, "x/y.md"))
    catalog.put_documents(ObjectRef("acme", "a.jsonl"), 1, [rich])
    assert list(catalog.documents("acme")) == [rich]


def test_dropping_documents_spares_the_named_generation_and_other_objects(catalog):
    publish(catalog, "a.md", 1)
    publish(catalog, "a.md", 2)
    publish(catalog, "b.md", 1)
    for _ in range(2):
        catalog.drop_documents(ObjectRef("acme", "a.md"), 2)
    assert [(d.object, d.generation) for d in catalog.documents("acme")] == [("a.md", 2), ("b.md", 1)]
    store(catalog, ObjectRecord(ObjectRef("acme", "a.md"), live=1))
    assert [d.object for d in catalog.documents("acme")] == ["b.md"]


def test_only_the_named_generations_are_dropped(catalog):
    ref = ObjectRef("acme", "a.md")
    for generation in (1, 2, 3):
        catalog.put_documents(ref, generation, [document("a.md", generation)])
    catalog.drop_documents(ref, 3, since=2)
    left = {}
    for generation in (1, 2, 3):
        store(catalog, ObjectRecord(ref, live=generation))
        left[generation] = [d.generation for d in catalog.documents("acme")]
    assert left == {1: [1], 2: [], 3: [3]}


SIZES = {"small": {}, "large": {"title": "".join(chr(0x4E00 + n * n * 7919 % 20_000) for n in range(60_000))}}


@pytest.mark.parametrize("fields", SIZES.values(), ids=SIZES)
def test_a_document_that_comes_with_its_publish_is_listed_from_then_on_until_another_takes_its_place(catalog, fields):
    def found():
        by_name = [d.generation for d in catalog.documents_named("acme", "a")]
        assert [d.generation for d in catalog.documents("acme", prefix="a")] == by_name
        return by_name

    publish_with(catalog, "b.md", 7, document("b.md", 7))
    first, second = (document("a.md", generation, **fields) for generation in (1, 2))
    publish_with(catalog, "a.md", 1, first)
    assert list(catalog.documents("acme")) == [first, document("b.md", 7)]
    store(catalog, ObjectRecord(ObjectRef("acme", "a.md"), newest=9, live=1))
    assert found() == [1]
    publish_with(catalog, "a.md", 2, second)
    assert list(catalog.documents_named("acme", "a.md")) == [second]
    assert found() == [2]
    publish_with(catalog, "a.md", 2, second)
    assert found() == [2]
    publish_with(catalog, "a.md", None)
    assert found() == []
    assert [d.object for d in catalog.documents("acme")] == ["b.md"]


def test_one_document_and_many_take_each_others_place(catalog):
    many = [document("a", 2, source) for source in ("x", "y", "z")]
    publish_with(catalog, "a", 1, document("a", 1))
    publish(catalog, "a", 2, *many)
    assert list(catalog.documents("acme")) == many
    publish_with(catalog, "a", 3, document("a", 3))
    catalog.drop_documents(ObjectRef("acme", "a"), 3)
    assert list(catalog.documents("acme")) == [document("a", 3)]
    publish_with(catalog, "a", 4, *(document("a", 4, source) for source in "xyz"))
    assert [d.source for d in catalog.documents("acme")] == ["x", "y", "z"]


def test_documents_of_both_kinds_are_listed_page_by_page_in_one_order(catalog):
    for number in range(12):
        source = f"{number * 7 % 12:02}.md"
        if number % 3:
            publish_with(catalog, f"o{number}", 1, document(f"o{number}", 1, source))
        else:
            publish(catalog, f"o{number}", 1, document(f"o{number}", 1, source))
    pages, after = [], ("", "")
    while page := catalog.documents("acme", after=after, limit=5):
        after = (page[-1].source, page[-1].object)
        pages.append([d.source for d in page])
    assert list(itertools.chain(*pages)) == [f"{number:02}.md" for number in range(12)]
    assert [len(page) for page in pages] == [5, 5, 2]


def test_documents_page_by_source_and_object(catalog):
    publish(catalog, "1.jsonl", 1, document("1.jsonl", 1, "same"), document("1.jsonl", 1, "zeta"))
    publish(catalog, "2.jsonl", 1, document("2.jsonl", 1, "same"), document("2.jsonl", 1, "alfa"))
    expected = [("alfa", "2.jsonl"), ("same", "1.jsonl"), ("same", "2.jsonl"), ("zeta", "1.jsonl")]
    assert [(d.source, d.object) for d in catalog.documents("acme")] == expected
    paged, after = [], ("", "")
    while page := catalog.documents("acme", after=after, limit=1):
        after = (page[0].source, page[0].object)
        paged.append(after)
    assert paged == expected
    assert [d.object for d in catalog.documents("acme", prefix="s", after=("same", "1.jsonl"))] == ["2.jsonl"]
    assert list(catalog.documents("acme", prefix="s", after=("t", ""))) == []


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("a%", ["a%b"]),
        ("a_", ["a_b"]),
        ("A", ["Ab"]),
        ("", ["Ab", "a%b", "a\\b", "a_b", "ab", "\ud7ffx", "\U0010ffffz"]),
        ("\ud7ff", ["\ud7ffx"]),
        ("\U0010ffff", ["\U0010ffffz"]),
        ("a\\", ["a\\b"]),
        ("\ud800", []),
        ("a*", []),
    ],
)
def test_a_prefix_is_taken_character_for_character(catalog, prefix, expected):
    for name in ("ab", "a%b", "a_b", "a\\b", "Ab", "\ud7ffx", "\U0010ffffz"):
        publish(catalog, name, 1)
    assert [d.source for d in catalog.documents("acme", prefix=prefix)] == expected


names = st.text(st.sampled_from("aAé%_*/.\x7f\ud7ff\ue000\U0010ffff"), min_size=1, max_size=4)


def test_listing_is_what_filtering_and_sorting_in_memory_gives(catalog):
    generations = itertools.count(1)
    ref = ObjectRef("acme", "o")

    @settings(max_examples=100, deadline=None)
    @given(st.sets(names, max_size=12), st.text(st.sampled_from("aé%_\ud7ff\U0010ffff"), max_size=3), names)
    def holds(sources, prefix, after):
        generation = next(generations)
        catalog.put_documents(ref, generation, [document("o", generation, source) for source in sources])
        store(catalog, ObjectRecord(ref, live=generation))
        listed = catalog.documents("acme", prefix=prefix, after=(after, "m"))
        assert [d.source for d in listed] == sorted(
            s for s in sources if s.startswith(prefix) and (s, "o") > (after, "m")
        )

    holds()


def test_documents_are_found_by_each_of_their_names(catalog):
    publish(catalog, "guia/férias.v2.md", 1, document("guia/férias.v2.md", 1, external_id="EXT-9"))
    publish(catalog, "other.md", 1)
    found = document("guia/férias.v2.md", 1, external_id="EXT-9")
    for name in ("guia/férias.v2.md", "guia/férias.v2", "EXT-9", found.document_id):
        assert list(catalog.documents_named("acme", name)) == [found], name
    for name in ("", "guia/férias", "ext-9", "guia/férias.v%", "\ud800"):
        assert list(catalog.documents_named("acme", name)) == [], name
    assert list(catalog.documents_named("other", "EXT-9")) == []


def test_names_that_several_documents_share_give_them_all_once_and_only_live_ones(catalog):
    publish(catalog, "b.md", 1, document("b.md", 1, "a.md"))
    publish(catalog, "a.txt", 1, document("a.txt", 1, "a.txt", external_id="a"))
    publish(catalog, "old.md", 1, document("old.md", 1, "a.rst"))
    publish(catalog, "old.md", 2, document("old.md", 2, "new.md"))
    assert [(d.source, d.object) for d in catalog.documents_named("acme", "a")] == [
        ("a.md", "b.md"),
        ("a.txt", "a.txt"),
    ]
