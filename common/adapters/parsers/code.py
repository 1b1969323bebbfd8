"""Source code to a document: raw text, one unit per symbol where the language is understood, plain blocks elsewhere."""

from common.adapters.parsers.code_blocks import Unit, code_document
from common.adapters.parsers.code_braces import fallback_units
from common.adapters.parsers.code_languages import GRAMMARS
from common.adapters.parsers.code_tree import tree_units
from common.domain.documents import ParsedDocument
from common.domain.languages import language_of


def parse_code(source: str, text: str, language: str | None = None) -> ParsedDocument:
    """The document of a source file; `language` is told by its name where it is not given. Never fails."""
    language = language or language_of(source, text)
    grammar = GRAMMARS.get(language or "")
    units = tree_units(text, grammar) if grammar else None
    if units is None and language is not None:
        units = fallback_units(text, language)
    return code_document(source, text, units if units is not None else [Unit(0, len(text), loose=True)])
