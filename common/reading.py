"""Which reader stands behind which kind of file: what the process that parses is made from."""

from common.adapters.dispatch_parser import DispatchParser
from common.adapters.parsers.markdown import parse_markdown
from common.adapters.parsers.text import parse_text


def document_parser(ocr: str = "off") -> DispatchParser:
    """The parser of every kind. With `ocr` tesseract, pictures of pages are read; raises Misconfigured without it."""
    recognise = None
    if ocr == "tesseract":
        from common.adapters.parsers.ocr import tesseract  # noqa: PLC0415 - only who reads scans has it installed

        recognise = tesseract()
    return DispatchParser({"text": parse_text, "markdown": parse_markdown}, recognise=recognise)
