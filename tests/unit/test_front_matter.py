"""Front matter says what was written, is never body, and a body is never taken for it."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.adapters.parsers.front_matter import read_front_matter
from common.adapters.parsers.markdown import parse_markdown
from common.domain.chunking import ChunkSettings, chunk
from common.domain.coverage import coverage
from common.domain.documents import rejoin

CORPUS = Path(__file__).parents[1] / "corpus" / "files"


def values(yaml):
    return read_front_matter(f"---\n{yaml}\n---\ncorpo\n").values


def document(text, name="pasta/nota.md"):
    (only,) = parse_markdown(text.encode(), name).documents
    return only


def case(name):
    (only,) = parse_markdown((CORPUS / "FMT-01" / name).read_bytes(), name).documents
    return only


def words(text):
    ends, position = [], 0
    for word in text.split():
        position = text.index(word, position) + len(word)
        ends.append(position)
    return ends


def test_values_keep_what_was_written():
    only = case("bare-dates.md")
    assert only.title == "Ata da reunião"
    assert only.tags == ("água", "2026")
    assert only.metadata == {
        "created": "2026-03-14",
        "updated": "2026-03-14T08:30:00-03:00",
        "hour": "12:30",
        "version": "1.10",
        "country": "NO",
        "empty": None,
        "nested": {"a": {"b": "2026-01-01"}},
    }
    json.dumps(only.metadata)
    assert only.text[only.blocks[0].start :] == "Corpo DATA-1.\n"


@pytest.mark.parametrize(
    ("name", "marker"),
    [("rules-in-body.md", "REGUA-2"), ("no-frontmatter-rules.md", "REGUA-3"), ("dashed-banner.md", "BANNER-4")],
)
def test_rules_are_no_front_matter(name, marker):
    only = case(name)
    passages = chunk(only, ChunkSettings(0, 0, 512, 4), words)
    assert rejoin(passages) == only.text
    body = only.text.partition("---\n\n")[2] if name == "rules-in-body.md" else only.text.lstrip("-\n")
    assert "".join(f"{p.before if p.ordinal else ''}{p.text}" for p in passages) == body.strip()
    assert marker in passages[-1].text
    assert not only.warnings


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("a: true", True),
        ("a: false", False),
        ("a: yes", "yes"),
        ("a: ~", None),
        ("a: null", None),
        ("a: 12", 12),
        ("a: -3", -3),
        ("a: 0", 0),
        ("a: 007", "007"),
        ("a: 0x1F", "0x1F"),
        ("a: 1_000", "1_000"),
        ("a: 1e3", "1e3"),
        ("a: .inf", ".inf"),
        ("a: 9007199254740993", "9007199254740993"),
        ("a: '12'", "12"),
        ('a: "true"', "true"),
        ("a: !!int 12", "12"),
        ("a: !!python/object/apply:os.system [x]", ["x"]),
        ("a: [1, dois, [3]]", [1, "dois", [3]]),
        ("a: |\n  um\n  dois", "um\ndois\n"),
        ("b: &x {c: 1}\na: *x", {"c": 1}),
        ("a: ", None),
        ("1.0: x\na: y", "y"),
    ],
)
def test_only_plain_words_get_a_type(yaml, expected):
    found = values(yaml)["a"]
    assert found == expected
    assert type(found) is type(expected)


def test_known_keys():
    only = document(
        "---\nid: 42\ntitle: Guia: o *novo*\n---\n# Outro\n".replace("Guia: o *novo*", "'Guia: o novo'").replace(
            "---\n# Outro",
            "category: manual\nKeywords: bomba, válvula\npinned: true\naliases: [P-12, bomba]\n"
            "tags: '#a, b'\nautor: Ana\n---\n# Outro",
        )
    )
    assert (only.external_id, only.title, only.category) == ("42", "Guia: o novo", "manual")
    assert (only.keywords, only.aliases, only.tags) == (("bomba", "válvula"), ("P-12", "bomba"), ("a", "b"))
    assert only.pinned is True
    assert only.metadata == {"autor": "Ana"}


def test_defaults():
    only = document("# Bombas de `água`\n\nTexto.\n\n## Válvulas\n")
    assert (only.title, only.external_id, only.pinned) == ("Bombas de água", "pasta/nota", False)
    assert only.keywords == ("Bombas", "água", "Válvulas")
    assert document("só texto").title == "nota"
    assert document("---\ntitle: ''\n---\ntexto").title == "nota"


@pytest.mark.parametrize("key", ["base", "tenant", "affiliate_id", "Base"])
def test_a_base_cannot_be_chosen(key):
    only = document(f"---\n{key}: outra\n---\ntexto")
    assert only.metadata == {}
    assert only.warnings == (f"Front matter cannot choose a base: `{key}` is ignored.",)


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("---\na: [1\n---\ntexto", True),
        ("---\na: b: c\n---\ntexto", True),
        ("---\na: *nada\n---\ntexto", True),
        ("---\n? [a]\n: b\n---\ntexto", True),
        ('---\na: "\\ud800"\n---\ntexto', True),
        ("---\na: b\n", False),
        ("---\nprosa sem chave\n---\ntexto", False),
        ("---\n- a\n---\ntexto", False),
        ("\n---\na: b\n---\ntexto", False),
        ("--- \u00a0\na: b\n---\ntexto", False),
        ("----\na: b\n----\ntexto", False),
        ("---\na: b\n ---\ntexto", False),
        ("---\na: " + "b" * 70_000 + "\n---\ntexto", False),
        ("---\na: " + "[" * 2_000 + "\n---\ntexto", True),
        ("---\na: " + "[" * 30 + "]" * 30 + "\n---\ntexto", True),
    ],
)
def test_what_is_no_front_matter_is_text(text, warned):
    only = document(text)
    assert rejoin(chunk(only, ChunkSettings(0, 0, 512, 4), words)) == text
    assert not only.dropped
    assert only.metadata == {}
    assert bool(only.warnings) is warned


@pytest.mark.parametrize(
    "text", ["---\r\na: b\r\n---\r\nfim", "---\ra: b\r---\rfim", "--- \na: b\n...\nfim", "---\n---\nfim"]
)
def test_where_front_matter_ends(text):
    only = document(text)
    assert only.text[only.dropped[0].end :] == "fim"
    assert only.blocks[0].start == text.index("fim")


def test_a_byte_order_mark_hides_nothing():
    assert document("\ufeff---\ntitle: Guia\n---\ntexto").title == "Guia"


def test_the_last_of_two_equal_keys_counts():
    only = document("---\na: 1\na: 2\n---\ntexto")
    assert only.metadata == {"a": 2}
    assert only.warnings == ("The front matter names `a` twice; the last value counts.",)


def test_aliases_cannot_grow():
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9))
    started = time.process_time()
    only = document(f"---\nl0: &l0 [a]\n{levels}\n---\ntexto")
    assert time.process_time() - started < 1
    assert only.metadata == {}
    assert only.warnings == ("The front matter is read as text: it holds more than 5,000 values.",)


def test_front_matter_is_kept_in_the_text_and_stated():
    text = "---\ntitle: Guia novo\n---\nUm texto.\n"
    only = document(text)
    passages = chunk(only, ChunkSettings(0, 0, 512, 4), words)
    assert (passages[0].before, passages[0].lines) == ("---\ntitle: Guia novo\n---\n", (4, 4))
    found = coverage(only, passages, words)
    assert (found.tokens_in_source, found.tokens_embedded) == (7, 2)
    assert found.warnings == ("characters 0-25: front matter is kept as metadata, not embedded (5 tokens)",)


def test_front_matter_alone_is_an_empty_document():
    assert parse_markdown((CORPUS / "EMP-01" / "only-frontmatter.md").read_bytes(), "a.md").documents == ()


@given(st.text(alphabet="ab:-#[]{}&*!|>'\"%@`\n 0.~,?", max_size=80))
@settings(deadline=None)
def test_nothing_is_lost_whatever_stands_there(yaml):
    text = f"---\n{yaml}\n---\nfim"
    only = document(text)
    assert only.text == text
    assert "fim" in only.text[only.blocks[-1].start : only.blocks[-1].end]
    json.dumps(only.metadata)
