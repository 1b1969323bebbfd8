"""A site is crawled within its bounds, its robots.txt and its host, and never into a private network."""

import io
import json

import pytest

from common.adapters.parsers.text import decode
from common.cli.flatten import fetch as fetching
from common.cli.flatten.addresses import AddressRefused, checked, is_public
from common.cli.flatten.crawl import Crawler
from common.cli.flatten.fetch import FetchFailed, HttpFetch, Page
from common.cli.flatten.links import canonical, page_links, page_source
from common.cli.flatten.plan import FlattenFailed, FlattenOptions, Tally
from common.cli.flatten.run import run
from common.domain.documents import Parsed, ParsedDocument
from common.domain.errors import DocumentError

SITE = "https://docs.example.com"


def read_page(data, name):
    text = data.decode()
    if "BROKEN" in text:
        raise DocumentError("CORRUPT", "It is broken.", "-")
    title, _, body = text.partition("|")
    body = body.split("<", 1)[0]
    return Parsed((ParsedDocument(name, title, body, ()),) if body else ())


class Site:
    """Answers from a table; a text answers 200 as HTML, a number that status, a tuple a redirect."""

    def __init__(self, pages, private=()):
        self.pages = pages
        self.private = private
        self.asked = []

    def __call__(self, url, allowed=lambda _: None):
        self.asked.append(url)
        if any(url.startswith(start) for start in self.private):
            raise AddressRefused("no public address")
        answer = self.pages.get(url, 404)
        if answer == "down":
            raise FetchFailed("down")
        if isinstance(answer, tuple):
            return Page(url, 302, redirect=answer[0]) if allowed(answer[0]) else self(answer[0], allowed)
        if isinstance(answer, Page):
            return answer
        return Page(url, answer) if isinstance(answer, int) else Page(url, 200, "text/html", answer.encode())


def links(*paths):
    return "".join(f'<a href="{path}">x</a>' for path in paths)


def crawl(site, tmp_path, url=f"{SITE}/", **options):
    tally = Tally()
    slept = []
    crawler = Crawler(FlattenOptions(tmp_path / "o", url=url, **options), tally, site, read_page, decode, slept.append)
    return list(crawler.pages()), tally, slept


def test_pages_breadth_first_once_each(tmp_path):
    site = Site(
        {
            f"{SITE}/": "Home|início" + links("/b", "a#x", "./a", "/b?p=1", "mailto:x@y", "javascript:x", "#top"),
            f"{SITE}/a": "A|um" + links("/c", "/"),
            f"{SITE}/b": "B|dois",
            f"{SITE}/b?p=1": "B1|três",
            f"{SITE}/c": "C|quatro",
        }
    )
    items, tally, _ = crawl(site, tmp_path)
    assert [(item.source, item.title, item.text, item.id) for item in items] == [
        ("docs.example.com/index.md", "Home", "início", f"{SITE}/"),
        ("docs.example.com/b.md", "B", "dois", f"{SITE}/b"),
        ("docs.example.com/a.md", "A", "um", f"{SITE}/a"),
        ("docs.example.com/b@p=1.md", "B1", "três", f"{SITE}/b?p=1"),
        ("docs.example.com/c.md", "C", "quatro", f"{SITE}/c"),
    ]
    assert site.asked == [f"{SITE}/robots.txt", *(item.id for item in items)]
    assert not tally.skipped
    assert not tally.cut_off


def test_what_is_not_followed_is_counted(tmp_path):
    site = Site(
        {
            f"{SITE}/": "Home|x"
            + links(
                "https://other.com/",
                "/a.pdf",
                "/private/x",
                "/gone",
                "/down",
                "/moved",
                "/inside",
                "/empty",
                "/broken",
                "/big",
                "/zip",
            ),
            f"{SITE}/robots.txt": "User-agent: *\nDisallow: /private/\nCrawl-delay: 3\n",
            f"{SITE}/down": "down",
            f"{SITE}/moved": ("https://other.com/x",),
            f"{SITE}/inside": ("https://docs.example.com/private/y",),
            f"{SITE}/empty": "Nothing|",
            f"{SITE}/broken": "BROKEN|x",
            f"{SITE}/big": Page(f"{SITE}/big", 200, "text/html", b"", truncated=True),
            f"{SITE}/zip": Page(f"{SITE}/zip", 200, "application/zip", b"PK"),
        }
    )
    items, tally, slept = crawl(site, tmp_path)
    assert len(items) == 1
    assert tally.skipped == {
        "link to another domain": 2,
        "link to a file that is no page": 1,
        "forbidden by robots.txt": 2,
        "status 404": 1,
        "unreachable": 1,
        "no text": 1,
        "unreadable (CORRUPT)": 1,
        "page over 5 MiB": 1,
        "no page but a file": 1,
    }
    assert slept == [3.0] * 8


def test_bounds_are_never_reached_in_silence(tmp_path):
    pages = {f"{SITE}/{n}": f"P{n}|texto {n}" + links(f"/{n + 1}", f"/{n + 100}") for n in range(300)}
    site = Site({f"{SITE}/": "Home|x" + links("/0"), **pages})
    items, tally, _ = crawl(site, tmp_path, max_depth=2)
    assert [item.title for item in items] == ["Home", "P0", "P1", "P100"]
    assert tally.cut_off == {"page not fetched (--max-depth)": 3}
    items, tally, _ = crawl(site, tmp_path, max_pages=3)
    assert len(items) == 3
    assert tally.cut_off == {"page not fetched (--max-pages)": 3}


def test_two_pages_of_one_path_get_two_names(tmp_path):
    site = Site({f"{SITE}/": "H|x" + links("/a", "/a.html"), f"{SITE}/a": "A|1", f"{SITE}/a.html": "B|2"})
    items, _, _ = crawl(site, tmp_path)
    assert [item.source for item in items][1:] == ["docs.example.com/a.md", "docs.example.com/a-2.md"]


def test_the_first_redirect_may_lead_to_the_real_host(tmp_path):
    site = Site(
        {
            "https://example.com/": ("https://www.example.com/",),
            "https://www.example.com/": "H|x" + links("/a", "https://example.com/b"),
            "https://www.example.com/a": "A|1",
        }
    )
    items, tally, _ = crawl(site, tmp_path, url="https://example.com")
    assert [item.id for item in items] == ["https://www.example.com/", "https://www.example.com/a"]
    assert tally.skipped == {"link to another domain": 1}
    assert "https://www.example.com/robots.txt" in site.asked


def test_text_pages_are_taken_as_they_are(tmp_path):
    page = Page(f"{SITE}/llms.txt", 200, "text/plain; charset=utf-8", "# ação\n".encode())
    items, _, _ = crawl(Site({f"{SITE}/llms.txt": page}), tmp_path, url=f"{SITE}/llms.txt")
    assert [(item.source, item.text) for item in items] == [("docs.example.com/llms.txt", "# ação\n")]


@pytest.mark.parametrize(
    ("robots", "first", "message"),
    [
        ("User-agent: fichario\nDisallow: /", "H|x", "robots.txt does not allow"),
        (403, "H|x", "robots.txt does not allow"),
        (503, "H|x", "answers 503"),
        (404, 500, "answers 500"),
        (404, "down", "down"),
    ],
)
def test_a_site_that_cannot_be_read_fails(tmp_path, robots, first, message):
    with pytest.raises(FlattenFailed, match=message):
        crawl(Site({f"{SITE}/robots.txt": robots, f"{SITE}/": first}), tmp_path)


def test_a_link_into_a_private_network_is_counted(tmp_path):
    site = Site({f"{SITE}/": "H|x" + links("/a")}, private=[f"{SITE}/a"])
    _, tally, _ = crawl(site, tmp_path)
    assert tally.skipped == {"no public address (--allow-private)": 1}
    with pytest.raises(AddressRefused):
        crawl(Site({}, private=[SITE]), tmp_path)


def test_the_corpus_of_a_site(tmp_path):
    output = tmp_path / "out.jsonl"
    site = Site({f"{SITE}/": "Início|ação"})
    report = run(FlattenOptions(output, url=SITE), read_page=read_page, decode=decode, fetch=site)
    assert json.loads(output.read_text(encoding="utf-8")) == {
        "id": f"{SITE}/",
        "source": "docs.example.com/index.md",
        "title": "Início",
        "content": "ação",
        "metadata": {"url": f"{SITE}/"},
    }
    assert report.documents == 1
    with pytest.raises(FlattenFailed, match="no page with text"):
        run(FlattenOptions(output, url=SITE), read_page=read_page, decode=decode, fetch=Site({f"{SITE}/": "H|"}))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTPS://Docs.Example.com:443/a/../b/./c?q=é#f", "https://docs.example.com/b/c?q=%C3%A9"),
        ("http://h", "http://h/"),
        ("http://h:8080/ação", "http://h:8080/a%C3%A7%C3%A3o"),
        ("http://[::1]:80/x", "http://[::1]/x"),
        ("ftp://h/", ""),
        ("http://[bad", ""),
        ("http://h:port/", ""),
    ],
)
def test_canonical(url, expected):
    assert canonical(url) == expected
    assert canonical(canonical(url)) == canonical(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://h/", "h/index.md"),
        ("https://h/a/", "h/a/index.md"),
        ("https://h/a.html", "h/a.md"),
        ("https://h/a.txt", "h/a.txt"),
        ("https://h:8080/caf%C3%A9", "h_8080/café.md"),
        ("https://h/%2e%2e/%2Fa//b%00", "h/a/b.md"),
        ("https://h/a?b=c/d", "h/a@b=c_d.md"),
    ],
)
def test_page_source(url, expected):
    assert page_source(url) == expected


def test_long_addresses_get_short_names():
    source = page_source("https://h/" + "a" * 3000)
    assert source.startswith("h/")
    assert len(source) < 60
    assert source != page_source("https://h/" + "a" * 3001)


def test_page_links():
    html = (
        '<base href="/x/"><a href="a">1</a><a href="a#b">2</a><A HREF=" /c ">3</A><a rel="nofollow" href="/d">4</a><a>5'
    )
    assert page_links(html, "https://h/p") == ["https://h/x/a", "https://h/c"]
    assert page_links('<meta name="robots" content="NOFOLLOW"><a href="/a">x</a>', "https://h/") == []


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200",
        "168.63.129.16", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1",  # noqa: S104
        "fd00:ec2::254", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a00:1::1", "ff02::1",
        "2001:db8::1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(address):
    assert not is_public(address)
    with pytest.raises(AddressRefused, match="--allow-private"):
        checked("h", 80, allow_private=False, resolver=lambda host, port: ["93.184.216.34", address])
    assert checked("h", 80, allow_private=True, resolver=lambda host, port: [address]) == address


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "8.8.8.8"])
def test_addresses_that_are_public(address):
    assert is_public(address)


def test_hosts_that_are_not_found():
    def nowhere(host, port):
        raise OSError("unknown")

    with pytest.raises(FlattenFailed, match="cannot be found"):
        checked("h", 80, allow_private=False, resolver=nowhere)
    with pytest.raises(FlattenFailed, match="no address"):
        checked("h", 80, allow_private=False, resolver=lambda host, port: [])


class Wire:
    """What http.client needs of a socket: it hears one request and gives one answer."""

    def __init__(self, answer, heard):
        self.answer = answer
        self.heard = heard

    def sendall(self, data):
        self.heard.append(data.decode())

    def makefile(self, mode):
        return io.BytesIO(self.answer)

    def close(self):
        pass


class Server:
    """The answers to one connection after the other, and what was asked of which address."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.connected = []
        self.requests = []

    def connect(self, address, port, seconds):
        self.connected.append((address, port))
        return Wire(self.answers.pop(0), self.requests)

    def fetch(self, url, hosts, **options):
        return HttpFetch(resolver=lambda host, port: hosts[host], connect=self.connect, **options)(url)


def answer(body=b"", status="200 OK", **headers):
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_fetch_connects_to_the_address_that_was_checked():
    server = Server(answer(b"oi", Content_Type="text/html"))
    page = server.fetch("http://h:8080/a?b=c", {"h": ["93.184.216.34"]})
    assert (page.status, page.body, page.content_type) == (200, b"oi", "text/html")
    assert server.connected == [("93.184.216.34", 8080)]
    request = server.requests[0]
    assert request.startswith("GET /a?b=c HTTP/1.1\r\n")
    assert request.count("Host:") == 1
    assert "Host: h:8080\r\n" in request
    assert "User-Agent: fichario\r\n" in request


def test_every_redirect_is_checked_again():
    redirect = answer(status="302 Found", Location="http://inside/x")
    server = Server(redirect)
    with pytest.raises(AddressRefused, match=r"inside is at 169\.254\.169\.254"):
        server.fetch("http://h/", {"h": ["93.184.216.34"], "inside": ["169.254.169.254"]})
    assert server.connected == [("93.184.216.34", 80)]
    server = Server(redirect, answer(b"x"))
    page = server.fetch("http://h/", {"h": ["93.184.216.34"], "inside": ["169.254.169.254"]}, allow_private=True)
    assert (page.url, page.body) == ("http://inside/x", b"x")


def test_redirects_end():
    server = Server(*[answer(status="301 Moved", Location="/again")] * 6)
    with pytest.raises(FetchFailed, match="redirects more than 5 times"):
        server.fetch("http://h/", {"h": ["93.184.216.34"]})


def test_a_body_is_read_up_to_its_bound(monkeypatch):
    monkeypatch.setattr(fetching, "MAX_PAGE_BYTES", 10)
    page = Server(answer(b"x" * 11)).fetch("http://h/", {"h": ["93.184.216.34"]})
    assert (page.truncated, page.body) == (True, b"")


@pytest.mark.parametrize(
    ("url", "raw", "message"),
    [
        ("http://h/", b"nonsense", "cannot be fetched"),
        ("http://h/", answer(b"x", Content_Encoding="gzip"), "encoding that was not asked for"),
        ("http://u:p@h/", b"", "without a password"),
        ("file:///etc/passwd", b"", "only http and https"),
        ("http://[x/", b"", "is no address"),
    ],
)
def test_fetch_failures_are_named(url, raw, message):
    with pytest.raises(FetchFailed, match=message):
        Server(raw).fetch(url, {"h": ["93.184.216.34"]})
