"""The parser of everything as a sandbox worker makes it."""

from common.adapters.dispatch_parser import DispatchParser
from common.adapters.parsers.markdown import parse_markdown
from common.adapters.parsers.text import parse_text


def everything() -> DispatchParser:
    return DispatchParser({"text": parse_text, "markdown": parse_markdown})
