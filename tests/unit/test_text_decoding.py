"""Letters are right or the file is refused; when a code page's test fails, see the alphabets in letters.py."""

import codecs
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from common.adapters.parsers.text import decode, parse_text
from common.adapters.plain_parser import PlainParser
from common.domain.errors import DocumentError

CORPUS = Path(__file__).parents[1] / "corpus" / "files"

PORTUGUESE = "A manutenção da estação não está concluída: três técnicos vêm às 8 h. Até lá, atenção à pressão!"
SPANISH = "¿Cuándo vendrá el técnico? Mañana por la mañana, según el señor Núñez; ¡qué fácil!"
FRENCH = "L’été, où nous étions à Besançon, l’hôtel « Île » n’était pas très cher : 40 €."  # noqa: RUF001
GERMAN = "Die Prüfung der Anlagen – größer als üblich – läuft über Köln, Straße 7."  # noqa: RUF001
NORDIC = "Blåbærsyltetøy på brød; også rødgrød med fløde."
POLISH = "Zażółć gęślą jaźń: proszę wyłączyć pompę i zamknąć zawór bezpieczeństwa."
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy, řekl ředitel čerpadla."
HUNGARIAN = "Árvíztűrő tükörfúrógép: a szűrőt és a fűtést ellenőrizni kell, őrült idő."
TURKISH = "Şu pompanın basıncı düşük, ağır iş için değiştirilmesi gerekiyor; ışık yanıyor."  # noqa: RUF001
RUSSIAN = "Насос остановлен для проверки, давление в системе выше обычного уровня."  # noqa: RUF001
GREEK = "Η αντλία σταμάτησε και η πίεση στο σύστημα είναι υψηλότερη από το κανονικό."  # noqa: RUF001
HEBREW = "המשאבה נעצרה לבדיקה והלחץ במערכת גבוה מהרגיל היום."
JAPANESE = "ポンプは点検のために停止しています。システムの圧力は通常より高いです。"
CHINESE = "水泵已经停止检查，系统的压力比正常的水平高，我们不能在这里说是一个大的问题。"  # noqa: RUF001
KOREAN = "펌프는 점검을 위해 정지되었고 시스템의 압력은 보통보다 높은 수준에 있습니다."


def test_the_truth_letter_for_letter():
    folder = CORPUS / "ENC-01"
    truth = (folder / "EXPECTED.txt").read_text(encoding="utf-8").splitlines()
    log = decode((folder / "plantao-cp1252.log.txt").read_bytes())
    note = decode((folder / "cafe-latin1.txt").read_bytes())
    assert log.splitlines() == truth[:3]
    assert note == truth[3]


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (PORTUGUESE, "cp1252"),
        (PORTUGUESE, "iso8859-1"),
        (PORTUGUESE.upper(), "cp1252"),
        (PORTUGUESE, "cp850"),
        ("peça nova", "cp850"),
        ("o pão", "cp850"),
        (PORTUGUESE, "mac_roman"),
        ("pão à venda", "cp1252"),
        ("É só", "cp1252"),
        ("nº 7, 2ª via, 10 m²", "cp1252"),
        ("R$ 5 – “promoção”", "cp1252"),  # noqa: RUF001
        (SPANISH, "cp1252"),
        (SPANISH, "iso8859-1"),
        (FRENCH, "cp1252"),
        ("Le cœur coûte 40 €, c'est très élevé à Besançon", "iso8859-15"),
        (GERMAN, "cp1252"),
        (NORDIC, "cp1252"),
        ("## können\n\nkönnen\n\näöüß\n", "cp1252"),
        (f"{PORTUGUESE} Müller, Ångström, Bjørn e o señor Peña.", "cp1252"),
        (POLISH, "cp1250"),
        (POLISH, "iso8859-2"),
        (CZECH, "cp1250"),
        (HUNGARIAN, "cp1250"),
        (TURKISH, "cp1254"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp866"),
        (GREEK, "cp1253"),
        (HEBREW, "cp1255"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"),
        (CHINESE, "gb18030"),
        (KOREAN, "euc_kr"),
        (PORTUGUESE, "utf-8"),
        (PORTUGUESE, "utf-8-sig"),
        (PORTUGUESE, "utf-16"),
        (PORTUGUESE, "utf-16-le"),
        (PORTUGUESE, "utf-16-be"),
        (PORTUGUESE, "utf-32"),
        (PORTUGUESE, "utf-32-le"),
        (PORTUGUESE, "utf-32-be"),
        (CHINESE, "utf-16"),
    ],
)
def test_what_was_written_is_read(text, codec):
    assert decode(text.encode(codec)) == text


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE])
def test_a_mark_alone_is_an_empty_file(mark):
    assert parse_text(mark, "a.txt").documents == ()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xff\xfea\x00b", "BAD_ENCODING"),
        (b"\xff\xfe\x00\xd8a\x00", "BAD_ENCODING"),
        (b"texto com \x00 dentro de uma frase", "BAD_ENCODING"),
        ("é\x00".encode("utf-16"), "BAD_ENCODING"),
        (PORTUGUESE.encode()[:-1] + b"\xc3", "BAD_ENCODING"),
        (f"{PORTUGUESE} ".encode() + "ação".encode("cp1252"), "BAD_ENCODING"),
        (b"\xed\xa0\x80 surrogate " + PORTUGUESE.encode(), "BAD_ENCODING"),
        (RUSSIAN[:8].encode("cp1251"), "BAD_ENCODING"),
        (bytes(range(128, 256)), "BAD_ENCODING"),
        (bytes(range(256)) * 4, "UNSUPPORTED"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(1, 255)) * 3, "UNSUPPORTED"),
    ],
)
def test_what_is_not_certain_is_refused(data, code):
    with pytest.raises(DocumentError) as caught:
        decode(data)
    assert caught.value.code == code
    assert caught.value.reason.endswith(".")
    assert caught.value.next_step


def test_damaged_utf_8_is_named_with_its_place():
    with pytest.raises(DocumentError, match="UTF-8 text with a damaged character at byte 4"):
        decode(b"abc\xc3 " + PORTUGUESE.encode())


@given(st.text())
def test_unicode_comes_back(text):
    assume("\x00" not in text and "\x1b$" not in text and not text.startswith("\ufeff"))
    assert decode(text.encode()) == text
    assert decode(text.encode("utf-16")) == text
    assert decode(text.encode("utf-32")) == text


@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_refused(data):
    try:
        text = decode(data)
    except DocumentError as error:
        assert error.code in {"BAD_ENCODING", "UNSUPPORTED"}
    else:
        assert "\x00" not in text
        assert text.count("\ufffd") <= data.count("\ufffd".encode()) + data.count(b"\xfd\xff") + data.count(b"\xff\xfd")


@pytest.mark.parametrize("name", ["zero.txt", "only-bom.txt", "only-space.md", "only-frontmatter.md"])
def test_blank_files_are_empty(name):
    assert PlainParser().parse((CORPUS / "EMP-01" / name).read_bytes(), name).documents == ()


@pytest.mark.parametrize("text", ["\u200b\u00ad\n", "\x01\x02 \t", "\u2028\u2029\u3000"])
def test_what_cannot_be_seen_is_blank(text):
    assert PlainParser().parse(text.encode(), "a.txt").documents == ()


def test_markdown_is_told_by_name_or_type():
    data = b"# Guia\n\ntexto"
    parser = PlainParser()
    for name, content_type, kind in [
        ("a.md", "", "markdown"),
        ("a.MDX", "", "markdown"),
        ("a.markdown", "text/plain", "markdown"),
        ("a", "text/markdown; charset=utf-8", "markdown"),
        ("a.txt", "text/plain", "text"),
    ]:
        (document,) = parser.parse(data, name, content_type).documents
        assert (document.kind, document.source) == (kind, name)
        assert document.title == ("Guia" if kind == "markdown" else "a")
