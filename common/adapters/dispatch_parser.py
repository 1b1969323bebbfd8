"""The parser of everything: tells a file's kind by its content and hands it to the reader of that kind."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Final

from common.adapters.parsers.archives import REFUSED, gunzipped, refusal
from common.adapters.parsers.build import TextBuilder
from common.adapters.parsers.limits import DEFAULT_LIMITS, Limits
from common.adapters.parsers.names import text_kind
from common.adapters.parsers.refusals import bad_encoding, limit, no_text
from common.adapters.parsers.sniff import sniff
from common.domain.documents import Parsed, ParsedDocument
from common.domain.languages import extension

TextRoute = Callable[[bytes, str], Parsed]
Recogniser = Callable[[bytes], str]
"""From a picture to the text on it."""
Reader = Callable[[bytes, str, Limits], Parsed]

_TEXT_ROUTES: Final = frozenset({"text", "markdown", "code", "jsonl"})
_READERS: Final = {
    "docx": ("docx", "parse_docx"),
    "pptx": ("pptx", "parse_pptx"),
    "workbook": ("sheets", "parse_workbook"),
    "csv": ("delimited", "parse_delimited"),
    "tsv": ("delimited", "parse_delimited"),
    "html": ("html", "parse_html"),
    "xml": ("xml_text", "parse_xml_document"),
    "doc": ("legacy", "parse_doc"),
    "ppt": ("legacy", "parse_ppt"),
    "odt": ("odf", "parse_odf"),
    "odp": ("odf", "parse_odf"),
    "epub": ("ebook", "parse_epub"),
    "rtf": ("rtf", "parse_rtf"),
    "rst": ("markup", "parse_rst"),
    "org": ("markup", "parse_org"),
    "subtitles": ("markup", "parse_subtitles"),
}
# What an extension promises; another kind behind it is read all the same, with a warning.
_PROMISES: Final = {
    "pdf": {"pdf"},
    "docx": {"docx"},
    "docm": {"docx"},
    "doc": {"doc"},
    "pptx": {"pptx"},
    "ppt": {"ppt"},
    "xlsx": {"workbook"},
    "xls": {"workbook"},
    "odt": {"odt"},
    "odp": {"odp"},
    "epub": {"epub"},
    "rtf": {"rtf"},
    "msg": {"msg"},
    "eml": {"mail", "text"},
}
_CALLED: Final = {
    "html": "an HTML page",
    "workbook": "a workbook",
    "mail": "an e-mail",
    "text": "plain text",
    "xml": "XML",
}


class DispatchParser:
    """Routes by content. `text_routes` reads `text`, `markdown`, `code` and `jsonl` (what is missing goes to `text`);
    `recognise` reads pictures of PDF pages, without it a scan is NO_TEXT.
    """

    def __init__(
        self,
        text_routes: Mapping[str, TextRoute],
        limits: Limits = DEFAULT_LIMITS,
        recognise: Recogniser | None = None,
    ) -> None:
        self._text_routes = text_routes
        self._limits = limits
        self._recognise = recognise

    def parse(self, data: bytes, name: str, content_type: str = "") -> Parsed:
        """The documents of one object, none for an empty one. Raises DocumentError."""
        return self._parse(data, name, content_type, depth=0)

    def _parse(self, data: bytes, name: str, content_type: str, depth: int) -> Parsed:
        kind = sniff(data, name, content_type)
        if kind == "empty":
            return Parsed(())
        if kind == "gzip":
            return self._unpacked(data, name, depth)
        if kind == "image" and self._recognise is not None:
            return _recognised(data, name, self._recognise)
        if kind in REFUSED:
            raise refusal(kind)
        if kind == "binary":
            raise bad_encoding("file") if text_kind(name) else refusal(kind)
        return _with_warning(self._read(kind, data, name, depth), kind, name)

    def _read(self, kind: str, data: bytes, name: str, depth: int) -> Parsed:
        if kind in _TEXT_ROUTES:
            return self._as_text(kind, data, name)
        if kind == "pdf":
            from common.adapters.parsers.pdf import parse_pdf  # noqa: PLC0415 - each reader loads with its first file

            return parse_pdf(data, name, self._limits, self._recognise)
        if kind in {"mail", "msg"}:
            return self._read_mail(kind, data, name, depth)
        if kind == "json":
            from common.adapters.parsers.json_text import parse_json  # noqa: PLC0415

            return parse_json(data, name, self._limits, lambda raw, called: self._as_text("text", raw, called))
        return _reader(kind)(data, name, self._limits)

    def _as_text(self, kind: str, data: bytes, name: str) -> Parsed:
        return self._text_routes.get(kind, self._text_routes["text"])(data, name)

    def _read_mail(self, kind: str, data: bytes, name: str, depth: int) -> Parsed:
        from common.adapters.parsers.mail import parse_mail  # noqa: PLC0415
        from common.adapters.parsers.msg import parse_msg  # noqa: PLC0415

        def attached(inner: bytes, source: str, content_type: str) -> Parsed:
            if depth + 1 > self._limits.mail_depth:
                raise limit("attachment", f"mails are opened {self._limits.mail_depth} deep at most")
            return self._parse(inner, source, content_type, depth + 1)

        return (parse_mail if kind == "mail" else parse_msg)(data, name, self._limits, attached)

    def _unpacked(self, data: bytes, name: str, depth: int) -> Parsed:
        """A gzip holds one file: it is read under its own name, an archive in it is refused."""
        inner = gunzipped(data, self._limits)
        called = name[: -len(".gz")] if name.lower().endswith(".gz") else name
        kind = sniff(inner, called)
        if kind in {"gzip", "tar"}:
            raise refusal("tar")
        parsed = self._parse(inner, called, "", depth)
        documents = tuple(_renamed(document, called, name) for document in parsed.documents)
        return Parsed(documents, parsed.warnings)


def _recognised(data: bytes, name: str, recognise: Recogniser) -> Parsed:
    """A picture as the document of its text. Raises DocumentError NO_TEXT when none is found on it."""
    builder = TextBuilder("picture")
    for paragraph in recognise(data).split("\n\n"):
        builder.add(paragraph)
    if builder.empty:
        raise no_text("picture", "and none could be recognised on it")
    return Parsed((builder.document(name, "picture"),))


def _renamed(document: ParsedDocument, inner: str, outer: str) -> ParsedDocument:
    """The document under the object's name, not the one of the file inside it."""
    if not document.source.startswith(inner):
        return document
    return replace(document, source=outer + document.source[len(inner) :])


def _with_warning(parsed: Parsed, kind: str, name: str) -> Parsed:
    suffix = extension(name)
    if kind in _PROMISES.get(suffix, {kind}):
        return parsed
    warning = f"The file is named .{suffix} but holds {_CALLED.get(kind, kind.upper())}; it was read as that."
    documents = parsed.documents
    if not documents:
        return Parsed((), (*parsed.warnings, warning))
    first = replace(documents[0], warnings=(*documents[0].warnings, warning))
    return Parsed((first, *documents[1:]), parsed.warnings)


def _reader(kind: str) -> Reader:
    """The reader of a kind; its libraries load with the first file that needs them."""
    module, function = _READERS[kind]
    reader: Reader = getattr(import_module(f"common.adapters.parsers.{module}"), function)
    return reader
