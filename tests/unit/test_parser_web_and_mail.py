"""HTML keeps structure and leaves boilerplate out; a mail is its headers, one body and its attachments."""

from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.adapters.parsers.html import parse_html
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.mail import parse_mail
from common.adapters.parsers.refusals import unsupported
from common.adapters.parsers.text import parse_text
from common.domain.documents import Parsed, ParsedDocument
from common.domain.errors import DocumentError


def page(html: str) -> ParsedDocument:
    return parse_html(html.encode(), "a.html", Limits()).documents[0]


def test_scripts_styles_menus_and_hidden_parts_are_no_text() -> None:
    document = page(
        "<head><title>Guia</title><style>.x{}</style></head><nav>Menu</nav><script>var a</script>"
        "<p hidden>oculto</p><div style='display: none'>oculto</div><p>texto</p><template>t</template>"
    )
    assert (document.title, document.text) == ("Guia", "texto")


def test_the_main_part_is_taken_where_it_is_most_of_the_page() -> None:
    assert (
        page("<div>em volta</div><main><p>o artigo que importa mesmo</p></main>").text == "o artigo que importa mesmo"
    )
    assert "o resto longo" in page("<p>o resto longo, muito longo</p><main>x</main>").text


def test_lists_keep_nesting_and_numbers() -> None:
    document = page("<ol start=3><li>a<ul><li>b</ul><li>c</ol>")
    assert document.text == "3. a\n  - b\n4. c"
    assert document.blocks[0].kind == "list"


def test_cells_stand_under_their_headers_across_spans() -> None:
    document = page(
        "<table><tr><th>A<th>B<th>C<tr><td rowspan=2>x<td colspan=2>y<tr><td>p<td><ul><li>q<li>r</ul></table>"
    )
    assert document.text.splitlines()[2:] == ["| x | y |  |", "|  | p | q; r |"]


def test_preformatted_text_keeps_its_lines_and_inline_tags_their_words() -> None:
    assert "a <b>" not in page("<pre>a <b>b</b>\n  c</pre>").text
    assert "a b\n  c" in page("<pre>a <b>b</b>\n  c</pre>").text


def test_links_are_kept_beside_the_text() -> None:
    document = page("<p>um</p><p>veja <a href='https://example.com/x'>aqui</a></p><a href='#top'>t</a>")
    assert [(link.target, link.text, link.line) for link in document.links] == [("https://example.com/x", "aqui", 3)]


def test_nesting_of_any_depth_is_read() -> None:
    assert page("<div>" * 5000 + "fundo").text == "fundo"


def test_a_declared_charset_is_believed_where_the_bytes_fit_it() -> None:
    data = '<meta charset="windows-1251"><p>Привет'.encode("cp1251")
    assert parse_html(data, "a.html", Limits()).documents[0].text == "Привет"


@given(st.text(alphabet="<>/abpdivultr \"='\n&;#", max_size=200))
def test_any_markup_ends_in_blocks_of_the_text(markup: str) -> None:
    for document in parse_html(markup.encode(), "a.html", Limits()).documents:
        for block in document.blocks:
            assert document.text[block.start : block.end].strip()


def parse(message: EmailMessage | bytes) -> Parsed:
    def attachment(data: bytes, source: str, content_type: str) -> Parsed:
        if content_type == "application/zip":
            raise unsupported("A ZIP archive", "Unpack it.")
        return parse_text(data, source)

    data = message if isinstance(message, bytes) else message.as_bytes()
    return parse_mail(data, "cx/m.eml", Limits(attachments=3), attachment)


def mail(body: str = "corpo") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.com", "b@example.com", "Relatório nº 7"
    message["Bcc"] = "oculto@example.com"
    message["Date"] = "Mon, 02 Mar 2026 10:00:00 +0000"
    message.set_content(body)
    return message


def test_headers_and_body_are_one_document_and_blind_copies_are_not_shown() -> None:
    document = parse(mail()).documents[0]
    assert document.title == "Relatório nº 7"
    assert document.text.endswith("Subject: Relatório nº 7\n\ncorpo")
    assert "oculto" not in document.text
    assert document.metadata["date"] == "2026-03-02T10:00:00+00:00"


def test_of_two_alternatives_the_plain_one_is_read() -> None:
    message = mail("claro")
    message.add_alternative("<p>marcado</p>", subtype="html")
    text = parse(message).documents[0].text
    assert "claro" in text
    assert "marcado" not in text


def test_a_body_in_html_alone_is_read_as_html() -> None:
    message = mail()
    message.set_content("<h1>Título</h1><p>texto</p>", subtype="html")
    assert parse(message).documents[0].text.endswith("# Título\n\ntexto")


def test_attachments_are_documents_of_their_own_under_distinct_names() -> None:
    message = mail()
    message.add_attachment("um", filename="../nota.txt")
    message.add_attachment("dois", filename="nota.txt")
    message.add_attachment("dois", filename="nota.txt")
    sources = [document.source for document in parse(message).documents]
    assert sources == ["cx/m.eml", "cx/m.eml!/_nota.txt", "cx/m.eml!/nota.txt", "cx/m.eml!/nota-2.txt"]


def test_what_is_not_read_of_a_mail_is_noted_on_it() -> None:
    message = mail()
    message.add_attachment(b"PK", maintype="application", subtype="zip", filename="a.zip")
    message.add_attachment(b"x", maintype="application", subtype="pkcs7-signature", filename="smime.p7s")
    message.add_attachment(b"x", maintype="image", subtype="png", filename="f.png")
    parsed = parse(message)
    assert len(parsed.documents) == 1
    notes = " ".join(parsed.documents[0].warnings)
    assert all(name in notes for name in ("a.zip", "UNSUPPORTED", "smime.p7s", "f.png"))


def test_more_attachments_than_are_read_are_noted() -> None:
    message = mail()
    for number in range(5):
        message.add_attachment(f"texto {number}", filename=f"{number}.txt")
    parsed = parse(message)
    assert len(parsed.documents) == 4
    assert "4.txt" in " ".join(parsed.documents[0].warnings)


def test_a_mail_of_pictures_alone_has_no_text_and_an_encrypted_one_is_encrypted() -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "a@example.com", "Foto"
    message.add_attachment(b"x", maintype="image", subtype="png", filename="f.png")
    with pytest.raises(DocumentError) as caught:
        parse(message)
    assert caught.value.code == "NO_TEXT"
    with pytest.raises(DocumentError) as caught:
        parse(b"From: a\nContent-Type: multipart/encrypted; boundary=x\n\n--x--\n")
    assert caught.value.code == "ENCRYPTED"


def test_headers_that_the_library_cannot_read_do_not_lose_the_mail() -> None:
    document = parse(b"From: a@example.com\nTo: <<@@>,;\nSubject: =?utf-8?q?x?=\nDate: ontem\n\ncorpo\n").documents[0]
    assert "corpo" in document.text
    assert "date" not in document.metadata


@given(st.binary(max_size=300))
def test_any_bytes_after_a_header_end_in_documents_or_a_refusal(data: bytes) -> None:
    try:
        parsed = parse(b"Subject: x\n" + data)
    except DocumentError:
        return
    assert all("\ufffd" not in document.text for document in parsed.documents)
