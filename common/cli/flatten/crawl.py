"""A site, page by page: breadth first from one address, the same host only, as robots.txt allows. No bound is reached
in silence.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import urlsplit, urlunsplit
from urllib.robotparser import RobotFileParser

from common.cli.flatten.addresses import AddressRefused
from common.cli.flatten.fetch import AGENT, Fetch, Page
from common.cli.flatten.links import canonical, is_file, page_links, page_source, site
from common.cli.flatten.plan import Decode, FlattenFailed, FlattenOptions, Item, ReadPage, Tally
from common.domain.errors import DocumentError

OTHER_SITE: Final = "link to another domain"
NO_PAGE: Final = "link to a file that is no page"
ROBOTS: Final = "forbidden by robots.txt"
PRIVATE: Final = "no public address (--allow-private)"
UNREACHABLE: Final = "unreachable"
NO_TEXT: Final = "no text"
TOO_LARGE: Final = "page over 5 MiB"
BY_PAGES: Final = "page not fetched (--max-pages)"
BY_DEPTH: Final = "page not fetched (--max-depth)"
_LONGEST_DELAY: Final = 10.0
_OK: Final = 200
_FORBIDDEN: Final = frozenset({401, 403})
_SERVER_ERROR: Final = 500
_HTML: Final = ("text/html", "application/xhtml+xml", "")
_TEXTS: Final = ("text/plain", "text/markdown", "text/x-markdown")


class Crawler:
    """One crawl. Pages are fetched one after the other, with the pause that robots.txt asks for."""

    def __init__(
        self,
        options: FlattenOptions,
        tally: Tally,
        fetch: Fetch,
        read_page: ReadPage,
        decode: Decode,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._options = options
        self._tally = tally
        self._fetch = fetch
        self._read_page = read_page
        self._decode = decode
        self._sleep = sleep
        self._site = ""
        self._robots = RobotFileParser()
        self._used: set[str] = set()

    def pages(self) -> Iterator[Item]:
        """The pages with text. Raises FlattenFailed when the first one cannot be had."""
        first = canonical(self._options.url)
        if not first:
            raise FlattenFailed(f"{self._options.url} is no http or https address.")
        self._site = site(first)
        self._read_robots(first)
        waiting = deque([(first, 0)])
        known = {first}
        fetched = 0
        while waiting and fetched < self._options.max_pages:
            url, depth = waiting.popleft()
            page = self._get(url, is_first=fetched == 0)
            fetched += 1
            if isinstance(page, str):
                self._tally.skip(page)
                continue
            if page.url != url and page.url in known:
                continue
            known.add(page.url)
            html, item = self._item(page)
            if item is not None:
                yield item
            for link in page_links(html, page.url) if html else ():
                if link not in known and self._wanted(link):
                    known.add(link)
                    if depth < self._options.max_depth:
                        waiting.append((link, depth + 1))
                    else:
                        self._tally.cut(BY_DEPTH)
        for _ in waiting:
            self._tally.cut(BY_PAGES)

    def _read_robots(self, first: str) -> None:
        """What the site allows (RFC 9309): everything without the file, nothing while it cannot be asked for."""
        parts = urlsplit(first)
        page = self._fetch(urlunsplit((parts.scheme, parts.netloc, "/robots.txt", "", "")))
        if page.status >= _SERVER_ERROR:
            raise FlattenFailed(f"{page.url} answers {page.status}: what the site allows cannot be known, try later.")
        if page.status == _OK:
            self._robots.parse(page.body.decode("utf-8", "replace").splitlines())
        elif page.status in _FORBIDDEN:
            self._robots.parse(["User-agent: *", "Disallow: /"])
        else:
            self._robots.parse([])

    def _wanted(self, url: str) -> bool:
        """Whether a link is to be followed; why not is counted, once for each link."""
        reason = OTHER_SITE if site(url) != self._site else NO_PAGE if is_file(url) else None
        if reason is None and not self._robots.can_fetch(AGENT, url):
            reason = ROBOTS
        if reason:
            self._tally.skip(reason)
        return reason is None

    def _get(self, url: str, *, is_first: bool) -> Page | str:
        """The page, or why it is not to be had. The first one's redirect may lead to another host, which then is the
        site; whatever keeps it away is raised.
        """
        if is_first and not self._robots.can_fetch(AGENT, url):
            raise FlattenFailed(f"The site's robots.txt does not allow fetching {url}.")
        if not is_first:
            self._pause()
        try:
            page = self._fetch(url, (lambda _: None) if is_first else self._refusal)
        except FlattenFailed as error:
            if is_first:
                raise
            return PRIVATE if isinstance(error, AddressRefused) else UNREACHABLE
        if is_first and site(page.url) != self._site:
            self._site = site(page.url)
            self._read_robots(page.url)
        if is_first and page.status != _OK:
            raise FlattenFailed(f"{page.url} answers {page.status}.")
        if page.redirect:
            return self._refusal(page.redirect) or UNREACHABLE
        refused = self._refusal(page.url)
        return refused or (page if page.status == _OK else f"status {page.status}")

    def _refusal(self, url: str) -> str | None:
        """Why a redirect's target is no page of this crawl."""
        if site(url) != self._site:
            return OTHER_SITE
        return None if self._robots.can_fetch(AGENT, url) else ROBOTS

    def _pause(self) -> None:
        delay = self._robots.crawl_delay(AGENT)
        if delay:
            self._sleep(min(float(delay), _LONGEST_DELAY))

    def _item(self, page: Page) -> tuple[str, Item | None]:
        """The HTML to look for links in, and what to write of the page."""
        kind = page.content_type.split(";", 1)[0].strip().lower()
        if page.truncated:
            return self._left_out(TOO_LARGE)
        if kind not in _HTML and kind not in _TEXTS:
            return self._left_out("no page but a file")
        source = self._source(page.url)
        try:
            if kind in _TEXTS:
                text, title = self._decode(page.body), ""
                html = ""
            else:
                html = self._decode(page.body)
                documents = self._read_page(page.body, f"{source}.html").documents
                text, title = (documents[0].text, documents[0].title) if documents else ("", "")
        except DocumentError as error:
            return self._left_out(f"unreadable ({error.code})")
        if not text.strip():
            self._tally.skip(NO_TEXT)
            return html, None
        return html, Item(source, text, page.url, title, {"url": page.url})

    def _left_out(self, reason: str) -> tuple[str, None]:
        self._tally.skip(reason)
        return "", None

    def _source(self, url: str) -> str:
        """The page's path in the corpus; a second page of the same path gets a number."""
        source = page_source(url)
        stem, _, suffix = source.rpartition(".")
        number = 2
        while source in self._used:
            source, number = f"{stem}-{number}.{suffix}", number + 1
        self._used.add(source)
        return source
