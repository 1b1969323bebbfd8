"""The links of an HTML page, and how addresses are written so that one page has one."""

import re
from html.parser import HTMLParser
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit, urlunsplit

from common.domain.objects import MAX_SOURCE_BYTES, digest

_PORTS: Final = {"http": 80, "https": 443}
_SAFE: Final = "/%:@!$&'()*+,;=~-._"
_PAGE_SUFFIX: Final = re.compile(r"\.(?:x?html?|md|mdx|markdown|txt|php|aspx?|jsp)$", re.IGNORECASE)
_FILE_SUFFIX: Final = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|avif|ico|bmp|tiff?|css|m?js|map|json|xml|rss|atom|woff2?|ttf|otf|eot|pdf|docx?|xlsx?"
    r"|pptx?|odt|ods|zip|gz|tgz|bz2|xz|7z|rar|tar|jar|whl|dmg|exe|msi|deb|rpm|iso|apk|mp[34]|m4[av]|webm|ogg|wav|avi|mov)$",
    re.IGNORECASE,
)
_UNNAMEABLE: Final = re.compile(r"[\x00-\x1f\x7f]")
_TEXT_SUFFIXES: Final = (".md", ".mdx", ".txt", ".markdown")


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.base = ""
        self.found: list[str] = []
        self.follow = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and given.get("href") and "nofollow" not in given.get("rel", "").lower():
            self.found.append(given["href"])
        elif tag == "base" and given.get("href") and not self.base:
            self.base = given["href"]
        elif (
            tag == "meta"
            and given.get("name", "").lower() == "robots"
            and "nofollow" in given.get("content", "").lower()
        ):
            self.follow = False


def page_links(html: str, url: str) -> list[str]:
    """Where the page leads: each target once, in order, as `canonical` writes it; none when it asks not to follow."""
    parser = _Links()
    parser.feed(html)
    parser.close()
    if not parser.follow:
        return []
    base = _join(url, parser.base) or url
    targets = (canonical(_join(base, href)) for href in parser.found)
    return list(dict.fromkeys(target for target in targets if target))


def _join(base: str, href: str) -> str:
    try:
        return urljoin(base, href.strip())
    except ValueError:
        return ""


def canonical(url: str) -> str:
    """The address without fragment and default port, its path quoted; `""` for what is no http address."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    host = (parts.hostname or "").lower()
    if parts.scheme not in _PORTS or not host:
        return ""
    host = f"[{host}]" if ":" in host else host
    netloc = host if port in {None, _PORTS[parts.scheme]} else f"{host}:{port}"
    path = quote(_without_dots(parts.path or "/"), safe=_SAFE)
    return urlunsplit(SplitResult(parts.scheme, netloc, path, quote(parts.query, safe=_SAFE + "?"), ""))


def _without_dots(path: str) -> str:
    """`urljoin` leaves the dot segments of absolute addresses."""
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            kept = kept[:-1] or [""]
        elif part != ".":
            kept.append(part)
    return "/".join(kept) or "/"


def is_file(url: str) -> bool:
    """The address says by its ending that it is no page."""
    return bool(_FILE_SUFFIX.search(urlsplit(url).path))


def site(url: str) -> str:
    """Host and port: what pages of one domain share."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or _PORTS.get(parts.scheme, 0)}" if parts.port else str(parts.hostname)


def page_source(url: str) -> str:
    """The path of a page inside the corpus: host, path and query, as Markdown unless it names another text type."""
    parts = urlsplit(url)
    path = unquote(parts.path)
    if path.endswith("/"):
        path += "index"
    kept = path if path.lower().endswith(_TEXT_SUFFIXES) else f"{_PAGE_SUFFIX.sub('', path)}.md"
    if parts.query:
        stem, _, suffix = kept.rpartition(".")
        kept = f"{stem}@{unquote(parts.query).replace('/', '_')}.{suffix}"
    segments = [_UNNAMEABLE.sub("", part) for part in f"{site(url)}/{kept}".replace(":", "_", 1).split("/")]
    source = "/".join(part for part in segments if part not in {"", ".", ".."})
    if len(source.encode("utf-8", "replace")) > MAX_SOURCE_BYTES:
        return f"{segments[0]}/{digest(url)}.md"
    return source.encode("utf-8", "replace").decode("utf-8")
