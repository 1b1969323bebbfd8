"""Pages of a document: they rejoin to its text, cut no character, and hold what a citation points at. The text is read
from passages that tile it, of which only those are read that a page needs.
"""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.domain.addresses import Place
from common.domain.documents import Passage, rejoin
from common.domain.errors import Unavailable
from common.domain.graphemes import is_boundary
from common.domain.pages import PAGE, page_from, page_holding
from common.stages.stored_text import StoredText

WORDS = ("palavra ", "Manutenção, ", "\n", "\n\n", "e\u0301", "\r\n", " ", "x" * 40)
PIECES = (*WORDS, "👨\u200d👩\u200d👧", "🇧🇷", "👍🏽", "한국", "\u0915\u094d\u0937", "a" * 400)


def made(seed, pieces, wordy):
    """A text and passages that tile it."""
    chance = Random(seed)  # noqa: S311 - a draw that can be repeated
    text = "".join(chance.choice(WORDS if chance.random() < wordy else PIECES) for _ in range(pieces))
    passages, position = [], 0
    while position < len(text):
        start = min(len(text), position + chance.choice((0, 0, 1, 2, 30, 3000 if chance.random() < 0.02 else 0)))
        end = min(len(text), start + chance.randint(1, 1500 if chance.random() < 0.97 else 6000))
        if start >= end:
            break
        first = 1 + text.count("\n", 0, start)
        last = first + text.count("\n", start, end)
        before = text[position:start]
        passages.append(
            Passage(text[start:end], start, end, before, len(passages), page=1 + start // 3000, lines=(first, last))
        )
        position = end
    if passages:
        last = passages[-1]
        passages[-1] = Passage(
            last.text, last.start, last.end, last.before, last.ordinal, text[last.end :], (), last.page, last.lines
        )
    return (text, passages) if passages else ("", [])


class Stored:
    """Passages where an index would have them; counts what is read."""

    def __init__(self, passages, gone=()):
        self.passages = passages
        self.gone = set(gone)
        self.read = []

    def __call__(self, ordinals):
        self.read += ordinals
        wanted = [self.passages[o] for o in ordinals if o < len(self.passages) and o not in self.gone]
        return [
            {
                "ordinal": p.ordinal,
                "text": p.text,
                "start": p.start,
                "end": p.end,
                "before": p.before,
                "lines": list(p.lines),
                "page": p.page,
                **({"after": p.after} if p.after else {}),
            }
            for p in reversed(wanted)
        ]

    def text(self, length):
        return StoredText("a.md", len(self.passages), length, self)


TEXTS = st.builds(made, st.integers(0, 10**9), st.sampled_from((0, 1, 50, 900, 4000)), st.sampled_from((0.2, 1.0)))


def all_pages(passages, length):
    """Every page by its start, each read anew as every request does."""
    pages, offset = {}, 0
    while offset is not None:
        text = Stored(passages).text(length)
        start, end = page_from(text, offset)
        assert start == offset
        pages[start] = text.slice(start, end)
        offset = end if end < length else None
    return pages


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_pages_rejoin_to_the_exact_text_and_cut_no_character(document):
    whole, passages = document
    assert rejoin(passages) == whole
    pages = all_pages(passages, len(whole))
    assert "".join(pages.values()) == whole
    assert all(len(page) <= PAGE for page in pages.values())
    assert all(is_boundary(whole, start) for start in pages)
    assert all(len(page) > 8000 for page in list(pages.values())[:-1])


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.floats(0, 1))
def test_a_page_may_begin_anywhere_and_leads_into_the_others(document, share):
    whole, passages = document
    offset = int(share * len(whole))
    start, end = page_from(Stored(passages).text(len(whole)), offset)
    assert start <= offset
    assert is_boundary(whole, start)
    assert offset - start <= 300
    assert end - start <= PAGE
    assert end == len(whole) or end in all_pages(passages, len(whole)) or len(whole) - end < PAGE


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.floats(0, 1, exclude_max=True))
def test_every_place_is_on_the_page_that_is_opened_for_it(document, share):
    whole, passages = document
    if not whole:
        return
    pages = all_pages(passages, len(whole))
    position = int(share * len(whole))
    start = page_holding(Stored(passages).text(len(whole)), position)
    assert start in pages
    assert start <= position < start + len(pages[start])
    passage = passages[int(share * len(passages))]
    text = Stored(passages).text(len(whole))
    for place in (Place(ordinal=passage.ordinal), Place(line=passage.lines[0]), Place(page=passage.page)):
        found = next(p for p in passages if p.start == text.position(place))
        start = page_holding(text, found.start)
        assert start <= found.start < start + len(pages[start])
        if place.line:
            assert found.lines[0] <= passage.lines[0] <= found.lines[1]
        if place.page:
            assert found.page == passage.page
        if place.ordinal is not None:
            assert found is passage


@pytest.mark.parametrize("length", [11_999, 12_000, 12_001, 20_500, 22_500, 30_000])
def test_the_last_page_takes_what_is_left_when_that_is_little(length):
    passages = [Passage("palavra ab\n", i, i + 11, "", i // 11, lines=(1, 2)) for i in range(0, length - 11, 11)]
    whole = rejoin(passages)
    pages = all_pages(passages, len(whole))
    assert len(pages) == (1 if len(whole) <= PAGE else -(-(len(whole) - 2000) // 10_000))
    for position in range(0, len(whole), 97):
        start = page_holding(Stored(passages).text(len(whole)), position)
        assert start <= position < start + len(pages[start])


def test_short_passages_are_never_cut_by_a_page():
    whole, passages = made(7, 9000, 1.0)
    short = [p for p in passages if len(p.text) < 1000]
    starts = [start for start in all_pages(passages, len(whole)) if start]
    assert len(starts) > 3
    assert not [(p.start, s) for p in short for s in starts if p.start < s < p.end]


def test_a_page_reads_little_more_than_itself():
    text = "".join(f"Parágrafo {i} de um documento muito longo, com palavras.\n\n" for i in range(20_000))
    size = len(text) // 2000
    passages = [
        Passage(text[i * size : (i + 1) * size], i * size, (i + 1) * size, "", i, lines=(1, 1)) for i in range(2000)
    ]
    length = 2000 * size
    for offset in (0, 12_345, 500_000, length - 13_000, length):
        stored = Stored(passages)
        start, end = page_from(stored.text(length), offset)
        assert stored.text(length).slice(start, end) == text[start:end]
        assert len(stored.read) < 200
    stored = Stored(passages)
    assert stored.text(length).position(Place(ordinal=1700)) == 1700 * size
    assert len(stored.read) == 1


def test_a_place_that_is_not_there_is_none():
    whole, passages = made(1, 900, 1.0)
    text = Stored(passages).text(len(whole))
    assert text.position(Place(ordinal=len(passages))) is None
    assert text.position(Place(line=2 + whole.count("\n"))) is None
    assert text.position(Place(line=1 + whole.count("\n"))) is not None
    assert text.position(Place(page=10**6)) is None
    assert StoredText("empty.md", 0, 12, Stored([])).position(Place(line=1)) is None


@pytest.mark.parametrize("gone", [0, 3, 5])
def test_a_passage_that_is_not_stored_is_an_error_never_a_shorter_text(gone):
    passages = [Passage(f"passagem {i}\n", i * 11, i * 11 + 11, "", i, lines=(i + 1, i + 2)) for i in range(6)]
    assert Stored(passages).text(66).slice(0, 66) == rejoin(passages)
    with pytest.raises(Unavailable, match=f"lacks passage {gone} of a.md"):
        Stored(passages, gone=[gone]).text(66).slice(0, 66)
    shorter = [*passages[:4], replace(passages[4], text="cut"), passages[5]]
    with pytest.raises(Unavailable, match="lacks passage"):
        Stored(shorter).text(66).slice(0, 66)
    with pytest.raises(Unavailable, match="lacks passage 6"):
        Stored(passages).text(70).slice(0, 70)
