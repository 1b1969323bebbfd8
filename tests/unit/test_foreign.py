"""What is made of points that are not ours: by document, in order, and nothing is lost in silence."""

from hypothesis import given, settings
from hypothesis import strategies as st

from common.adapters.hashing_embedder import HashingEmbedder
from common.domain.chunking import ChunkSettings, chunk
from common.domain.foreign import ForeignPoint, adopted_document, survey, text_of
from common.domain.objects import ignored_name, source_problem

NAMES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from(["a", "a.md", "b//c", "../x", " ", "Thumbs.db", "x" * 2000]),
)
PAYLOADS = st.fixed_dictionaries(
    {},
    optional={
        "document_id": NAMES,
        "source": NAMES,
        "text": st.one_of(st.none(), st.integers(), st.sampled_from(["", " \n", "um texto", "outro texto"])),
        "chunk_index": st.one_of(st.none(), st.sampled_from(["", "2"]), st.integers(-3, 3), st.floats()),
        "metadata": st.one_of(st.none(), st.dictionaries(st.sampled_from(["k", "text"]), st.integers())),
        "title": st.one_of(st.none(), st.just(" "), st.just("Um título")),
    },
)
POINTS = st.lists(PAYLOADS, max_size=12).map(
    lambda payloads: [ForeignPoint(n if n % 2 else f"p{n}", payload) for n, payload in enumerate(payloads)]
)


def point(key, text="um texto", **payload):
    return ForeignPoint(key, {"text": text, **payload})


@settings(deadline=None)
@given(POINTS)
def test_every_point_is_in_one_document_and_every_document_has_a_name_of_its_own(points):
    found = survey(points)
    held = [key for document in found.documents for key in document.points]
    assert sorted(map(str, held)) == sorted(str(each.id) for each in points)
    assert found.points == len(points)
    assert set(found.without_text) == {each.id for each in points if not text_of(each.payload)}
    names = [document.name for document in found.documents]
    assert len(set(names)) == len(names)
    assert all(source_problem(name) is None and ignored_name(name) is None for name in names)


@settings(deadline=None)
@given(POINTS, st.randoms(use_true_random=False))
def test_the_order_in_which_points_come_changes_nothing(points, order):
    mixed = list(points)
    order.shuffle(mixed)
    assert set(survey(mixed).documents) == set(survey(points).documents)


@settings(deadline=None)
@given(POINTS)
def test_every_text_is_in_its_document(points):
    by_id = {each.id: each for each in points}
    for document in survey(points).documents:
        own = [by_id[key] for key in document.points]
        made = adopted_document(document, own)
        texts = [text_of(each.payload) for each in own if text_of(each.payload)]
        if made is None:
            assert not texts
            continue
        assert [made.text[block.start : block.end] for block in made.blocks] == texts
        assert made.source == document.name
        assert "text" not in made.metadata


def test_points_of_a_document_stand_in_their_own_order():
    points = [
        point(9, document_id="a", chunk_index=1),
        point(3, document_id="a", chunk_index=10),
        point(7, document_id="a"),
    ]
    (document,) = survey(points).documents
    assert document.points == (7, 9, 3)


def test_a_document_is_called_by_its_source_where_that_is_its_own():
    found = survey(
        [
            point(1, document_id="11", source="manual/um.md"),
            point(2, document_id="12", source="dois.md"),
            point(3, document_id="13", source="dois.md"),
            point(4, document_id=14),
            point(5, source="so.md"),
            point(6),
        ]
    )
    assert {document.name: document.points for document in found.documents} == {
        "manual/um.md": (1,),
        "12": (2,),
        "13": (3,),
        "14": (4,),
        "so.md": (5,),
        "foreign/6": (6,),
    }


def test_what_all_points_of_a_document_say_is_its_metadata():
    points = [
        point(1, document_id="a", lang="pt", page=1, vector_name=None, metadata={"team": "x"}, blob="x" * 2000),
        point(2, document_id="a", lang="pt", page=2, vector_name=None, metadata={"team": "x"}, blob="x" * 2000),
    ]
    made = adopted_document(survey(points).documents[0], points)
    assert made.metadata == {"document_id": "a", "lang": "pt", "team": "x"}
    assert made.external_id == "a"


def test_points_without_text_are_named_by_their_document():
    points = [point(1, document_id="a"), point(2, text="", document_id="a"), point(3, text=None, document_id="b")]
    found = survey(points)
    assert found.without_text == (2, 3)
    first, second = found.documents
    assert adopted_document(first, points[:2]).warnings == ("1 points without text were left out: 2",)
    assert adopted_document(second, points[2:]) is None


def test_a_text_that_fits_stays_a_passage_and_a_longer_one_is_cut():
    embedder = HashingEmbedder()
    long = " ".join(f"palavra{n}" for n in range(650))
    points = [
        point(1, "curto", document_id="a"),
        point(2, "dois parágrafos\n\nnum só", document_id="a"),
        point(3, long, document_id="a"),
    ]
    made = adopted_document(survey(points).documents[0], points)
    passages = chunk(made, ChunkSettings(0, 0, embedder.window, 0), embedder.token_ends)
    assert [passage.text for passage in passages[:2]] == ["curto", "dois parágrafos\n\nnum só"]
    assert len(passages) > 3
    assert "".join(f"{p.before}{p.text}{p.after}" for p in passages) == made.text


def test_the_sample_is_taken_evenly():
    found = survey([point(n, f"texto {n}") for n in range(10)], every=3, most=3)
    assert [payload["text"] for payload in found.sample] == ["texto 0", "texto 3", "texto 6"]
