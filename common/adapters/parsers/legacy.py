"""Word and PowerPoint of 1997 to 2003 (DOC, PPT): read by unstructured, which no lighter reader matches, where it and
LibreOffice are installed; refused with the way out elsewhere.

unstructured downloads a spaCy model while parsing. Before the import its tokenizer module is replaced by a light one
with the same functions; its telemetry is off as that of every library (`common`).
"""

import importlib.util
import io
import os
import re
import shutil
import sys
from types import ModuleType
from typing import Any, Final

from common.adapters.parsers.archives import refusal
from common.adapters.parsers.build import TextBuilder
from common.adapters.parsers.html import add_html
from common.adapters.parsers.limits import Limits
from common.adapters.parsers.refusals import corrupt
from common.domain.documents import Parsed

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"\w+|[^\w\s]")
_TOKENIZER: Final = "unstructured.nlp.tokenize"
_CALLED: Final = {"doc": "Word 97-2003 document", "ppt": "PowerPoint 97-2003 presentation"}


def parse_doc(data: bytes, name: str, limits: Limits) -> Parsed:
    """One document. Raises DocumentError UNSUPPORTED, CORRUPT, PARSER_LIMIT."""
    return _parse(data, name, "doc", limits)


def parse_ppt(data: bytes, name: str, limits: Limits) -> Parsed:
    """One document. Raises DocumentError UNSUPPORTED, CORRUPT, PARSER_LIMIT."""
    return _parse(data, name, "ppt", limits)


def _parse(data: bytes, name: str, kind: str, limits: Limits) -> Parsed:
    if importlib.util.find_spec("unstructured") is None or shutil.which("soffice") is None:
        raise refusal(kind)
    builder = TextBuilder(_CALLED[kind], characters=limits.characters)
    _add_elements(builder, _elements(data, kind))
    if builder.empty:
        return Parsed((), tuple(builder.warnings))
    paged = kind == "ppt"
    return Parsed((builder.document(name, kind, paged=paged),))


def _elements(data: bytes, kind: str) -> list[Any]:
    os.environ["UNSTRUCTURED_DISABLE_NOTICE"] = "1"
    if _TOKENIZER not in sys.modules:
        light = ModuleType(_TOKENIZER)
        vars(light).update(sent_tokenize=_sentences, word_tokenize=_words, pos_tag=_tagged, CACHE_MAX_SIZE=128)
        sys.modules[_TOKENIZER] = light
    from unstructured.partition.auto import partition  # noqa: PLC0415 - heavy, and only this branch needs it

    try:
        return list(partition(file=io.BytesIO(data), metadata_filename=f"file.{kind}", languages=[""]))
    except (OSError, ValueError, RuntimeError, KeyError, AttributeError) as error:
        raise corrupt(_CALLED[kind]) from error


def _add_elements(builder: TextBuilder, elements: list[Any]) -> None:
    items: list[str] = []
    page: int | None = None
    for element in [*elements, None]:
        if element is not None and element.category == "ListItem":
            items.append(f"- {element.text}")
            page = element.metadata.page_number
            continue
        builder.add("\n".join(items), "list", page=page)
        items = []
        if element is not None:
            _add(builder, element)


def _add(builder: TextBuilder, element: Any) -> None:  # noqa: ANN401 - the library's own element
    page = element.metadata.page_number
    table = getattr(element.metadata, "text_as_html", None)
    if element.category == "Title":
        builder.heading((element.metadata.category_depth or 0) + 1, element.text, page=page)
    elif element.category == "Table" and table:
        add_html(builder, table, page=page)
    else:
        builder.add(element.text, page=page)


def _sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE.split(text) if part]


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _tagged(text: str) -> list[tuple[str, str]]:
    return [(word, "NN") for word in _words(text)]
