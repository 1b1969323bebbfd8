"""Inflected forms meet in each of the three languages, and a stem depends on nothing but the word."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.domain.stemming import stem

words = st.text(alphabet=string.ascii_lowercase, min_size=1, max_size=20)

FAMILIES = [
    "configuracao configuracoes configurar configurado configurados configurando configura configurou",
    "configuracao configuracion configuraciones configuration configurations configure configured configuring",
    "rapida rapido rapidas rapidos rapidamente",
    "computador computadores computacao computar computer computers computing",
    "responsavel responsaveis responsabilidade responsabilidades responsabilidad responsible",
    "importante importantes importancia",
    "linguagem linguagens",
    "versao versoes version versions versiones",
    "usuario usuarios usuaria",
    "processo processos processar processamento process processes processing",
    "deve devem devera deverao deveria",
    "ciudad ciudades",
    "cidade cidades",
    "trabajo trabajos trabajar trabajando trabajaron",
    "frances francesa franceses",
    "deploy deploys deployed deploying deployment deployments",
    "query queries querying queried",
    "company companies",
    "stop stopped stopping stops",
    "embed embedding embeddings embedded",
    "use used using",
    "generate generates generated generating generation generator",
    "analysis analyses",
    "class classes",
    "status",
    "quick quickly",
    "software softwares",
    "retry retries retried",
    "apis api",
]

APART = [
    ("data", "date"),
    ("speed", "spider"),
    ("need", "neat"),
    ("query", "quer"),
    ("string", "strong"),
    ("document", "docker"),
    ("import", "importante"),
    ("statement", "state"),
    ("user", "use"),
    ("internet", "internacional"),
    ("contrato", "contraste"),
]


@pytest.mark.parametrize("family", FAMILIES)
def test_forms_of_one_word_meet(family):
    assert len({stem(word) for word in family.split()}) == 1, {word: stem(word) for word in family.split()}


@pytest.mark.parametrize(("one", "other"), APART)
def test_other_words_stay_apart(one, other):
    assert stem(one) != stem(other)


def test_what_only_looks_like_an_ending_stays():
    assert [stem(word) for word in ("proceed", "string", "class", "status", "estado")] == [
        "proceed",
        "string",
        "class",
        "status",
        "estad",
    ]


@given(words)
def test_stems_are_never_empty_and_never_longer(word):
    assert 0 < len(stem(word)) <= len(word)


@given(words)
def test_a_stem_begins_as_its_word_does(word):
    assert stem(word)[:2] == word[:2]


@pytest.mark.parametrize(
    "word", ["s3", "ec2", "oauth2", "k8s", "aws", "tls", "sha256", "utf8", "файлы", "größe", "配置"]
)
def test_identifiers_and_foreign_scripts_are_their_own_stem(word):
    assert stem(word) == word
