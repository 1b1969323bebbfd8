"""Which reader stands behind which kind of file: what the process that parses is made from."""

from common.adapters.dispatch_parser import DispatchParser
from common.adapters.parsers.code import parse_code
from common.adapters.parsers.hcl import parse_hcl
from common.adapters.parsers.jsonl import parse_jsonl
from common.adapters.parsers.markdown import parse_markdown
from common.adapters.parsers.shell import parse_shell
from common.adapters.parsers.text import decode, parse_text
from common.adapters.parsers.yaml_documents import parse_yaml
from common.domain.documents import Parsed
from common.domain.errors import DocumentError
from common.domain.languages import is_markdown, language_of
from common.domain.splitting import is_blank
from common.domain.unfit import unfit_reason

_BY_STRUCTURE = {"hcl": parse_hcl, "yaml": parse_yaml, "shell": parse_shell}


def document_parser(ocr: str = "off") -> DispatchParser:
    """The parser of every kind. With `ocr` tesseract, pictures of pages are read; raises Misconfigured without it."""
    recognise = None
    if ocr == "tesseract":
        from common.adapters.parsers.ocr import tesseract  # noqa: PLC0415 - only who reads scans has it installed

        recognise = tesseract()
    routes = {"text": _text, "markdown": _text, "code": _text, "jsonl": _jsonl}
    return DispatchParser(routes, recognise=recognise)


def _jsonl(data: bytes, name: str) -> Parsed:
    return parse_jsonl(data, name, lambda source, text: _text(text.encode("utf-8", "surrogatepass"), source))


def _text(data: bytes, name: str) -> Parsed:
    """Markdown, code and configuration by structure, other text by paragraph; what nobody asks about is refused."""
    text = decode(data)
    unfit = unfit_reason(name, text)
    if unfit:
        raise DocumentError("UNSUPPORTED", f"Not indexed: {unfit}.", "Upload the text that people would ask about.")
    if is_markdown(name):
        return parse_markdown(data, name)
    language = language_of(name, text)
    if language is None or is_blank(text):
        return parse_text(data, name)
    if language in _BY_STRUCTURE:
        return Parsed((_BY_STRUCTURE[language](name, text),))
    return Parsed((parse_code(name, text, language),))
