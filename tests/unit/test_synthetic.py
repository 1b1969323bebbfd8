"""Synthetic questions come from the passages alone, always the same, spread over the base in the recipe's mix."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.domain.synthetic import SourcePassage, fragment_questions, synthetic_questions

NOUNS = [
    "bomba",
    "valvula",
    "turbina",
    "filtro",
    "motor",
    "cabo",
    "sensor",
    "painel",
    "tanque",
    "rotor",
    "mancal",
    "eixo",
    "correia",
    "engrenagem",
    "parafuso",
    "anel",
    "duto",
    "caldeira",
    "compressor",
    "gerador",
]


def sentence(number):
    """Twelve words of which more than five carry meaning, unlike those of any other number."""
    own = [f"{noun}{number}" for noun in NOUNS[number % 7 : number % 7 + 8]]
    return f"A {own[0]} {own[1]} do {own[2]} usa {own[3]} {own[4]} com {own[5]} {own[6]} {own[7]}."


def passage(number, sentences=3, title="Manual da bomba", document=None):
    text = " ".join(sentence(number * 10 + at) for at in range(sentences))
    return SourcePassage(f"p{number:03}", document or f"d{number // 4}", text, title)


SHARES = {"keywords": 60, "mask": 60, "swapped": 60, "title": 30}
BASE = [passage(number) for number in range(60)]


def words(text):
    return re.findall(r"\w+", text.lower())


def test_the_kinds_come_two_two_two_one():
    made = synthetic_questions(BASE, budget=210)
    assert len(made) == 210
    counted = Counter(question.kind for question in made)
    assert counted == {kind: pytest.approx(share, abs=3) for kind, share in SHARES.items()}


def test_questions_are_spread_before_a_passage_is_asked_twice():
    asked = Counter(question.passage_id for question in synthetic_questions(BASE, budget=90))
    assert len(asked) == 60
    assert max(asked.values()) == 2


def test_a_small_budget_still_mixes_the_kinds():
    counted = Counter(question.kind for question in synthetic_questions(BASE, budget=42))
    assert counted == {kind: pytest.approx(share / 5, abs=3) for kind, share in SHARES.items()}


def test_a_small_base_is_asked_at_most_seven_times_a_passage():
    made = synthetic_questions(BASE[:8], budget=220)
    assert len(made) <= 56
    assert max(Counter(question.passage_id for question in made).values()) <= 7
    assert len({(question.passage_id, question.text) for question in made}) == len(made)


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(12)), st.integers(0, 5))
def test_order_of_passages_does_not_matter_and_the_seed_does(order, seed):
    base = BASE[:12]
    made = synthetic_questions(base, seed)
    assert synthetic_questions([base[at] for at in order], seed) == made
    assert synthetic_questions(base, seed + 1) != made


def test_keywords_are_content_words_of_one_sentence_without_the_commonest():
    common = "bomba bomba bomba valvula valvula valvula. "
    base = [SourcePassage("a", "d", common + sentence(1) + " bomba valvula", ""), passage(2), passage(3)]
    for question in synthetic_questions(base):
        if question.passage_id == "a" and question.kind == "keywords":
            asked = words(question.text)
            assert 5 <= len(asked) <= 8
            assert not {"bomba", "valvula", "do", "a", "com"} & set(asked)
            assert asked == [word for word in words(base[0].text) if word in asked][: len(asked)]


def test_a_masked_sentence_begins_after_its_second_content_word():
    made = [question for question in synthetic_questions(BASE[:20]) if question.kind == "mask"]
    texts = {each.id: words(each.text) for each in BASE}
    for question in made:
        asked = words(question.text)
        starts = [at for at in range(len(texts[question.passage_id])) if at % 12 == 3]
        assert any(texts[question.passage_id][at : at + len(asked)] == asked for at in starts), question
        assert len(asked) <= 12


def test_swapped_words_come_from_siblings_and_are_about_a_third():
    texts = {each.id: words(each.text) for each in BASE}
    documents = {each.id: each.document for each in BASE}
    swapped = kept = 0
    for question in synthetic_questions(BASE, budget=420):
        if question.kind == "swapped":
            foreign = [word for word in words(question.text) if word not in texts[question.passage_id]]
            siblings = {
                w for key, held in texts.items() if documents[key] == documents[question.passage_id] for w in held
            }
            assert set(foreign) <= siblings
            swapped += len(foreign)
            kept += sum(len(word) > 3 for word in words(question.text)) - len(foreign)
    assert 0.2 < swapped / (swapped + kept) < 0.4


def test_copies_of_a_passage_have_no_word_to_swap_in():
    copies = [SourcePassage(f"p{at}", "d", BASE[0].text) for at in range(10)]
    made = [question for question in synthetic_questions(copies) if question.kind == "swapped"]
    assert made
    assert all(" ".join(words(question.text)) in " ".join(words(BASE[0].text)) for question in made)


def test_named_siblings_replace_those_of_the_document():
    made = synthetic_questions(BASE[:20], siblings={each.id: ["p019"] for each in BASE})
    foreign = {
        word
        for question in made
        if question.kind == "swapped" and question.passage_id != "p019"
        for word in words(question.text)
        if word not in words(next(each.text for each in BASE if each.id == question.passage_id))
    }
    assert foreign
    assert foreign <= set(words(BASE[19].text))


def test_a_title_question_adds_two_of_the_weightiest_words():
    for question in synthetic_questions(BASE[:20]):
        if question.kind == "title":
            own = next(words(each.text) for each in BASE if each.id == question.passage_id)
            asked = words(question.text)
            assert asked[:3] == ["manual", "da", "bomba"]
            assert len(asked) == 5
            assert set(asked[3:]) <= set(own)


@pytest.mark.parametrize("title", ["", "a", "12", "p017"])
def test_without_a_title_that_says_something_nothing_is_asked_of_it(title):
    base = [passage(number, title=title) for number in range(10)]
    assert "title" not in {question.kind for question in synthetic_questions(base)}


def test_fragments_are_running_words_one_of_a_passage():
    made = fragment_questions(BASE, budget=55)
    assert len({question.passage_id for question in made}) == len(made) == 55
    texts = {each.id: " ".join(words(each.text)) for each in BASE}
    for question in made:
        assert 8 <= len(words(question.text)) <= 14
        assert " ".join(words(question.text)) in texts[question.passage_id]


@given(st.lists(st.text(max_size=40), max_size=6))
def test_text_without_sentences_gives_no_question_and_no_error(texts):
    base = [SourcePassage(f"p{at}", f"p{at}", text) for at, text in enumerate(texts)]
    for question in synthetic_questions(base) + fragment_questions(base):
        assert question.text.strip()


def test_no_passages_no_questions():
    assert synthetic_questions([]) == fragment_questions([]) == []
