"""Markdown to its document: front matter as metadata, headings, title and links; the text stays as it is written."""

from collections.abc import Mapping, Sequence
from typing import Final

from common.adapters.parsers.front_matter import FrontMatter, read_front_matter
from common.adapters.parsers.text import decode, without_extension
from common.domain.documents import Dropped, JsonValue, Parsed, ParsedDocument
from common.domain.links import find_links
from common.domain.markdown import scan
from common.domain.splitting import is_blank
from common.domain.titles import default_keywords, file_title, short_title

_TENANT_KEYS: Final = frozenset({"base", "bases", "tenant", "tenant_id", "affiliate", "affiliate_id"})
_KNOWN_KEYS: Final = frozenset({"id", "title", "category", "keywords", "pinned", "aliases", "tags"})


def parse_markdown(data: bytes, name: str) -> Parsed:
    """One Markdown document; none when it holds nothing beside front matter. Raises DocumentError as `decode` does."""
    text = decode(data)
    front = read_front_matter(text)
    if is_blank(text[front.end :]):
        return Parsed((), front.warnings)
    structure = scan(text, front.end)
    values, ignored = _known(front)
    headings = structure.headings
    title = short_title(_word(values.get("title"))) or (headings[0] if headings else file_title(name))
    dropped = (Dropped(0, front.end, "front matter is kept as metadata, not embedded"),) if front.end else ()
    document = ParsedDocument(
        source=name,
        title=title,
        text=text,
        blocks=structure.blocks,
        kind="markdown",
        category=_word(values.get("category")),
        keywords=_words(values.get("keywords")) or default_keywords(title, headings),
        pinned=_word(values.get("pinned")).lower() == "true",
        external_id=_word(values.get("id")) or without_extension(name),
        aliases=_words(values.get("aliases")),
        tags=tuple(tag.removeprefix("#") for tag in _words(values.get("tags"))),
        metadata=_metadata(front.values),
        links=find_links(text, structure.code, front.end),
        dropped=dropped,
        warnings=(*front.warnings, *ignored),
    )
    return Parsed((document,))


def _known(front: FrontMatter) -> tuple[dict[str, JsonValue], list[str]]:
    """The values of the keys that mean something here, by lower-case name, and a warning for each that cannot."""
    values: dict[str, JsonValue] = {}
    warnings = []
    for key, value in front.values.items():
        name = key.lower()
        if name in _TENANT_KEYS:
            warnings.append(f"Front matter cannot choose a base: `{key}` is ignored.")
        elif name in _KNOWN_KEYS:
            values[name] = value
            if value is not None and not _words(value):
                warnings.append(f"The front matter's `{key}` has no value that can be used.")
    return values, warnings


def _metadata(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    reserved = _TENANT_KEYS | _KNOWN_KEYS
    return {key: value for key, value in values.items() if key.lower() not in reserved}


def _word(value: JsonValue) -> str:
    """A single value as text, empty for lists and mappings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _words(value: JsonValue) -> tuple[str, ...]:
    """A list's or a comma-separated text's distinct entries."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        entries = [_word(item) for item in value]
    else:
        entries = [part.strip() for part in _word(value).split(",")]
    return tuple(dict.fromkeys(filter(None, entries)))
