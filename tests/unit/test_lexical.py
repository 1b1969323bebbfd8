"""Which words meet under each mode, what is kept of identifiers, and what a stored weight is made of."""

import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.lexical import (
    AVERAGE_LENGTH,
    FIELD_WEIGHTS,
    K1,
    B,
    bm25,
    fold,
    idf,
    lexical_weights,
    prefix_and_typo_candidates,
    question_terms,
    question_weights,
    term_code,
    tokenise,
)
from common.domain.stopwords import STOP_WORDS

MODES = ["stem", "fold", "off"]
latin = st.text(alphabet=string.ascii_lowercase + "áâãàçéêíóôõúüñ ", max_size=60)
identifiers = st.lists(st.text(string.ascii_lowercase, min_size=2, max_size=8), min_size=2, max_size=4)


def meet(one, other, mode):
    return bool(set(tokenise(one, mode)) & set(tokenise(other, mode)))


def asked_of(question, texts, mode):
    """BM25 scores of the texts for a question, as an index computes them."""
    stored = [lexical_weights({"text": text}, mode) for text in texts]
    terms = question_terms(question, mode)
    frequencies = {term.code: sum(term.code in weights for weights in stored) for term in terms}
    weights = question_weights(terms, len(texts), frequencies)
    return [bm25(weights, each) for each in stored]


@pytest.mark.parametrize(
    ("one", "other", "modes"),
    [
        ("configuração", "configuracao", {"stem", "fold"}),
        ("configuração", "configurações", {"stem"}),
        ("deploys", "deploy", {"stem"}),
        ("queries", "query", {"stem"}),
        ("rapidamente", "rápida", {"stem"}),
        ("AMBULATÓRIO", "ambulatorio", {"stem", "fold"}),
        ("Deploy", "deploy", {"stem", "fold", "off"}),
        ("configurac\u0327a\u0303o", "configuração", {"stem", "fold"}),
        ("reem\u00adbolso", "reembolso", {"stem", "fold"}),
        ("e-mail", "email", {"stem", "fold"}),
        ("utf-8", "UTF8", {"stem", "fold"}),
        ("getUserName", "user", {"stem", "fold"}),
        ("getUserName", "getusername", {"stem", "fold", "off"}),
        ("getUserName", "get_user_name", {"stem", "fold"}),
        ("aws_eks_cluster", "cluster", {"stem", "fold"}),
        ("aws_eks_cluster", "aws_eks_cluster", {"stem", "fold", "off"}),
        ("KB_CACHE_TTL", "ttl", {"stem", "fold"}),
        ("os.path.join", "path", {"stem", "fold", "off"}),
        ("HTTPServer", "http", {"stem", "fold"}),
        ("APIs", "api", {"stem"}),
        ("3.11", "311", set()),
        ("manutenção", "maintenance", set()),
    ],
)
def test_pairs_meet_in_these_modes_only(one, other, modes):
    assert {mode for mode in MODES if meet(one, other, mode)} == modes


@pytest.mark.parametrize("identifier", ["s3", "oauth2", "ec2", "k8s", "sha256", "OAuth2", "iPhone", "PhD"])
@pytest.mark.parametrize("mode", MODES)
def test_short_identifiers_are_one_unchanged_term(identifier, mode):
    assert tokenise(identifier, mode) == [identifier.lower() if identifier != "iPhone" else tokenise("iphone", mode)[0]]


@given(identifiers, st.sampled_from(["_", "-", "."]), st.sampled_from(["stem", "fold"]))
def test_the_whole_identifier_is_kept_beside_its_parts(parts, separator, mode):
    [whole] = tokenise("".join(parts), mode)
    assert whole in tokenise(separator.join(parts), mode)
    named = " ".join(part for part in parts if mode == "fold" or part not in STOP_WORDS)
    assert set(tokenise(named, mode)) <= set(tokenise(separator.join(parts), mode))
    camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
    assert whole in tokenise(camel, mode)


@given(latin, st.sampled_from(["stem", "fold"]))
def test_accents_never_change_the_terms(text, mode):
    assert tokenise(fold(text), mode) == tokenise(text, mode)


@given(st.text(max_size=30))
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


@given(st.text(max_size=80), st.sampled_from(MODES))
def test_any_text_gives_terms_without_blanks(text, mode):
    terms = tokenise(text, mode)
    assert all(term and not term.isspace() for term in terms)
    assert {term.term for term in question_terms(text, mode)} <= {*terms, *tokenise(text, "off")} or terms


@given(latin)
def test_off_is_plain_words_in_lower_case(text):
    assert tokenise(text.upper(), "off") == text.upper().lower().split()


def test_stop_words_are_left_out_unless_alone():
    assert tokenise("o que é a configuração do servidor", "stem") == tokenise("configuração servidor", "stem")
    assert tokenise("quem é o que", "stem") == ["quem", "e", "o", "que"]
    assert "do" in tokenise("configuração do servidor", "fold")


def test_a_question_of_stop_words_finds_the_passage_that_holds_them():
    scores = asked_of("to be or not to be", ["whether to be or not", "the manual of the pump"], "stem")
    assert scores[0] > scores[1]


def test_off_ranks_as_plain_bm25():
    texts = ["Deploy the deploy server", "the server", "a manual of many other words and more"]
    words = [text.lower().split() for text in texts]
    expected = []
    for text in words:
        score = 0.0
        for word in ["deploy", "server"]:
            tf, df = text.count(word), sum(word in each for each in words)
            norm = K1 * (1 - B + B * len(text) / AVERAGE_LENGTH)
            score += math.log(1 + (3 - df + 0.5) / (df + 0.5)) * tf * (K1 + 1) / (tf + norm)
        expected.append(score)
    assert asked_of("deploy server", texts, "off") == pytest.approx(expected)


@pytest.mark.parametrize("field", sorted(set(FIELD_WEIGHTS) - {"text"}))
def test_a_word_of_any_field_alone_finds_the_passage(field):
    weights = lexical_weights({"text": "uma passagem qualquer", field: "Guarda-chuva"}, "stem")
    [whole] = [term for term in question_terms("guarda-chuva", "stem") if term.optional]
    assert weights[whole.code] > 0


def test_fields_add_to_the_frequency_and_not_to_the_length():
    plain = lexical_weights({"text": "bomba manual"}, "stem")
    titled = lexical_weights({"text": "bomba manual", "title": "bomba"}, "stem")
    bomba, manual = (question_terms(word, "stem")[0].code for word in ("bomba", "manual"))
    assert titled[bomba] > plain[bomba]
    assert titled[manual] == plain[manual]


def test_a_field_nobody_knows_is_refused():
    with pytest.raises(KeyError):
        lexical_weights({"text": "a", "colour": "b"}, "stem")


@given(st.integers(1, 10**6), st.data())
def test_idf_is_positive_and_falls_with_frequency(passages, data):
    rare = data.draw(st.integers(0, passages - 1))
    common = data.draw(st.integers(rare + 1, passages))
    assert idf(passages, rare) > idf(passages, common) > 0


def test_term_codes_are_stable_and_32_bits():
    assert term_code("configur") == 2071991131
    assert all(0 <= term_code(word) < 2**32 for word in ("", "a", "ação", "\ud800"))


def test_question_terms_are_distinct_in_order_and_as_written():
    terms = question_terms("Configurações de KB_CACHE_TTL e configuração", "stem")
    assert [term.display for term in terms] == ["Configurações", "KB", "CACHE", "TTL", "KB_CACHE_TTL"]
    assert len({term.code for term in terms}) == len(terms)


VOCABULARY = sorted(
    ["deploy", "deployment", "deploys", "depoly", "deplo", "doploy", "xdeploy", "desploy", "dep", "query"]
)


def test_prefixes_from_four_letters_and_typos_from_five():
    prefixed, typos = prefix_and_typo_candidates("deploy", VOCABULARY)
    assert prefixed == ["deployment", "deploys"]
    assert typos == ["deplo", "deploys", "depoly", "desploy", "doploy", "xdeploy"]
    assert prefix_and_typo_candidates("depl", VOCABULARY) == (["deplo", "deploy", "deployment", "deploys"], [])
    assert prefix_and_typo_candidates("dep", VOCABULARY) == ([], [])


def one_step(one, other):
    """Damerau-Levenshtein distance 1 by its definition: every edit of one word, over the letters of both."""
    letters = set(one + other)
    cuts = [(one[:i], one[i:]) for i in range(len(one) + 1)]
    edits = {head + tail[1:] for head, tail in cuts if tail}
    edits |= {head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1}
    edits |= {head + letter + tail[1:] for head, tail in cuts for letter in letters if tail}
    edits |= {head + letter + tail for head, tail in cuts for letter in letters}
    return other in edits


@given(st.text("abc", min_size=5, max_size=7), st.sets(st.text("abc", min_size=1, max_size=8), max_size=60))
def test_typos_are_all_words_one_edit_away(term, words):
    vocabulary = sorted(words)
    _, typos = prefix_and_typo_candidates(term, vocabulary)
    assert typos == [word for word in vocabulary if word != term and one_step(term, word)]
