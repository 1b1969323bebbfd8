"""What a document is called, and the words it is known by when it names none itself."""

import re
from collections.abc import Iterable
from typing import Final

from common.domain.lexical import fold
from common.domain.stopwords import STOP_WORDS

_LONGEST: Final = 200
_MOST_KEYWORDS: Final = 12
_SHORTEST_KEYWORD: Final = 3

_MARKUP: Final = re.compile(r"[\[`*_\\]")
_ANCHOR: Final = re.compile(r" ?(?:\{/\*[^*{}]*\*/\}|\{ ?#[^{}]*\})$")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_WIKILINK: Final = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_EMPHASIS: Final = re.compile(r"(?<!\\)(?:`+|\*+(?=\S)|(?<=\S)\*+|\b__|__\b)")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_WORD: Final = re.compile(r"\w+(?:[-.]\w+)*")


def file_title(source: str) -> str:
    """The file's name without folders and extension."""
    name = source.rsplit("/", 1)[-1]
    stem = name.rpartition(".")[0]
    return stem if stem.strip(".") else name


def plain_title(markup: str) -> str:
    """A heading without its markup and anchor, on one line, at most 200 characters."""
    line = " ".join(markup[: 4 * _LONGEST].split())
    if len(line) <= _LONGEST and "{" not in line and not _MARKUP.search(line):
        return line
    return short_title(_without_markup(_ANCHOR.sub("", line)))


def _without_markup(text: str) -> str:
    if not _MARKUP.search(text):
        return text
    text = _EMPHASIS.sub("", _WIKILINK.sub(r"\1", _LINK.sub(r"\1", text)))
    return _ESCAPE.sub(r"\1", text)


def short_title(title: str) -> str:
    """The title on one line, cut at a word when it has more than 200 characters."""
    line = " ".join(title.split())
    if len(line) <= _LONGEST:
        return line
    return line[: _LONGEST + 1].rpartition(" ")[0] or line[:_LONGEST]


def default_keywords(title: str, headings: Iterable[str]) -> tuple[str, ...]:
    """The first 12 distinct words of title and headings that are more than function words, as they are written."""
    found: dict[str, str] = {}
    for text in (title, *headings):
        for word in _WORD.findall(text):
            key = fold(word)
            if len(key) >= _SHORTEST_KEYWORD and key not in STOP_WORDS and not key.isdigit():
                found.setdefault(key, word)
        if len(found) >= _MOST_KEYWORDS:
            break
    return tuple(found.values())[:_MOST_KEYWORDS]
