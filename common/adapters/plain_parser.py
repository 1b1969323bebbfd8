"""The parser of what needs no converter: text and Markdown, read as they are written."""

from typing import Final

from common.adapters.parsers.markdown import parse_markdown
from common.adapters.parsers.text import parse_text
from common.domain.documents import Parsed

MARKDOWN_EXTENSIONS: Final = (".md", ".markdown", ".mdx")


class PlainParser:
    """Markdown by its extension or content type, every other text as plain text."""

    def parse(self, data: bytes, name: str, content_type: str = "") -> Parsed:
        """The one document of the file, or none when it is empty. Raises DocumentError."""
        markdown = name.lower().endswith(MARKDOWN_EXTENSIONS) or content_type.startswith("text/markdown")
        return parse_markdown(data, name) if markdown else parse_text(data, name)
