"""A text is cut between two words and between two graphemes, as late as it fits."""

from hypothesis import given, settings
from hypothesis import strategies as st

from common.domain.cutting import cut_at_word
from common.domain.graphemes import is_boundary

WORDS = st.sampled_from(
    ["casa", "a", "pão", "e\u0301xito", "👩‍👩‍👧", "🇧🇷", "x" * 40, "fim.", "não-sei", "\u0301", "कर्म", "n\u0600"]
)
BLANKS = st.sampled_from([" ", "  ", "\n", "\n\n", "\t", "\r\n", "\u00a0"])
TEXTS = st.lists(st.tuples(WORDS, BLANKS), min_size=1, max_size=20).map(
    lambda parts: "".join(word + blank for word, blank in parts).strip()
)


def ends_between_words(text, cut):
    return text.startswith(cut) and text[len(cut)].isspace() and not cut[-1].isspace() and is_boundary(text, len(cut))


@settings(max_examples=500, deadline=None)
@given(TEXTS, st.integers(0, 200))
def test_a_text_is_cut_between_words_as_late_as_it_fits(text, most):
    cut = cut_at_word(text, most)
    assert len(cut) <= most
    if cut:
        assert ends_between_words(text, cut)
    longer = [text[:end] for end in range(len(cut) + 1, min(most, len(text) - 1) + 1)]
    assert not any(ends_between_words(text, other) for other in longer)


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.integers(0, 60))
def test_what_fits_may_be_counted_in_anything(text, bytes_allowed):
    cut = cut_at_word(text, len(text), lambda beginning: len(beginning.encode()) <= bytes_allowed)
    assert len(cut.encode()) <= bytes_allowed
    if cut:
        assert ends_between_words(text, cut)
    ends = [text[:end] for end in range(len(cut) + 1, len(text)) if ends_between_words(text, text[:end])]
    assert not any(len(other.encode()) <= bytes_allowed for other in ends)


def test_a_script_without_blanks_is_cut_behind_its_stops():
    assert cut_at_word("今日は晴れ。明日は雨。", 8) == "今日は晴れ。"
    assert cut_at_word("今日は晴れ明日は雨", 8) == ""


def test_a_single_word_is_never_cut():
    assert cut_at_word("a" * 1000, 999) == ""
    assert cut_at_word("uma palavra", 11) == "uma"
