"""Passages tile their document, fit the window by the tokenizer's own count, and stay put when others change."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from common.adapters.plain_parser import PlainParser
from common.domain.chunking import ChunkSettings, chunk, shorten
from common.domain.coverage import coverage
from common.domain.documents import Block, Dropped, ParsedDocument, rejoin
from common.domain.graphemes import is_boundary
from common.domain.markdown import scan
from common.domain.plaintext import paragraphs
from common.domain.splitting import is_blank

CORPUS = Path(__file__).parents[1] / "corpus" / "files"
DEFAULT = ChunkSettings(target=0, overlap=0, window=512, reserved=4)
NARROW = ChunkSettings(target=0, overlap=0, window=128, reserved=4)


def words(text):
    return [match.end() for match in re.finditer(r"\w+|[^\w\s]", text)]


def letters(text):
    """A tokenizer that reads one character at a time, blanks too."""
    return list(range(1, len(text) + 1))


def pieces(text):
    """One that reads four letters with the blank before them, and the bytes of what it does not know."""
    ends = []
    for match in re.finditer(r"\s?[A-Za-z0-9]{1,4}|.", text, re.DOTALL):
        ends += [match.end()] * (1 if match[0].isascii() else len(match[0].encode()))
    return ends


def opening(text):
    """One that reads more in a part than it counted there within the whole."""
    return [1, 1, 1, *words(text)] if text else []


def clinging(text):
    """One that reads a single line end between two words as twelve tokens."""
    return sorted([*words(text), *(end for match in re.finditer(r"\w\n\w", text) for end in [match.end() - 1] * 12)])


TOKENIZERS = [words, letters, pieces]


def markdown(text, title="Manual", **fields):
    return ParsedDocument("manual.md", title, text, scan(text).blocks, **fields)


def plain(text, **fields):
    return ParsedDocument("nota.txt", "nota", text, paragraphs(text), **fields)


def prose(tokens, seed=0):
    """Sentences of eight words, every one another."""
    return " ".join(
        f"Frase{seed}x{number} fala de bombas e de válvulas novas." for number in range(max(1, tokens // 9))
    )


def check(document, passages, chunk_settings, token_ends):
    text = document.text
    assert rejoin(passages) == text or not passages
    position = 0
    lines = text.split("\n")
    for ordinal, passage in enumerate(passages):
        assert passage.ordinal == ordinal
        assert passage.text == text[passage.start : passage.end]
        assert passage.before == text[position : passage.start]
        assert not is_blank(passage.text)
        assert passage.embedded.endswith(passage.text)
        assert len(token_ends(passage.embedded)) + chunk_settings.reserved <= chunk_settings.window
        first, last = (number - document.first_line for number in passage.lines)
        assert passage.text in "\n".join(lines[first : last + 1])
        assert text.count("\n", 0, passage.start) == first
        assert text.count("\n", 0, passage.end) == last
        position = passage.end


def cluster_at(text, place):
    start = max(other for other in range(place) if is_boundary(text, other))
    end = min(other for other in range(place, len(text) + 1) if is_boundary(text, other))
    return text[start:end]


texts = st.text(
    alphabet=st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("abc#-*>|`~ \t\n\r\u0301\u200d\U0001f468\U0001f1e7\u00a0\ufeff.!?"),
    ),
    max_size=400,
)
documents = st.one_of(texts, st.lists(texts, max_size=6).map("\n\n".join), st.lists(texts, max_size=6).map("\r\n".join))
shapes = st.builds(
    ChunkSettings,
    target=st.sampled_from([0, 8, 40]),
    overlap=st.sampled_from([0, 5]),
    window=st.sampled_from([20, 24, 64, 512]),
    reserved=st.sampled_from([0, 4]),
)


@pytest.mark.parametrize("token_ends", [*TOKENIZERS, opening])
@pytest.mark.parametrize("parsed", [markdown, plain])
@given(text=documents, shape=shapes)
@settings(max_examples=150, deadline=None)
@example(text="e" + "\u0301" * 3000, shape=NARROW)
@example(text="x \u0301" * 300, shape=NARROW)
@example(text="a \u0301b", shape=ChunkSettings(8, 5, 20, 4))
def test_passages_tile_fit_and_cite(parsed, token_ends, text, shape):
    document = parsed(text)
    passages = chunk(document, shape, token_ends)
    check(document, passages, shape, token_ends)
    assert bool(passages) != is_blank(text)
    room = min(shape.target or 1 << 20, shape.window - shape.window // 4 - shape.reserved)
    for place in {place for passage in passages for place in (passage.start, passage.end)}:
        assert is_boundary(text, place) or len(token_ends(cluster_at(text, place))) > room


@pytest.mark.parametrize("token_ends", TOKENIZERS)
@given(text=documents)
@settings(max_examples=60, deadline=None)
def test_tokens_agree_with_one_tokenisation_of_the_whole(token_ends, text):
    document = markdown(text)
    found = coverage(document, chunk(document, DEFAULT, token_ends), token_ends)
    if not found.warnings and not is_blank(text):
        assert found.tokens_in_source == found.tokens_embedded
        assert found.tokens_in_source == len(token_ends(text))


def test_a_paragraph_is_a_passage():
    text = "\n\n".join(prose(100, seed) for seed in range(5))
    assert [p.text for p in chunk(plain(text), DEFAULT, words)] == text.split("\n\n")


def test_short_pieces_of_a_section_share_a_passage_and_sections_do_not():
    text = "# A\n\nUm.\n\nDois.\n\n- três\n- quatro\n\n## B\n\nCinco."
    first, second = chunk(markdown(text), DEFAULT, words)
    assert first.text == "# A\n\nUm.\n\nDois.\n\n- três\n- quatro"
    assert (second.text, second.headings, second.context) == ("## B\n\nCinco.", ("A", "B"), "Manual > A\n")


def test_a_heading_goes_with_what_follows():
    text = f"# A\n\n{prose(300)}\n\n## B\n\n### C\n\n{prose(300, 1)}"
    passages = chunk(markdown(text), DEFAULT, words)
    assert [p.text[:9] for p in passages] == ["# A\n\nFras", "## B\n\n###"]
    assert passages[1].context == "Manual > A\n"


def test_a_lead_in_goes_with_its_code_or_what_it_announces():
    code = "```\n" + "valor = 1\n" * 30 + "```"
    text = f"{prose(100)}\n\nRode assim\n\n{code}\n\n{prose(100, 1)}\n\nA saber:\n\n{prose(100, 2)}"
    texts = [p.text for p in chunk(plain(text), DEFAULT, words)]
    marked = [p.text for p in chunk(markdown(text), DEFAULT, words)]
    assert marked[1] == f"Rode assim\n\n{code}"
    assert texts[-1] == marked[-1] == f"A saber:\n\n{prose(100, 2)}"


def test_a_scrap_joins_the_paragraph_before_it():
    text = f"{prose(100)}\n\nVeja o anexo.\n\n{prose(100, 1)}"
    first, second = chunk(plain(text), DEFAULT, words)
    assert first.text.endswith("Veja o anexo.")
    assert second.text == prose(100, 1)


def test_a_scrap_with_nothing_before_it_joins_what_follows():
    text = f"Nota\n\n{prose(100)}"
    assert [p.text for p in chunk(plain(text), DEFAULT, words)] == [text]


def test_what_is_embedded_is_measured_and_not_its_parts():
    passages = chunk(plain(prose(2000)), NARROW, opening)
    assert max(len(opening(p.embedded)) for p in passages) in range(60, 125)


@pytest.mark.parametrize(("names", "overlap"), [(18, 0), (6, 8)])
def test_what_meets_its_context_still_fits(names, overlap):
    """Paragraphs up to the room that is left beside their context, which takes more tokens where the two meet."""
    for tokens in range(90, 125):
        text = f"# {' '.join(f'nome{n}' for n in range(names))}\n\n{prose(tokens)}\n\n{prose(tokens, 1)}"
        passages = chunk(markdown(text), ChunkSettings(0, overlap, 128, 4), clinging)
        assert max(len(clinging(p.embedded)) for p in passages) <= 124


def test_a_long_paragraph_is_cut_between_sentences():
    text = prose(1200)
    passages = chunk(plain(text), DEFAULT, words)
    assert len(passages) >= 4
    assert all(p.text.startswith("Frase") and p.text.endswith(".") for p in passages)
    assert all(p.tokens <= 384 for p in passages)


def test_abbreviations_and_numbers_end_no_sentence():
    text = " ".join(f"O Sr. Silva pagou R$ 1.250,00 à Dra. Lima no art. {n} da Lei," for n in range(60))
    assert not any(re.search(r"(Sr|Dra|art)\.$", p.text) for p in chunk(plain(text), NARROW, words))


def test_lines_of_a_log_stay_whole():
    text = "\n".join(f"2026-03-14 08:{n % 60:02} Bomba {n} parou. Motivo 17" for n in range(400))
    lines = text.split("\n")
    for passage in chunk(plain(text), DEFAULT, words):
        assert passage.text == "\n".join(lines[passage.lines[0] - 1 : passage.lines[1]])


def test_a_table_is_cut_between_rows_under_its_header():
    rows = "\n".join(f"| {n} | bomba número {n} | {n * 7} bar |" for n in range(100))
    text = f"| Nº | Nome | Pressão |\n|---|---|---|\n{rows}"
    first, *later = chunk(markdown(text, title=""), DEFAULT, words)
    assert first.context == ""
    assert later
    for passage in later:
        assert passage.context == "| Nº | Nome | Pressão |\n"
        assert all(line in text.split("\n") for line in passage.text.split("\n"))
        assert passage.kind == "table"


def test_code_that_fits_the_window_stays_whole():
    code = "```python\n" + "\n\n".join(f"valor_{n} = {n}" for n in range(150)) + "\n```"
    assert 384 < len(words(code)) < 500
    assert [p.text for p in chunk(markdown(f"# A\n\n{code}"), DEFAULT, words)] == [f"# A\n\n{code}"]


def test_code_keeps_the_indentation_of_its_first_line():
    code = "\n".join(f"    linha_{n} = {n}" for n in range(300))
    passages = chunk(markdown(f"Texto.\n\n{code}"), DEFAULT, words)
    assert len(passages) > 2
    assert all(p.text.startswith("    linha_") for p in passages[1:])


def test_code_is_cut_at_lines_whatever_its_strings_say():
    lines = [f'mostra_{number}("Fim {number}. Outra frase. Mais uma")' for number in range(100)]
    passages = chunk(markdown("```\n" + "\n".join(lines) + "\n```"), DEFAULT, words)
    assert len(passages) > 2
    assert all(p.text.rpartition("\n")[2] in {*lines, "```"} for p in passages)


def test_long_context_loses_its_beginning():
    path = [" ".join(f"palavra{level}x{n}" for n in range(12)) for level in range(4)]
    text = (
        "\n\n".join(f"{'#' * level} {title}" for level, title in enumerate(path, 1))
        + f"\n\n{prose(100)}\n\n{prose(100, 1)}"
    )
    last = chunk(markdown(text, title=path[0]), ChunkSettings(0, 0, 128, 4), words)[-1]
    assert last.headings == tuple(path)
    assert last.context == f"{path[2]} > {path[3]}\n"
    assert shorten("um dois três quatro\n", 2, words) == ("três quatro\n", 2)
    assert shorten("umadoistres", 2, letters) == ("", 0)


def test_overlap_is_in_the_context_only():
    text = f"{prose(100)}\n\n{prose(100, 1)}"
    first, second = chunk(plain(text), ChunkSettings(0, 9, 512, 4), words)
    assert second.context == "Frase0x10 fala de bombas e de válvulas novas.\n"
    assert second.text == prose(100, 1)
    assert rejoin([first, second]) == text


def test_a_target_packs_sections():
    text = "\n\n".join(prose(40, seed) for seed in range(12))
    sizes = [p.tokens for p in chunk(plain(text), ChunkSettings(200, 0, 512, 4), words)]
    assert max(sizes) <= 200
    assert len(sizes) <= 6


def test_alone_and_pages_are_not_joined():
    text = "um\n\ndois\n\ntrês\n\nquatro"
    blocks = (
        Block(0, 2, page=1),
        Block(4, 8, page=1),
        Block(10, 14, page=2),
        Block(16, 22, page=2, alone=True, kind="symbol"),
    )
    document = ParsedDocument("a.pdf", "a", text, blocks, paged=True)
    passages = chunk(document, DEFAULT, words)
    assert [(p.text, p.page, p.lines) for p in passages] == [
        ("um\n\ndois", 1, None),
        ("três", 2, None),
        ("quatro", 2, None),
    ]


def test_units_that_stand_alone_are_not_joined_with_each_other():
    text = "def a\n\ndef b\n\ndef c"
    blocks = tuple(Block(start, start + 5, "symbol", alone=True) for start in (0, 7, 14))
    assert len(chunk(ParsedDocument("a.py", "a", text, blocks), DEFAULT, words)) == 3


def test_a_heading_does_not_reach_over_what_is_dropped():
    text = "# A\n\nFORA\n\nDepois."
    document = markdown(text, dropped=(Dropped(5, 9, "posto fora"),))
    assert [p.text for p in chunk(document, DEFAULT, words)] == ["# A", "Depois."]


def test_headings_alone_are_cited_by_their_own_path():
    text = "\n".join(f"## Capítulo {number}" for number in range(400))
    passages = chunk(markdown(text), DEFAULT, words)
    assert len(passages) > 5
    assert all(p.text.endswith(p.headings[-1]) for p in passages)


def test_dropped_ranges_are_in_no_passage_and_stated():
    text = "Antes do corte. FORA FORA Depois do corte."
    document = plain(text, dropped=(Dropped(16, 25, "posto fora"),))
    passages = chunk(document, DEFAULT, words)
    assert [p.text for p in passages] == ["Antes do corte.", "Depois do corte."]
    assert rejoin(passages) == text
    found = coverage(document, passages, words)
    assert found.tokens_in_source - found.tokens_embedded == 2
    assert found.warnings == ("characters 16-25: posto fora (2 tokens)",)


def test_rules_between_passages_are_stated():
    text = f"{prose(100)}\n\n---\n\n{prose(100, 1)}"
    document = markdown(text)
    found = coverage(document, chunk(document, DEFAULT, words), words)
    assert (found.tokens_in_source, found.tokens_embedded) == (len(words(text)), len(words(text)) - 3)
    assert found.warnings == ("rules and other layout between passages are not embedded (3 tokens)",)


def test_overlapping_ranges_are_counted_once():
    text = "um dois três quatro cinco seis"
    document = plain(text, dropped=(Dropped(3, 12, "a"), Dropped(3, 7, "b"), Dropped(8, 19, "c")))
    passages = chunk(document, DEFAULT, words)
    assert [p.text for p in passages] == ["um", "cinco seis"]
    found = coverage(document, passages, words)
    assert found.warnings == ("characters 3-12: a (2 tokens)", "characters 12-19: c (1 tokens)")
    assert (found.tokens_in_source, found.tokens_embedded) == (6, 3)


@pytest.mark.parametrize("token_ends", TOKENIZERS)
def test_a_book_is_tokenised_in_pieces_and_counted_as_one(token_ends):
    text = "\n\n".join([prose(3000, 1), prose(6000, 2), "x " * 20_000, *(prose(50, n) for n in range(3, 300))])
    document = markdown(text)
    handed = []

    def counted(piece):
        handed.append(len(piece))
        return token_ends(piece)

    passages = chunk(document, DEFAULT, counted)
    assert max(handed) <= 1 << 15
    assert sum(p.tokens for p in passages) == len(token_ends(text))
    assert rejoin(passages) == text


def test_many_embedded_pictures_take_no_more_than_their_time():
    data = "QUJD" * 520
    text = "\n\n".join(f"Figura {n}: ![f](data:image/png;base64,{data})" for n in range(300))
    document = markdown(text)
    started = time.process_time()
    passages = chunk(document, DEFAULT, words)
    found = coverage(document, passages, words)
    assert time.process_time() - started < 3
    assert len(found.warnings) == 300
    assert all("Figura" in p.text or p.text.startswith(")") for p in passages)


def test_first_line_moves_the_citation():
    passages = chunk(plain("um\n\ndois", first_line=41), DEFAULT, words)
    assert passages[0].lines == (41, 43)


def test_a_window_too_small_is_refused():
    with pytest.raises(ValueError, match="too small"):
        chunk(plain("um"), ChunkSettings(0, 0, 16, 4), words)


def test_a_title_that_the_document_says_is_context_and_a_file_name_is_not():
    text = f"# Bomba\n\n{prose(100)}\n\n{prose(100, 1)}"
    assert [p.context for p in chunk(markdown(text, title="Guia"), DEFAULT, words)] == ["Guia\n", "Guia > Bomba\n"]
    assert [p.context for p in chunk(markdown(text, title="Bomba"), DEFAULT, words)] == ["", "Bomba\n"]
    assert [p.context for p in chunk(markdown(text, title="manual"), DEFAULT, words)] == ["", "Bomba\n"]


# An edit stays where it is


def handbook():
    sections = []
    for number in range(12):
        items = "\n".join(f"- item {number}.{n} da lista de peças com o código P-{number}{n}" for n in range(60))
        sections.append(f"## Seção {number}\n\n{prose(150, number)}\n\n{prose(900, number + 50)}\n\n{items}")
    return "# Manual\n\n" + "\n\n".join(sections)


def changed(before, after, parsed=markdown, chunk_settings=DEFAULT):
    old = [p.embedded for p in chunk(parsed(before), chunk_settings, words)]
    new = [p.embedded for p in chunk(parsed(after), chunk_settings, words)]
    assert len(old) > 20
    return len(set(new) - set(old)), len(set(old) - set(new))


@pytest.mark.parametrize("word", ["Frase3x7 ", "Frase56x60 ", "P-530\n", "Frase60x1 ", "P-70\n", "Frase0x0 "])
def test_one_word_changes_one_passage(word):
    text = handbook()
    assert text.count(word) == 1
    new, gone = changed(text, text.replace(word, f"outra palavra aqui{word[-1]}"))
    assert max(new, gone) <= 2


def test_an_inserted_paragraph_changes_its_neighbourhood_only():
    text = handbook()
    middle = text.index("## Seção 6")
    new, gone = changed(text, f"{text[:middle]}{prose(90, 99)}\n\n{text[middle:]}")
    assert new <= 3
    assert gone <= 2


def test_an_inserted_item_moves_no_later_passage():
    items = [f"- peça {number * 7919 % 2003} com o código {number}" for number in range(2_000)]
    for place in (3, 700, 1_500):
        more = [*items[:place], "- uma peça a mais, de outro fabricante e mais cara", *items[place:]]
        new, gone = changed("\n".join(items), "\n".join(more))
        assert max(new, gone) <= 4


def test_lines_in_front_of_an_endless_text_move_little():
    text = " ".join(prose(200, seed) for seed in range(60))
    new, _ = changed(text, f"Uma frase a mais no começo de tudo. {text}", plain)
    assert new <= 6


# Hard cases


def parse(path):
    (document,) = PlainParser().parse(path.read_bytes(), path.name).documents
    return document


@pytest.mark.parametrize("name", ["CHU-01/emoji-dense.md", "CHU-01/umlauts-no-space.txt", "TOK-01/tokens-na-doc.md"])
@pytest.mark.parametrize("token_ends", TOKENIZERS)
def test_dense_characters_are_never_cut(name, token_ends):
    document = parse(CORPUS / name)
    passages = chunk(document, NARROW, token_ends)
    check(document, passages, NARROW, token_ends)
    assert all(is_boundary(document.text, p.start) and is_boundary(document.text, p.end) for p in passages)
    assert not any("\ufffd" in p.text for p in passages)
    found = coverage(document, passages, token_ends)
    assert found.tokens_embedded == found.tokens_in_source
    assert not found.warnings


@pytest.mark.parametrize("token_ends", TOKENIZERS)
def test_an_endless_word_does_not_hide_its_neighbours(token_ends):
    document = parse(CORPUS / "CHS-01" / "base64-oneword.md")
    passages = chunk(document, NARROW, token_ends)
    check(document, passages, NARROW, token_ends)
    assert any("ANTES-1" in p.text for p in passages)
    assert any("DEPOIS-2" in p.text for p in passages)
    assert len(passages) < 5
    (warning,) = coverage(document, passages, token_ends).warnings
    assert "encoded data of 60,000 characters" in warning


@pytest.mark.parametrize("token_ends", TOKENIZERS)
def test_one_endless_line_is_cut_in_time(token_ends):
    document = parse(CORPUS / "CHS-01" / "minified.js")
    started = time.process_time()
    passages = chunk(document, NARROW, token_ends)
    assert time.process_time() - started < 5
    check(document, passages, NARROW, token_ends)
    assert "MINI-3" in passages[-1].text


def test_an_unknown_word_of_a_book_s_length_is_cut():
    text = "\u00e1" * 50_000
    passages = chunk(plain(text), DEFAULT, lambda piece: [len(piece)] if piece else [])
    assert len(passages) > 5
    assert max(len(p.text) for p in passages) <= 384 * 16
