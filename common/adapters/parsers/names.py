"""What a file name alone suggests about text; consulted only where the content leaves the kind open."""

from typing import Final

from common.domain.languages import extension, is_markdown, language_of

BY_SUFFIX: Final = {
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "htm": "html",
    "html": "html",
    "xhtml": "html",
    "shtml": "html",
    "xml": "xml",
    "eml": "mail",
    "json": "json",
    "ipynb": "json",
    "geojson": "json",
    "webmanifest": "json",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "rst": "rst",
    "rest": "rst",
    "org": "org",
    "vtt": "subtitles",
    "srt": "subtitles",
    "txt": "text",
    "text": "text",
    "log": "text",
}
BY_CONTENT_TYPE: Final = {
    "text/markdown": "markdown",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/json": "json",
    "application/x-ndjson": "jsonl",
    "application/jsonl": "jsonl",
    "application/xml": "xml",
    "text/xml": "xml",
    "message/rfc822": "mail",
    "text/x-rst": "rst",
    "text/vtt": "subtitles",
}


def text_kind(name: str, content_type: str = "") -> str | None:
    """The text kind that the name suggests, else the one of the content type, else None."""
    if is_markdown(name):
        return "markdown"
    suffix = extension(name)
    if suffix in BY_SUFFIX:
        return BY_SUFFIX[suffix]
    if language_of(name) is not None:
        return "code"
    return BY_CONTENT_TYPE.get(content_type.partition(";")[0].strip().lower())
