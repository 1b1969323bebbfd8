"""No cut goes through what a reader sees as one character; when the cut tests fail, look at UAX #29's rule numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.graphemes import boundary_near, is_boundary

WHOLE = [
    "\r\n",
    "e\u0301",
    "a\u0308\u0323",
    "\u0915\u094d\u0924",  # Devanagari conjunct
    "\u1112\u1161\u11ab",  # decomposed Hangul
    "\uac00\u11a8",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",  # family
    "\U0001f469\U0001f3fe\u200d\U0001f4bb",  # skin tone and profession
    "\u2764\ufe0f\u200d\U0001f525",
    "\U0001f1e7\U0001f1f7",  # flag
    "\U0001f3f4\U000e0067\U000e0062\U000e007f",  # flag by tags
    "\u0e01\u0e33",
    "\u0600\u0661",
]
APART = ["ab", "\n\r", "\u0301a", "a\u200da", "\U0001f469a", "\uac01\u1161", "\u1100\u11a8", "a\u00ad", "\u200b\u0301"]


@pytest.mark.parametrize("cluster", WHOLE, ids=ascii)
def test_no_cut_inside_a_cluster(cluster):
    text = f"x{cluster}y"
    assert [place for place in range(1, len(text)) if is_boundary(text, place)] == [
        1,
        len(text) - 1,
    ] or cluster == "\r\n"
    assert not any(is_boundary(cluster, place) for place in range(1, len(cluster)))


@pytest.mark.parametrize("pair", APART, ids=ascii)
def test_clusters_may_be_parted(pair):
    assert is_boundary(pair, len(pair) - 1)


@pytest.mark.parametrize("flags", range(1, 7))
def test_flags_pair_up_from_the_start_of_their_run(flags):
    text = "x" + "\U0001f1e7\U0001f1f7" * flags + "y"
    places = [place for place in range(1, len(text)) if is_boundary(text, place)]
    assert places == list(range(1, len(text), 2))


@given(st.text(alphabet="ab \r\n\u0301\u200d\u094d\u0915\U0001f468\U0001f1e7\uac00\u11a8", max_size=30))
def test_a_cut_moves_no_later_boundary(text):
    places = [place for place in range(len(text) + 1) if is_boundary(text, place)]
    for cut in places:
        rest = text[cut:]
        assert [place for place in places if place >= cut] == [
            place + cut for place in range(len(rest) + 1) if is_boundary(rest, place)
        ]


def test_endless_marks_are_cut_in_the_end():
    text = "e" + "\u0301" * 5_000
    place = boundary_near(text, 2_500, 0, len(text))
    assert place == 2_500


def test_the_nearest_boundary():
    text = "ab" + "\U0001f468\u200d\U0001f469" + "cd"
    assert boundary_near(text, 3, 0, len(text)) == 2
    assert boundary_near(text, 3, 2, 5) is None
