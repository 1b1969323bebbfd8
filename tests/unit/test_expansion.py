"""What a question's words may stand for in one base."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.expansion import (
    MOST_ALTERNATIVES,
    MOST_WORDS,
    PREFIX_SHARE,
    TYPO_SHARE,
    alternatives,
    covered,
    exact,
    expanded,
    matched,
    reachable,
    total_weight,
    vocabulary_of,
    weights_of,
    written_words,
)
from common.domain.lexical import fold, question_terms, term_code, tokenise

VOCABULARY = vocabulary_of(["deploys pagamento pagamentos", "pagante reembolso entrega"])


def codes(text, mode="stem"):
    return {term_code(term) for term in tokenise(text, mode)}


def asked(question, *passages, mode="stem", vocabulary=VOCABULARY, loosely=True):
    held = [codes(passage, mode) for passage in passages]
    counts = {code: sum(code in terms for terms in held) for terms in held for code in terms}
    wanted = exact(question_terms(question, mode), len(passages), counts)
    if not loosely:
        return wanted
    return tuple(expanded(each, alternatives(each.term, vocabulary, mode), len(passages), counts) for each in wanted)


def test_words_are_kept_folded_once_and_without_function_words():
    assert written_words(["A Configuração da configuração", "porque v2 getUserName e pão"]) == [
        "configuracao",
        "getusername",
    ]


def test_a_document_adds_a_bounded_number_of_words():
    letters = "abcdefghijklmnopqrstuvwxyz"
    many = " ".join("word" + a + b + c + d for a in letters for b in letters for c in letters for d in letters[:3])
    assert len(written_words([many])) == MOST_WORDS


@pytest.mark.parametrize(
    ("word", "marks"),
    [("reemb", {"reemb*"}), ("reembolzo", {"reembolzo~"}), ("ree", set())],
)
def test_a_word_may_stand_for_a_longer_one_or_for_one_with_a_slip(word, marks):
    (term,) = question_terms(word, "stem")
    assert {other.display for other in alternatives(term, VOCABULARY, "stem")} <= marks
    assert bool(alternatives(term, VOCABULARY, "stem")) == bool(marks)


def test_a_much_longer_word_is_another_word():
    (term,) = question_terms("casa", "stem")
    assert alternatives(term, vocabulary_of(["casamenteira"]), "stem") == ()


def test_words_that_are_compared_as_written_stand_for_nothing_else():
    (term,) = question_terms("pagam", "off")
    assert alternatives(term, VOCABULARY, "off") == ()


def test_only_the_nearest_alternatives_are_taken():
    vocabulary = vocabulary_of([" ".join("porta" + a + b for a in "bcdfg" for b in "bcdfg")])
    (term,) = question_terms("porta", "stem")
    assert len(alternatives(term, vocabulary, "stem")) == MOST_ALTERNATIVES


def test_an_unknown_word_is_covered_by_what_it_may_stand_for_less_than_by_itself():
    passages = ("o reembolso sai hoje", "a entrega chega amanhã")
    held = codes(passages[0])
    assert covered(asked("reemb", *passages, loosely=False), held) == 0
    assert covered(asked("reemb", *passages), held) == pytest.approx(PREFIX_SHARE)
    assert covered(asked("reembolzo", *passages), held) == pytest.approx(TYPO_SHARE)
    assert covered(asked("reembolso", *passages), held) == 1
    assert covered(asked("reemb", *passages), codes(passages[1])) == 0


def test_a_loose_match_weighs_less_than_an_exact_one():
    passages = ("reembolso", "entrega", "outro")
    loose, exactly = (weights_of(asked(word, *passages)) for word in ("reemb", "reembolso"))
    assert set(loose) == set(exactly) == codes("reembolso")
    assert 0 < sum(loose.values()) < sum(exactly.values())


def test_matched_terms_are_folded_and_carry_the_mark_of_a_loose_match():
    question = asked("Reemb da ENTREGA ou o pagamneto", "reembolso", "entrega", "o pagamento vence")
    assert matched(question, codes("o pagamento da entrega, reembolso")) == ("reemb*", "entrega", "pagamneto~")
    assert matched(question, set()) == ()


def test_an_unknown_word_costs_coverage_and_an_unknown_joined_form_does_not():
    passage = "o guarda chuva azul"
    stored = codes(passage)

    def share(question):
        return covered(asked(question, passage, "outro", loosely=False), stored)

    assert share("guarda-chuva") == 1.0
    assert 0 < share("guarda verde") < 0.5
    assert share("guarda_chuva") < 1.0
    two, one = (asked(q, passage, "outro", loosely=False) for q in ("guarda verde", "guarda"))
    assert total_weight(two) > total_weight(one)


_WORDS = ["porta", "portas", "portaria", "prota", "chave", "chaves", "guarda-chuva", "ferro", "fero"]


@given(
    st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4),
    st.lists(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4), min_size=1, max_size=5),
)
def test_no_wording_covers_more_than_is_reachable(question, passages):
    """When it fails: a question is refused that would have been a match in a looser wording."""
    texts = [" ".join(words) for words in passages]
    vocabulary = vocabulary_of([" ".join(written_words(texts))])
    held = [codes(text) for text in texts]
    counts = {code: sum(code in terms for terms in held) for terms in held for code in terms}

    def others(each):
        return alternatives(each.term, vocabulary, "stem")

    known = exact(question_terms(" ".join(question), "stem"), len(texts), counts)
    first = tuple(expanded(each, others(each), len(texts), counts) if each.unknown else each for each in known)
    loosened = tuple(expanded(each, others(each), len(texts), counts) for each in first)
    most = reachable(first)
    assert max(covered(loosened, terms) for terms in held) <= most <= 1
    assert covered(first, set().union(*held)) == most
    assert total_weight(loosened) == total_weight(first)


def test_coverage_of_a_question_without_terms_is_zero():
    assert covered((), {1, 2}) == 0.0
    assert reachable(()) == 0.0


@given(st.text(max_size=60))
def test_written_words_are_folded_and_alphabetic(text):
    for word in written_words([text]):
        assert word == fold(word)
        assert word.isalpha()
        assert len(word) >= 4
