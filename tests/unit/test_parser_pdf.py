"""PDF: paragraphs and headings from places and sizes; the reader itself on a page made here."""

import pypdfium2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.adapters.parsers.limits import Limits
from common.adapters.parsers.pdf import parse_pdf
from common.adapters.parsers.pdf_layout import dehyphenated, folded, heading_sizes, pieces
from common.adapters.parsers.pdf_lines import Line, Page, read_page
from common.domain.documents import ParsedDocument
from common.domain.errors import DocumentError

GLYPH = 5.0


def line(text: str, y: float, x: float = 50.0, size: float = 10.0) -> Line:
    return Line(text, x, x + GLYPH * len(text), y, y, size)


def prose(count: int, top: float = 700.0, x: float = 50.0) -> list[Line]:
    words = "palavras comuns de um parágrafo qualquer que enche a linha"
    return [line(words, top - 12 * at, x) for at in range(count)]


def texts(*lines: Line) -> list[str]:
    return [piece.text for piece in pieces(Page(tuple(lines)), {}, {})]


def test_lines_that_fill_the_column_are_one_paragraph() -> None:
    lines = prose(3)
    assert texts(*lines) == [" ".join(entry.text for entry in lines)]


def test_lines_that_end_where_their_author_wanted_stay_lines() -> None:
    assert texts(line("Rua A, 10", 700), line("Centro", 688), line("CEP 01000-000", 676)) == [
        "Rua A, 10\nCentro\nCEP 01000-000"
    ]


def test_labels_stay_with_their_values_on_lines_of_their_own() -> None:
    shown = texts(line("Nome: Maria da Silva Santos", 700), line("Endereço: rua muito comprida, 10, casa", 688))
    assert shown == ["Nome: Maria da Silva Santos\nEndereço: rua muito comprida, 10, casa"]


def test_cells_on_one_baseline_are_one_row() -> None:
    assert texts(line("200.01", 700), line("1", 700.4, x=200)) == ["200.01 1"]


def test_a_gap_and_a_bullet_begin_a_new_piece() -> None:
    assert len(texts(*prose(2), *prose(2, top=640))) == 2
    shown = pieces(Page((line("• primeiro", 700), line("• segundo", 688))), {}, {})
    assert [(piece.text, piece.listed) for piece in shown] == [("• primeiro", True), ("• segundo", True)]


def test_the_next_column_goes_on_where_the_sentence_did() -> None:
    left = [*prose(2), line("a frase continua na outra coluna, que começa em cima com", 676)]
    right = [line("minúscula e termina aqui, na segunda coluna da mesma", 700, x=350)]
    assert len(texts(*left, *right)) == 1
    assert len(texts(*left, line("Outra frase começa", 700, x=350))) == 2


def test_words_cut_at_a_line_end_are_whole_again() -> None:
    assert dehyphenated("adip\ufffeiscing e guarda\ufffeChuva") == "adipiscing e guarda-Chuva"


def test_larger_type_is_a_heading_and_sizes_rank_its_level() -> None:
    page = Page((line("Manual", 750, size=20), line("Seção", 720, size=14), *prose(9)))
    sizes = heading_sizes([page])
    assert sizes == {20.0: 1, 14.0: 2}
    assert [(piece.text, piece.level) for piece in pieces(page, sizes, {})][:2] == [("Manual", 1), ("Seção", 2)]


def test_a_second_body_size_is_no_heading() -> None:
    assert heading_sizes([Page((*prose(4), *(entry._replace(size=14.0) for entry in prose(3, top=500))))]) == {}


def test_a_bookmark_makes_its_line_a_heading() -> None:
    found = pieces(Page((line("2 Escopo", 700), *prose(2, top=680))), {}, {folded("Escopo"): 2})
    assert (found[0].text, found[0].level) == ("2 Escopo", 2)


LINES = st.lists(
    st.builds(
        line,
        st.text(alphabet="abc •1.:-", min_size=1, max_size=60).filter(str.strip),
        st.floats(0, 800),
        st.floats(0, 500),
        st.sampled_from([8.0, 10.0, 14.0]),
    ),
    max_size=30,
)


@given(LINES, st.booleans())
def test_every_line_is_kept_once_and_in_order(lines: list[Line], placed: bool) -> None:
    page = Page(tuple(lines), placed)
    shown = "".join("".join(piece.text.split()) for piece in pieces(page, heading_sizes([page]), {}))
    assert shown == "".join("".join(entry.text.split()) for entry in lines)


def pdf(*contents: str, annotations: str = "") -> bytes:
    """A file with one page per content stream, each with the annotations, Helvetica as F1."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", "", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids: list[str] = []
    for content in contents:
        objects.append(f"<</Length {len(content)}>>stream\n{content}\nendstream")
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>"
            f"/Annots[{annotations}]/Contents {len(objects)} 0 R>>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<</Type/Pages/Kids[{' '.join(kids)}]/Count {len(kids)}>>"
    body, offsets = "%PDF-1.4\n", []
    for number, entry in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj{entry}endobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    trailer = f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(body)}\n%%EOF"
    return (body + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}").encode("latin-1")


def read(data: bytes) -> ParsedDocument:
    return parse_pdf(data, "a.pdf", Limits()).documents[0]


def test_blocks_carry_their_page_though_a_page_between_is_blank() -> None:
    shown = "BT /F1 12 Tf 50 700 Td ({}) Tj ET"
    document = read(
        pdf(
            shown.format("the first page of the text that is here"),
            "",
            shown.format("the third page of the text that is here"),
        )
    )
    assert [(block.page, document.text[block.start : block.end]) for block in document.blocks] == [
        (1, "the first page of the text that is here"),
        (3, "the third page of the text that is here"),
    ]
    assert document.paged
    assert not document.warnings


SHOWN = "BT /F1 12 Tf 50 700 Td (a page with text that leads somewhere) Tj ET"
LINK = "<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI({})>>>>"
NOTE = "<</Type/Annot/Subtype/Text/Rect[0 0 9 9]/Contents({})>>"


def test_links_of_any_length_are_kept_once() -> None:
    long = "https://example.org/" + "a" * 3_000
    links = LINK.format(long) + LINK.format("https://example.org") * 2
    assert [link.target for link in read(pdf(SHOWN, annotations=links)).links] == [long, "https://example.org"]


def test_notes_are_read_where_links_stand_beside_them() -> None:
    beside = LINK.format("https://example.org") + NOTE.format("to be checked")
    assert read(pdf(SHOWN, annotations=beside)).text.endswith("Note on page 1: to be checked")


def test_lines_know_their_place_whatever_stands_around_them() -> None:
    text = "BT /F1 10 Tf 50 700 Td (  indented by two) Tj 0 -40 Td (second line) Tj ET"
    assert parse_pdf(pdf(text), "a.pdf", Limits()).documents[0].text == "indented by two\n\nsecond line"
    document = pypdfium2.PdfDocument(pdf(text))
    page = read_page(document.raw, None, 0)
    assert page is not None
    first, second = page.lines
    assert (first.text, first.y, second.y, second.x) == ("indented by two", 700, 660, 50)
    assert 50 < first.x < 60 < first.right
    assert first.size == second.size > 0
    document.close()


def test_blank_pages_alone_are_an_empty_document() -> None:
    assert parse_pdf(pdf("", ""), "a.pdf", Limits()).documents == ()


def test_strokes_without_text_are_no_text_and_name_ocr() -> None:
    with pytest.raises(DocumentError) as caught:
        parse_pdf(pdf("0 0 m 10 10 l S\n" * 50), "a.pdf", Limits())
    assert caught.value.code == "NO_TEXT"
    assert "KB_OCR" in caught.value.next_step


def test_pictures_are_read_where_recognition_is_on() -> None:
    seen: list[bytes] = []

    def recognise(picture: bytes) -> str:
        seen.append(picture)
        return "texto lido"

    document = parse_pdf(pdf("0 0 m 10 10 l S\n" * 50), "a.pdf", Limits(), recognise).documents[0]
    assert document.text == "texto lido"
    assert seen[0].startswith(b"P5 1500 2000 255\n")
    assert "OCR" in document.warnings[0]


def test_hardly_any_text_is_flagged() -> None:
    assert "Low text" in read(pdf("BT /F1 12 Tf 50 700 Td (COPY) Tj ET")).warnings[0]


@given(st.binary(max_size=200))
def test_damaged_files_are_refused_and_never_crash(tail: bytes) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_pdf(b"%PDF-1.7\n" + tail, "a.pdf", Limits())
    assert caught.value.code in {"CORRUPT", "NO_TEXT"}
