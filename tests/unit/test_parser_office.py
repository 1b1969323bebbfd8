"""Word, PowerPoint, OpenDocument and EPUB: what a reader sees is there once and in order, and nothing else."""

import io
import zipfile

import pytest

from common.adapters.parsers.docx import parse_docx
from common.adapters.parsers.ebook import parse_epub
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.odf import parse_odf
from common.adapters.parsers.pptx import parse_pptx
from common.domain.documents import ParsedDocument
from common.domain.errors import DocumentError

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def packed(parts: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def relations(*entries: tuple[str, str, str]) -> str:
    rows = "".join(f'<Relationship Id="{key}" Type="{R}/{kind}" Target="{target}"/>' for key, kind, target in entries)
    return f'<Relationships xmlns="{PACKAGE}">{rows}</Relationships>'


def word(body: str, **parts: str) -> ParsedDocument:
    files = {
        "_rels/.rels": relations(("r1", "officeDocument", "word/document.xml")),
        "word/document.xml": f'<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{body}</w:body></w:document>',
        "word/_rels/document.xml.rels": relations(*((key, key, f"{key}.xml") for key in parts)),
        **{f"word/{key}.xml": content for key, content in parts.items()},
    }
    return parse_docx(packed(files), "a.docx", Limits()).documents[0]


def p(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def test_tracked_changes_are_read_as_accepted() -> None:
    body = (
        "<w:p><w:r><w:t xml:space='preserve'>prazo de </w:t></w:r><w:del><w:r><w:delText>10</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>dez</w:t></w:r></w:moveFrom><w:ins><w:r><w:t>15</w:t></w:r></w:ins>"
        "<w:r><w:t xml:space='preserve'> dias</w:t></w:r></w:p>"
    )
    assert word(body).text == "prazo de 15 dias"


def test_content_controls_keep_their_paragraphs_tables_and_words() -> None:
    inner = p("um") + f"<w:tbl><w:tr><w:tc>{p('c1')}</w:tc><w:tc>{p('c2')}</w:tc></w:tr></w:tbl>"
    run = "<w:p><w:sdt><w:sdtContent><w:r><w:t>dois</w:t></w:r></w:sdtContent></w:sdt></w:p>"
    body = f"<w:sdt><w:sdtContent>{inner}</w:sdtContent></w:sdt>{run}"
    assert word(body).text == "um\n\n| c1 | c2 |\n\ndois"


def test_footnotes_stand_where_they_are_called_and_at_the_end() -> None:
    note = f'<w:footnotes xmlns:w="{W}"><w:footnote w:id="2">{p("a fonte")}</w:footnote></w:footnotes>'
    body = "<w:p><w:r><w:t>fato</w:t><w:footnoteReference w:id='2'/></w:r></w:p>"
    document = word(body, footnotes=note)
    assert document.text == "fato[^2]\n\n[^2]: a fonte"
    assert document.blocks[1].kind == "note"


def test_field_codes_are_no_text_and_their_results_are() -> None:
    body = "<w:p><w:r><w:instrText>PAGE \\* X</w:instrText></w:r><w:r><w:t>7</w:t><w:tab/><w:t>x</w:t></w:r></w:p>"
    assert word(body).text == "7\tx"


def test_a_text_box_is_read_once() -> None:
    box = f"<w:txbxContent>{p('na caixa')}</w:txbxContent>"
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    body = (
        f"<w:p><w:r><w:t>fora</w:t><mc:AlternateContent {mc}><mc:Choice>{box}</mc:Choice>"
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )
    assert word(body).text == "fora\n\nna caixa"


def test_headings_follow_the_style_and_the_styles_it_builds_on() -> None:
    styles = (
        f'<w:styles xmlns:w="{W}"><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="H1"/></w:style></w:styles>'
    )
    body = p("Seção", '<w:pStyle w:val="Mine"/>') + p("texto")
    document = word(body, styles=styles)
    assert document.text == "# Seção\n\ntexto"
    assert document.blocks[1].headings == ("Seção",)


def test_a_merged_cell_is_said_once_and_columns_stay_aligned() -> None:
    def cell(text: str, properties: str) -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(text)}</w:tc>"

    wide, tall = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>'
    body = (
        f"<w:tbl><w:tr>{cell('larga', wide)}{cell('c', '')}</w:tr>"
        f"<w:tr>{cell('alta', tall)}{cell('b', '')}{cell('c', '')}</w:tr>"
        f"<w:tr>{cell('alta', '<w:vMerge/>')}{cell('e', '')}{cell('f', '')}</w:tr></w:tbl>"
    )
    assert word(body).text.splitlines()[2:] == ["| alta | b | c |", "|  | e | f |"]
    assert word(body).text.count("larga") == 1


def test_a_word_file_without_its_main_part_is_corrupt() -> None:
    with pytest.raises(DocumentError) as caught:
        parse_docx(packed({"word/other.xml": "<x/>"}), "a.docx", Limits())
    assert caught.value.code == "CORRUPT"


def test_a_part_that_unfolds_too_far_is_not_unpacked() -> None:
    data = packed({"word/document.xml": " " * 9_000_000})
    with pytest.raises(DocumentError) as caught:
        parse_docx(data, "a.docx", Limits())
    assert caught.value.code == "PARSER_LIMIT"


def test_nesting_past_what_xml_may_have_is_a_limit() -> None:
    with pytest.raises(DocumentError) as caught:
        word("<w:p>" * 400 + "</w:p>" * 400)
    assert caught.value.code == "PARSER_LIMIT"


A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"


def shape(text: str, holder: str | None) -> str:
    placed = f'<p:ph type="{holder}"/>' if holder is not None else ""
    paragraphs = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    return f"<p:sp><p:nvSpPr><p:nvPr>{placed}</p:nvPr></p:nvSpPr><p:txBody>{paragraphs}</p:txBody></p:sp>"


def slides(*trees: str) -> ParsedDocument:
    names = [f"slide{number}" for number in range(1, len(trees) + 1)]
    listed = "".join(f'<p:sldId id="{at + 256}" r:id="{name}"/>' for at, name in enumerate(names))
    head = f'xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{R}"'
    files = {
        "_rels/.rels": relations(("r1", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f"<p:presentation {head}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(*((name, "slide", f"slides/{name}.xml") for name in names)),
    }
    for name, tree in zip(names, trees, strict=True):
        files[f"ppt/slides/{name}.xml"] = f"<p:sld {head}><p:cSld><p:spTree>{tree}</p:spTree></p:cSld></p:sld>"
    return parse_pptx(packed(files), "a.pptx", Limits()).documents[0]


def test_a_slide_is_a_page_under_its_title_and_groups_stay_in_place() -> None:
    group = f"<p:grpSp>{shape('no grupo', None)}</p:grpSp>"
    document = slides(shape("um\ndois", "body") + group + shape("Título", "title"), shape("sem título", None))
    assert document.text == "# Título\n\n- um\n- dois\n\nno grupo\n\nsem título"
    assert [block.page for block in document.blocks] == [1, 1, 1, 2]
    assert document.blocks[-1].headings == ("Slide 2",)
    assert document.paged


def test_slide_numbers_are_no_text_and_a_footer_is_said_once() -> None:
    tree = shape("9", "sldNum") + shape("Confidencial", "ftr")
    document = slides(shape("A", "title") + tree, shape("B", "title") + tree)
    assert document.text == "# A\n\nConfidencial\n\n# B"


ODF = 'xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:draw="d"'


def odf(body: str) -> ParsedDocument:
    content = f"<office:document {ODF}><office:body><office:text>{body}</office:text></office:body></office:document>"
    return parse_odf(packed({"content.xml": content}), "a.odt", Limits()).documents[0]


def test_open_document_text_keeps_blanks_lists_tables_and_notes() -> None:
    body = (
        '<text:h text:outline-level="2">Seção</text:h><text:p>a<text:s text:c="2"/>b<text:note>'
        "<text:note-citation>1</text:note-citation><text:note-body><text:p>fonte</text:p></text:note-body></text:note>"
        "</text:p><text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell>"
        "<table:table-cell><text:p>y</text:p></table:table-cell></table:table-row></table:table>"
        "<text:tracked-changes><text:p>apagado</text:p></text:tracked-changes>"
    )
    assert odf(body).text == "## Seção\n\na  b[^1]\n\n- item\n\n| x | y |\n\n[^1]: fonte"


def test_an_encrypted_open_document_is_encrypted() -> None:
    data = packed({"META-INF/manifest.xml": "<m><encryption-data/></m>", "content.xml": "x"})
    with pytest.raises(DocumentError) as caught:
        parse_odf(data, "a.odt", Limits())
    assert caught.value.code == "ENCRYPTED"


def test_a_book_is_read_in_the_order_of_its_spine() -> None:
    package = (
        '<package xmlns:dc="d"><metadata><dc:title>Livro</dc:title></metadata><manifest>'
        '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="b" href="b%20c.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="b"/><itemref idref="a"/></spine></package>'
    )
    files = {
        "META-INF/container.xml": '<c><rootfiles><rootfile full-path="O/p.opf"/></rootfiles></c>',
        "O/p.opf": package,
        "O/a.xhtml": "<html><body><h1>Dois</h1><p>fim</p></body></html>",
        "O/b c.xhtml": "<html><body><h1>Um</h1></body></html>",
    }
    document = parse_epub(packed(files), "a.epub", Limits()).documents[0]
    assert (document.title, document.text) == ("Livro", "# Um\n\n# Dois\n\nfim")
